/** Waits for work with a timeout. Does not stop the work. */
import { type Clock, noLongerNeeded } from './clock.ts'

/** Resolves when the work is done or the timeout has passed; rejects if the work rejects before that. */
export async function withTimeout(clock: Clock, limitMs: number, work: Promise<void> | undefined): Promise<void> {
  if (work === undefined) return
  const done = new AbortController()
  const timer = clock.sleep(limitMs, done.signal).catch(() => {})
  try {
    await Promise.race([work, timer])
  } finally {
    done.abort(noLongerNeeded)
    await timer
  }
}
