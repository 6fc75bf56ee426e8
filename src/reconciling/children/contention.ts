/**
 * Two who want a child to be different would write by turns for ever. What others change is put back at once, a few times;
 * after that they are taken at their word, and each time it is put back later. One record per child, a value. Pure.
 */

export interface Contention {
  /** How often it was changed by others, each time soon after it was put back. */
  readonly times: number
  /** When it was put back last; by the clock that nobody sets. */
  readonly putBackMs: number
  /** It is left to the others until then. */
  readonly heldUntilMs: number | undefined
  /** Between whom, and about what. */
  readonly words: string
}

export interface ContentionReaction {
  readonly fight: Contention
  /** How long to leave it; 0 to put it back now. */
  readonly waitMs: number
  /** It has just become one: worth a word. */
  readonly isNew: boolean
}

/** So often people may change their minds. */
const maxWritesAtOnce = 3
const firstDelayMs = 1000
const maxDelayMs = 300_000
/** What was left alone for so long is at peace; longer than the longest delay, so that this does not look like peace. */
const quietMs = 600_000

/** The child is found changed by others. */
export function reactToContention(before: Contention | undefined, words: string, nowMs: number): ContentionReaction {
  const fight = before === undefined || isOver(before, nowMs) ? undefined : before
  if (fight?.heldUntilMs !== undefined) {
    const waitMs = Math.max(0, fight.heldUntilMs - nowMs)
    return { fight: waitMs > 0 ? fight : recordRewrite({ ...fight, words }, nowMs), waitMs, isNew: false }
  }
  const times = (fight?.times ?? 0) + 1
  const isNew = times === maxWritesAtOnce + 1
  if (times <= maxWritesAtOnce) return { fight: recordRewrite({ times, words }, nowMs), waitMs: 0, isNew }
  const waitMs = Math.min(maxDelayMs, firstDelayMs * 2 ** (times - maxWritesAtOnce - 1))
  const putBackMs = fight?.putBackMs ?? nowMs
  return { fight: { times, words, putBackMs, heldUntilMs: nowMs + waitMs }, waitMs, isNew }
}

function recordRewrite({ times, words }: Pick<Contention, 'times' | 'words'>, nowMs: number): Contention {
  return { times, words, putBackMs: nowMs, heldUntilMs: undefined }
}

/** It is one, and not just somebody who has changed something. */
export function isContended({ times }: Contention): boolean {
  return times > maxWritesAtOnce
}

export function isOver({ putBackMs, heldUntilMs }: Contention, nowMs: number): boolean {
  return heldUntilMs === undefined && nowMs >= putBackMs + quietMs
}

/** How long until it is over, if nothing happens. */
export function settledMs({ putBackMs }: Contention, nowMs: number): number {
  return Math.max(0, putBackMs + quietMs - nowMs)
}
