/**
 * The daemons and timers of simulated operators: some stop at once, some are slow, some ignore the stop;
 * some fail, some finish by themselves. Each has a model of its filters, so that the checks do not depend on the framework.
 */
import {
  contentOf,
  failNowAndThen,
  linger,
  luckOf,
  type PartArgs,
  type Stage,
  type State,
  takeTime,
  waitOften,
} from './daemon-behaviour.ts'
import type { Random } from './random.ts'

interface Schedule {
  readonly interval?: number
  readonly idle?: number
  readonly sharp?: boolean
}

interface Options extends Schedule {
  readonly labels?: Readonly<Record<string, string>>
  readonly initialDelay?: number | ((args: State) => number)
  readonly finalizer?: boolean
  readonly cancellationBackoff?: number
  readonly cancellationTimeout?: number
  readonly cancellationPolling?: number
  readonly backoff?: number
}

export interface Part {
  readonly id: string
  readonly kind: 'daemon' | 'timer'
  /** The options of the framework, in seconds. */
  readonly options: Options
  /** The model of the filters for a state, and the `when` callback of the daemons and timers that have one. */
  readonly isFor: (state: State) => boolean
  readonly hasWhen?: boolean
  /** Its results differ from call to call. */
  readonly isRestless?: boolean
  /** Its `when` callback changes its result with time, without an event. */
  readonly isMoody?: boolean
  /** It ends only after its stop; others finish by themselves. */
  readonly isFaithful?: boolean
  readonly act: (stage: Stage, args: PartArgs) => unknown
}

const isGold = ({ labels }: State) => labels['tier'] === 'gold'
const isOdd = ({ spec }: State) => Number(spec['size'] ?? 0) % 2 === 1
const anybody = () => true

const daemonOwner: Part = {
  id: 'daemonOwner',
  kind: 'daemon',
  options: {},
  isFor: anybody,
  isFaithful: true,
  async act(_stage, { stopped }) {
    await stopped.wait()
    return { reason: stopped.reason }
  },
}

const daemons: readonly Part[] = [
  {
    id: 'guard',
    kind: 'daemon',
    options: { labels: { tier: 'gold' }, cancellationBackoff: 1, cancellationTimeout: 2 },
    isFor: isGold,
    isFaithful: true,
    async act(stage, args) {
      await waitOften(args)
      await linger(stage, args, ['prompt', 'slow', 'signal', 'deaf', 'endless', 'endless'])
      return { guarded: contentOf(args) }
    },
  },
  {
    id: 'mule',
    kind: 'daemon',
    options: { cancellationPolling: 10 },
    isFor: isOdd,
    hasWhen: true,
    isFaithful: true,
    async act(stage, args) {
      await args.stopped.wait()
      await linger(stage, args, ['prompt', 'slow', 'slow', 'deaf', 'deaf', 'deaf', 'endless'])
    },
  },
  {
    id: 'errand',
    kind: 'daemon',
    options: { backoff: 1.5 },
    isFor: anybody,
    async act(stage, args) {
      await args.stopped.wait(luckOf(stage, 'errand', args) * 5)
      if (args.stopped.isSet()) return { ran: 'not to the end' }
      failNowAndThen(stage, 'errand', args)
      return { ran: contentOf(args) }
    },
  },
  {
    id: 'loose',
    kind: 'daemon',
    options: { finalizer: false, labels: { tier: 'gold' } },
    isFor: isGold,
    isFaithful: true,
    async act(stage, args) {
      await args.stopped.wait()
      await linger(stage, args, ['prompt', 'prompt', 'slow', 'deaf'])
    },
  },
  {
    id: 'late',
    kind: 'daemon',
    options: { initialDelay: ({ spec }) => 1 + Number(spec['size'] ?? 0) },
    isFor: anybody,
    isFaithful: true,
    async act(stage, args) {
      await args.stopped.wait()
      await linger(stage, args, ['prompt', 'slow'])
    },
  },
]

const timers: readonly Part[] = [
  {
    id: 'tick',
    kind: 'timer',
    options: { interval: 3 },
    isFor: isOdd,
    hasWhen: true,
    async act(stage, args) {
      await takeTime(stage, 'tick', args, 2500)
      return contentOf(args)
    },
  },
  {
    id: 'sharp',
    kind: 'timer',
    options: { interval: 5, sharp: true, finalizer: false, initialDelay: 2 },
    isFor: anybody,
    async act(stage, args) {
      await takeTime(stage, 'sharp', args, 9000)
      return contentOf(args)
    },
  },
  {
    id: 'settled',
    kind: 'timer',
    options: { idle: 3 },
    isFor: anybody,
    async act(stage, args) {
      await takeTime(stage, 'settled', args, 4000)
      return contentOf(args)
    },
  },
  {
    id: 'pulse',
    kind: 'timer',
    options: { idle: 4, interval: 7, labels: { tier: 'gold' } },
    isFor: isGold,
    async act(stage, args) {
      await takeTime(stage, 'pulse', args, 1000)
      return contentOf(args)
    },
  },
  {
    id: 'count',
    kind: 'timer',
    options: { interval: 15 },
    isFor: isGold,
    hasWhen: true,
    isRestless: true,
    act({ process, clock }) {
      return { counted: `${process} ${clock.now()}` }
    },
  },
  {
    id: 'fickle',
    kind: 'timer',
    options: { interval: 4, backoff: 1.5 },
    isFor: anybody,
    act(stage, args) {
      failNowAndThen(stage, 'fickle', args)
      return contentOf(args)
    },
  },
  {
    id: 'moody',
    kind: 'timer',
    options: { interval: 4, finalizer: false },
    isFor: anybody,
    isMoody: true,
    act: () => undefined,
  },
]

/** True for twenty seconds, then false for twenty seconds. */
export function isInMood(nowMs: number): boolean {
  return Math.floor(nowMs / moodMs) % 2 === 0
}

export const moodMs = 20_000

/** Selects some daemons and timers, including a daemon that runs as long as its object. In narrow operators all filter by the same label. */
export function castParts(random: Random, isNarrow: boolean): readonly Part[] {
  const isLoose = random.chance(0.5)
  const first = isLoose ? { ...daemonOwner, options: { finalizer: false } } : daemonOwner
  const cast = [first, ...[...daemons, ...timers].filter(() => random.chance(0.4))]
  return isNarrow ? cast.map(narrow) : cast
}

function narrow(part: Part): Part {
  const options = { ...part.options, labels: { tier: 'gold' } }
  return { ...part, options, isFor: (state) => isGold(state) && part.isFor(state) }
}

export function needsFinalizer({ options }: Part): boolean {
  return options.finalizer ?? true
}

/** The time after the stop until a daemon is abandoned; undefined if it is awaited without a limit. */
export function patienceMs({ options }: Part): number | undefined {
  const { cancellationBackoff = 0, cancellationTimeout } = options
  return cancellationTimeout === undefined ? undefined : (cancellationBackoff + cancellationTimeout) * 1000
}
