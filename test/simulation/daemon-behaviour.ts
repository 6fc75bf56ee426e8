/** The random behaviour of simulated daemons and timers: how they react to a stop, how long they take, and whether they fail. */
import { PermanentError, type Stopped, TemporaryError } from 'kopf'
import type { Clock } from '../../src/util/async/clock.ts'
import { forever } from './process-clock.ts'
import { fate } from './random.ts'

/** The part of an object that filters use. */
export interface State {
  readonly spec: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
}

/** The arguments of daemons and timers that the simulation uses. */
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

/** The process in which a simulated daemon or timer runs. */
export interface Stage {
  readonly seed: string
  readonly clock: Clock
  readonly process: number
  /** True after the process was killed: its remaining work has no effect. */
  readonly isDead: () => boolean
  /** Whether daemons and timers take time and fail. */
  readonly isRough: boolean
  /** Minimum duration of every timer call, so that simulated hours without events are cheap. */
  readonly restMs: () => number
}

/** The stored content of the object: it is stable once the object is. */
export function contentOf({ spec, labels }: State): object {
  return { size: spec['size'] ?? 'none', tier: labels['tier'] ?? 'none' }
}

type Manner = 'prompt' | 'slow' | 'signal' | 'deaf' | 'endless'

/** The behaviour of a daemon after its stop. */
export async function linger(stage: Stage, args: PartArgs, manners: readonly Manner[]): Promise<void> {
  if (!stage.isRough) return
  const luck = luckOf(stage, 'manner', args)
  const manner = manners[Math.floor(luck * manners.length)]!
  if (manner === 'slow') await stage.clock.sleep(200 + luck * 2500)
  if (manner === 'signal') await untilAborted(args.signal)
  if (manner === 'deaf') await stage.clock.sleep(10_000 + luck * 40_000)
  if (manner === 'endless') await forever()
}

/** Waits for the stop repeatedly, with growing timeouts. */
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

/** Fails at random in the first two attempts, and succeeds in the third one; a few calls fail permanently. */
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
