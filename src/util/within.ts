/** Waiting for something, but not for ever. */
import { type Clock, noLongerNeeded } from './clock.ts'

/** Resolves when the work is done, or when the time is up; rejects if the work does before that. */
export async function within(clock: Clock, limitMs: number, work: Promise<void> | undefined): Promise<void> {
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
