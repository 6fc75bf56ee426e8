/** Runs one simulation from its start until it has settled, and returns the violations. */

import type { Run } from './daemon-journal.ts'
import { part } from './hostile-edits.ts'
import { checkWorld } from './liveness-checks.ts'
import { Random } from './random.ts'
import { World, type WorldOptions } from './simulated-world.ts'
import type { Violation } from './simulation-journal.ts'

export interface Outcome {
  readonly seed: string
  readonly violations: readonly Violation[]
  readonly story: readonly string[]
  /** Number of API calls until everything was handled. */
  readonly calls: number
  readonly patches: number
  readonly changes: number
  readonly handlerCalls: number
  readonly processes: number
  /** Time from the end of the faults to the last write. */
  readonly settledMs: number
  /** Number of writes without a change. */
  readonly idleWrites: number
  /** Number of calls of daemons and timers. */
  readonly backgroundCalls: number
  /** The reached situations. */
  readonly reached: ReadonlySet<string>
}

/** The longest time of a backoff, a silent watch, and a request without a response with its retries. */
const longestRecoveryMs = 1_500_000

export async function simulate(options: WorldOptions): Promise<Outcome> {
  const dice = new Random(options.seed).fork('framework')
  const { random } = Math
  Math.random = () => dice.next()
  try {
    return await run(new World(options))
  } finally {
    Math.random = random
  }
}

async function run(world: World): Promise<Outcome> {
  const { clock, journal, weather, driver, options, background } = world
  await world.open()
  world.start()
  await playOut(world)
  weather.clear()
  await driver.removeForeignFinalizers()
  await part(world)
  const calmMs = clock.now()
  await checkCanary(world)
  await recover(world, calmMs)
  await driver.removeForeignFinalizers()
  const settledMs = journal.lastWriteMs - calmMs
  const { patches } = journal
  const { calls } = world
  await checkSilence(world)
  await checkWorld(world)
  world.close()
  return {
    seed: options.seed,
    violations: journal.violations,
    story: journal.story,
    calls,
    patches,
    changes: journal.changes,
    handlerCalls: journal.calls.length,
    processes: world.processes,
    settledMs,
    idleWrites: journal.idleWrites,
    backgroundCalls: background.runs.length,
    reached: journal.reached,
  }
}

/** Waits until everything is handled. Timer calls take longer meanwhile, so that the waiting time is cheap. */
async function recover(world: World, calmMs: number): Promise<void> {
  // A retry is due at a system time, which may be hours away after the time was set back.
  const isOff = world.options.faults.includes('jump')
  const endMs = calmMs + longestRecoveryMs + (isOff ? 7_500_000 : 0)
  world.restMs = isOff ? 500_000 : 100_000
  await world.pass(endMs - world.restMs - 50_000)
  world.restMs = 0
  await world.pass(endMs)
}

/** L1: after settling, nothing is written except changed results. */
async function checkSilence(world: World): Promise<void> {
  const { clock, journal, background } = world
  const { patches, idleWrites } = journal
  const beganMs = clock.now()
  await world.pass(beganMs + 60_000)
  const isNews = ({ part, endedMs = 0 }: Run) => part.isRestless && endedMs > beganMs - 1000
  const written = journal.patches - patches
  if (written > background.runs.filter(isNews).length)
    journal.violate('L1', `the operator still writes: ${written} times`)
  if (journal.idleWrites > idleWrites) journal.violate('L1', 'the operator writes what is there already')
}

/** Edits, faults and kills, until the given number of steps. */
async function playOut(world: World): Promise<void> {
  const { clock, driver, weather, options, random } = world
  const pace = random.fork('pace')
  const spreadMs = pace.pick([300, 1500, 6000])
  const begunMs = clock.now()
  let isOver = false
  const drive = async () => {
    for (let step = 0; step < options.steps; step += 1) {
      // Some actions follow at once, so that their events arrive in one chunk.
      if (!pace.chance(0.25)) await clock.sleep(pace.between(0, spreadMs))
      await driver.act()
    }
    isOver = true
  }
  const driving = drive()
  const blowing = weather.blow(clock, begunMs + options.steps * spreadMs * 0.5)
  const dying = options.isMortal ? dieNowAndThen(world, () => isOver) : Promise.resolve()
  await world.pass(Number.MAX_SAFE_INTEGER, () => isOver)
  await driving
  await finish(world, Promise.all([blowing, dying]))
}

async function finish(world: World, work: Promise<unknown>): Promise<void> {
  let isDone = false
  const finished = work.finally(() => (isDone = true))
  await world.pass(Number.MAX_SAFE_INTEGER, () => isDone)
  await finished
}

async function dieNowAndThen(world: World, isOver: () => boolean): Promise<void> {
  const random = world.random.fork('death')
  while (!isOver()) {
    await world.clock.sleep(random.between(500, 15_000))
    if (world.process.isOver || isOver()) continue
    if (random.chance(0.7)) world.kill()
    else await world.stop()
  }
}

/**
 * L4: after the faults, a new object is noticed at the latest after the detection of a silent connection and a backoff.
 * A process that has just started may wait for a response until the request timeout of the settings.
 */
async function checkCanary(world: World): Promise<void> {
  const { clock, driver, journal, options, background, offspring } = world
  const begunMs = clock.now()
  const twin = await driver.create('canary', options.hasBackground ? { tier: 'gold' } : undefined)
  if (twin === undefined) throw new Error('The canary could not be created')
  const isSeen = () => [...journal.calls, ...background.runs, ...offspring.calls].some(({ uid }) => uid === twin.uid)
  const isUndisturbed = options.faults.length === 0 && !options.isMortal && options.crash === undefined
  const isHanging = options.faults.includes('headless') && options.isMortal
  const limitMs = isHanging ? 420_000 : isUndisturbed ? 1000 : 110_000
  await world.pass(begunMs + limitMs, isSeen)
  if (!isSeen()) journal.violate('L4', `a new object is not noticed within ${limitMs} ms`)
}
