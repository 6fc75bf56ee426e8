/** What has happened, as handlers are told; for one object, or for the part of it that one handler has not seen yet. */
import type { Diff, Essence, HandlerReason } from '../causation/causes.ts'

export interface Cause {
  readonly reason: HandlerReason
  readonly initial: boolean
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
}

/** The beginnings of messages, as in Kopf. */
export const titles: Readonly<Record<HandlerReason, string>> = {
  create: 'Creation',
  update: 'Updating',
  delete: 'Deletion',
  resume: 'Resuming',
}
