/** Runs one world from its beginning to the silence after it, and says what was wrong with it. */

import type { Run } from './background.ts'
import { checkWorld } from './checks.ts'
import type { Violation } from './journal.ts'
import { part } from './mischief.ts'
import { Random } from './random.ts'
import { World, type WorldOptions } from './world.ts'

export interface Outcome {
  readonly seed: string
  readonly violations: readonly Violation[]
  readonly story: readonly string[]
  /** How many calls of the API there were until all was handled. */
  readonly calls: number
  readonly patches: number
  readonly changes: number
  readonly handlerCalls: number
  readonly processes: number
  /** From the end of the faults to the last write. */
  readonly settledMs: number
  /** How many writes have changed nothing. */
  readonly idleWrites: number
  /** How many calls of daemons and timers there were. */
  readonly backgroundCalls: number
  /** What situations it has come to. */
  readonly reached: ReadonlySet<string>
}

/** All that may be left of a back-off, a silent watch, a request without an answer and its retries. */
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

/** Timers take it easy meanwhile, so that it does not take us long; but not in the end. */
async function recover(world: World, calmMs: number): Promise<void> {
  // A retry is due at a time of day: when that was set back, it may be hours.
  const isOff = world.options.faults.includes('jump')
  const endMs = calmMs + longestRecoveryMs + (isOff ? 7_500_000 : 0)
  world.restMs = isOff ? 500_000 : 100_000
  await world.pass(endMs - world.restMs - 50_000)
  world.restMs = 0
  await world.pass(endMs)
}

/** L1: nothing is written any more, but for results that differ from what was there before. */
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

/** Edits, faults and deaths, until there have been enough of them. */
async function playOut(world: World): Promise<void> {
  const { clock, driver, weather, options, random } = world
  const pace = random.fork('pace')
  const spreadMs = pace.pick([300, 1500, 6000])
  const begunMs = clock.now()
  let isOver = false
  const drive = async () => {
    for (let step = 0; step < options.steps; step += 1) {
      // In bursts now and then: what happens at once is told of in one piece.
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
 * L4: with the faults over, a new object is noticed: at the latest when a silent connection is, and a back-off is over.
 * A process that has just started may wait for the answer to an ordinary request, as long as settings allow for.
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
