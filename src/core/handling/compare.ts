/** What an object is about, now and as it was handled last, and the difference: what handlers are told of. Pure. */
import type { KubeObject } from '../../kube/objects.ts'
import type { Diff, Essence } from '../causation/causes.ts'
import { diffEssences } from '../causation/diff.ts'
import type { Settings } from '../settings.ts'

export interface Comparison {
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
}

export interface CompareOptions {
  readonly body: KubeObject
  /** Fields that count wherever they are. */
  readonly extraFields: readonly (readonly string[])[]
  /** What was handled last, for objects that do not keep it. */
  readonly unstored?: Essence | undefined
}

export function compareWithHandled(
  { persistence }: Pick<Settings, 'persistence'>,
  { body, extraFields, unstored }: CompareOptions,
): Comparison {
  const { diffbaseStorage, progressStorage } = persistence
  const clear = (essence: Essence) => progressStorage.clear({ essence })
  const stored = unstored ?? diffbaseStorage.fetch({ body })
  const old = stored === undefined ? undefined : clear(stored)
  const current = clear(diffbaseStorage.build({ body, extraFields }))
  return { old, new: current, diff: diffEssences(old, current) }
}
