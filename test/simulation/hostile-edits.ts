/** Hostile actions on objects with daemons and timers, and the phases in which they occurred. */
import type { Action, Mischief, Twin } from './simulated-edits.ts'
import type { World } from './simulated-world.ts'

export function createMischief(world: World): Mischief {
  return {
    actionsOn: (twin) => actionsOn(world, twin),
    openGap: () => {
      if (world.weather.has('gap')) world.process.wire.cutWatches()
    },
    closeGap: () => {
      if (!world.weather.has('gap')) return
      world.journal.reached.add('deleted while the watch was down')
      world.server.compact()
    },
    noteDelete: (twin) => notePhases(world, 'deleted', twin),
  }
}

function actionsOn(world: World, twin: Twin): readonly Action[] {
  return [
    [5, () => flap(world, twin)],
    [4, () => deleteBusy(world, twin)],
    [2, () => world.driver.replace(twin)],
    [2, () => world.driver.force(twin)],
  ]
}

/** Adds and removes a label that filters use. */
async function flap({ driver, clock, whims }: World, twin: Twin): Promise<void> {
  const times = 2 + whims.below(5)
  for (let time = 0; time < times && driver.alive.get(twin.name) === twin; time += 1) {
    const tier = twin.labels['tier'] === 'gold' ? whims.pick(['lead', null]) : 'gold'
    await driver.edit(twin, { metadata: { labels: { tier } } })
    if (whims.chance(0.6)) await clock.sleep(whims.between(0, whims.pick([50, 500, 3000])))
  }
}

/** Deletes an object with a running call of a daemon or timer if there is one, otherwise the given object. */
async function deleteBusy({ driver, background, process, whims }: World, otherwise: Twin): Promise<void> {
  const busy = new Set(background.runningIn(process.number).map(({ uid }) => uid))
  const twins = [...driver.alive.values()].filter(({ uid }) => busy.has(uid))
  await driver.delete(twins.length === 0 ? otherwise : whims.pick(twins))
}

/** One last deletion or label change for some objects, without later events for them. */
export async function part({ driver, whims, options }: World): Promise<void> {
  if (!options.hasBackground) return
  for (const name of [...driver.alive.keys()]) {
    const twin = await driver.find(name)
    if (twin === undefined) continue
    const luck = whims.next()
    const tier = twin.labels['tier'] === 'gold' ? 'lead' : 'gold'
    if (luck < 0.5) await driver.delete(twin)
    else if (luck < 0.8) await driver.edit(twin, { metadata: { labels: { tier } } })
  }
}

/** Records the phases in which an object was deleted or the process ended. */
export function notePhases(world: World, what: string, twin?: Twin): void {
  const { background, journal, process, nature, driver } = world
  const runs = background.runningIn(process.number).filter(({ uid }) => twin === undefined || uid === twin.uid)
  for (const phase of background.phasesOf(runs)) journal.reached.add(`${what} during ${phase}`)
  const twins = twin === undefined ? [...driver.alive.values()] : [twin]
  const isAwaited = twins.some((one) => background.isAwaited(process.number, one, nature.parts))
  if (isAwaited) journal.reached.add(`${what} during an initial delay`)
}
