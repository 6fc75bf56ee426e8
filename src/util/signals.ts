/** Waiting to be told to stop. */
import { monotonicMs } from './clock.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

/** npx passes on what the terminal has sent to all already: what comes twice within so long was meant once. */
const sameWithinMs = 500

interface SignalOptions {
  /** What to do when another one comes; by default it ends the process. */
  readonly onSecond?: (signal: NodeJS.Signals) => void
  /** When it is aborted, signals do again what they do without us. */
  readonly until?: AbortSignal
}

/** Resolves with the first SIGINT or SIGTERM. */
export function untilSignal({ onSecond = end, until }: SignalOptions = {}): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const leave = () => {
      for (const name of signals) process.off(name, take)
    }
    let firstMs: number | undefined
    const take = (signal: NodeJS.Signals) => {
      if (firstMs === undefined) {
        firstMs = monotonicMs()
        resolve(signal)
      } else if (monotonicMs() - firstMs >= sameWithinMs) {
        leave()
        onSecond(signal)
      }
    }
    for (const name of signals) process.on(name, take)
    until?.addEventListener('abort', leave, { once: true })
  })
}

/** As without a handler. */
function end(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal)
}
