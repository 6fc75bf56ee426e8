/** What the driver does when there are daemons and timers, at the worst of times; and what times those were. */
import type { Mischief, Twin } from './driver.ts'
import type { World } from './world.ts'

export function createMischief(world: World): Mischief {
  return {
    sleep: (delayMs) => world.clock.sleep(delayMs),
    openGap: () => {
      if (!world.weather.has('gap')) return
      world.journal.reached.add('replaced in a gap')
      world.process.wire.cutWatches()
      world.server.compact()
    },
    findBusy: () => world.background.runningIn(world.process.number).map(({ uid }) => uid),
    noteDelete: (twin) => notePhases(world, 'deleted', twin),
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
