/** Ending the process although something still runs: for a second signal, and for what takes too long to stop. */
import type { Operator } from '../operator.ts'
import { ringAfter } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import { untilSignal } from '../util/signals.ts'
import { remark } from './terminal.ts'

/** Resolves with the first signal; the second one ends the process at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return untilSignal({
    onSecond: (signal) => endNow(`${signal} has come for the second time: the process ends at once`),
  })
}

/** A clean-up that never ends would keep a broken operator from being replaced. */
export function endAfter({ settings }: Operator): void {
  const { ultimateExitingTimeout: limit } = settings.process
  if (limit === null) return
  const limitMs = toMs(limit, 'process.ultimateExitingTimeout')
  const seconds = limitMs / 1000
  ringAfter(limitMs, () => endNow(`stopping has taken more than ${seconds} seconds: the process ends unfinished`))
}

/** The command goes on to its end, which is a failure then: exit code 1. */
export function failLater(): void {
  process.exitCode = 1
}

function endNow(why: string): never {
  remark(`kopf: ${why}`)
  process.exit(1)
}
