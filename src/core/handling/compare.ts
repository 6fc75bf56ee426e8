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
  const stored = unstored ?? diffbaseStorage.fetch({ body })
  const old = stored === undefined ? undefined : progressStorage.clear({ essence: stored })
  const current = essenceOf({ persistence }, { body, extraFields })
  return { old, new: current, diff: diffEssences(old, current) }
}

/** What counts as a change if it differs: neither the status nor what is stored on the object. */
export function essenceOf(
  { persistence: { diffbaseStorage, progressStorage } }: Pick<Settings, 'persistence'>,
  { body, extraFields }: Pick<CompareOptions, 'body' | 'extraFields'>,
): Essence {
  return progressStorage.clear({ essence: diffbaseStorage.build({ body, extraFields }) })
}
