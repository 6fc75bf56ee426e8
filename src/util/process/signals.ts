/** Waits for SIGINT or SIGTERM. Used by the commands and by `run()`. */
import { isatty } from 'node:tty'
import { monotonicMs } from '../async/clock.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

/** A repeated signal within this time counts once: npx forwards signals that the terminal has already sent to all processes. */
export const sameSignalMs: number = 500

interface SignalOptions {
  /** Called at the second signal. Default: ends the process. */
  readonly onSecond?: (signal: NodeJS.Signals) => void
  /** Stops listening when aborted; signals then have their default effect. */
  readonly until?: AbortSignal
}

/** Resolves with the first SIGINT or SIGTERM. */
export function untilSignal({ onSecond = end, until }: SignalOptions = {}): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stopListening = () => {
      for (const name of signals) process.off(name, onSignal)
    }
    let firstMs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstMs === undefined) {
        firstMs = monotonicMs()
        resolve(signal)
      } else if (monotonicMs() - firstMs >= sameSignalMs) {
        stopListening()
        onSecond(signal)
      }
    }
    for (const name of signals) process.on(name, onSignal)
    until?.addEventListener('abort', stopListening, { once: true })
  })
}

/** Tells a user at a terminal what a second signal does; undefined without a terminal. */
export function secondSignalHint(): string | undefined {
  return isatty(2) ? 'Ctrl-C again to end at once' : undefined
}

/** The default effect of the signal: it ends the process. */
function end(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal)
}
