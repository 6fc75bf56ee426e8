/** What else is done to objects that have daemons and timers, at the worst of times; and what times those were. */
import type { Action, Mischief, Twin } from './driver.ts'
import type { World } from './world.ts'

export function createMischief(world: World): Mischief {
  return {
    actionsOn: (twin) => actionsOn(world, twin),
    openGap: () => {
      if (world.weather.has('gap')) world.process.wire.cutWatches()
    },
    closeGap: () => {
      if (!world.weather.has('gap')) return
      world.journal.reached.add('gone while nobody watched')
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

/** A label that filters ask for comes and goes. */
async function flap({ driver, clock, whims }: World, twin: Twin): Promise<void> {
  const times = 2 + whims.below(5)
  for (let time = 0; time < times && driver.alive.get(twin.name) === twin; time += 1) {
    const tier = twin.labels['tier'] === 'gold' ? whims.pick(['lead', null]) : 'gold'
    await driver.edit(twin, { metadata: { labels: { tier } } })
    if (whims.chance(0.6)) await clock.sleep(whims.between(0, whims.pick([50, 500, 3000])))
  }
}

/** While it is being called, or has been told to end. */
async function deleteBusy({ driver, background, process, whims }: World, otherwise: Twin): Promise<void> {
  const busy = new Set(background.runningIn(process.number).map(({ uid }) => uid))
  const twins = [...driver.alive.values()].filter(({ uid }) => busy.has(uid))
  await driver.delete(twins.length === 0 ? otherwise : whims.pick(twins))
}

/** Something that happens to each object, after which nobody comes to look: whatever follows, follows by itself. */
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

/** What the end of an object, or of the process, has come in the middle of. */
export function notePhases(world: World, what: string, twin?: Twin): void {
  const { background, journal, process, nature, driver } = world
  const runs = background.runningIn(process.number).filter(({ uid }) => twin === undefined || uid === twin.uid)
  for (const phase of background.phasesOf(runs)) journal.reached.add(`${what} during ${phase}`)
  const twins = twin === undefined ? [...driver.alive.values()] : [twin]
  const isAwaited = twins.some((one) => background.isAwaited(process.number, one, nature.parts))
  if (isAwaited) journal.reached.add(`${what} during an initial delay`)
}
