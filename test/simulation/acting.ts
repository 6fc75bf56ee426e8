/** How daemons and timers behave in a simulation: obedient or not, quick or slow, failing or not, as fate has it. */
import { PermanentError, type Stopped, TemporaryError } from 'kopf'
import type { Clock } from '../../src/util/clock.ts'
import { forever } from './clocks.ts'
import { fate } from './random.ts'

/** What filters look at. */
export interface State {
  readonly spec: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
}

/** What daemons and timers are given, as far as it is looked at here. */
export interface PartArgs extends State {
  readonly uid: string
  readonly name: string
  readonly namespace: string | undefined
  readonly retry: number
  readonly meta: {
    readonly resourceVersion?: string
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly memo: Record<string, unknown>
  readonly stopped: Stopped
  readonly signal: AbortSignal
}

/** What those who act need of the process they act in. */
export interface Stage {
  readonly seed: string
  readonly clock: Clock
  readonly process: number
  /** The process was killed: whatever it has still begun has never happened. */
  readonly isDead: () => boolean
  /** Whether they take time and fail. */
  readonly isRough: boolean
  /** How long every call of a timer takes at least: so that hours of quiet do not cost hours. */
  readonly restMs: () => number
}

/** What is told of the object: settles when the object does. */
export function contentOf({ spec, labels }: State): object {
  return { size: spec['size'] ?? 'none', tier: labels['tier'] ?? 'none' }
}

type Manner = 'prompt' | 'slow' | 'signal' | 'deaf' | 'endless'

/** What it does after it was told to end. */
export async function linger(stage: Stage, args: PartArgs, manners: readonly Manner[]): Promise<void> {
  if (!stage.isRough) return
  const luck = luckOf(stage, 'manner', args)
  const manner = manners[Math.floor(luck * manners.length)]!
  if (manner === 'slow') await stage.clock.sleep(200 + luck * 2500)
  if (manner === 'signal') await untilAborted(args.signal)
  if (manner === 'deaf') await stage.clock.sleep(10_000 + luck * 40_000)
  if (manner === 'endless') await forever()
}

/** Again and again, and less and less often. */
export async function waitOften({ stopped }: PartArgs): Promise<void> {
  for (let seconds = 1; !stopped.isSet(); seconds *= 2) await stopped.wait(seconds)
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

export async function takeTime(stage: Stage, id: string, args: PartArgs, longestMs: number): Promise<void> {
  const luck = luckOf(stage, id, args)
  if (stage.isRough && luck > 0.5) await stage.clock.sleep((luck - 0.5) * 2 * longestMs)
}

/** Of three attempts in a row, one at most; a few of them for ever. */
export function failNowAndThen(stage: Stage, id: string, args: PartArgs): void {
  if (!stage.isRough) return
  const luck = luckOf(stage, `${id} fails`, args)
  if (luck > 0.93) throw new PermanentError('never')
  if (args.retry >= 2) return
  if (luck > 0.7) throw new TemporaryError('not yet', { delay: 0.7 })
  if (luck > 0.5) throw new Error('whatever')
}

export function luckOf({ seed, process }: Stage, what: string, { name, spec, retry }: PartArgs): number {
  return fate(seed, what, name, spec['size'], retry, process)
}
