/** What an object is about, now and as it was handled last, and the difference: what handlers are told of. Pure. */

import type { Diff, Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { diffEssences } from '../causation/diff.ts'
import { revealSecret } from '../causation/reveal-secrets.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Settings } from '../settings/settings.ts'

/** Of a Secret, both states have digests for values; handlers and filters get what `revealSecret` makes of them. */
export interface EssenceComparison {
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
  /** The old state of a Secret as it is stored, where handlers may see its plain values. */
  readonly stored?: Essence | undefined
}

export interface CompareEssencesOptions {
  readonly body: KubeObject
  /** Fields that count wherever they are. */
  readonly extraFields: readonly (readonly string[])[]
  /** What was handled last, for objects that do not keep it. */
  readonly unstored?: Essence | undefined
}

export function compareWithHandled(
  { persistence }: Pick<Settings, 'persistence'>,
  { body, extraFields, unstored }: CompareEssencesOptions,
): EssenceComparison {
  const stored = unstored ?? fetchHandled({ persistence }, body)
  const essence = stored === undefined ? undefined : persistence.progressStorage.clear({ essence: stored })
  const old = essence && concealSecret(essence, body)
  const current = essenceOf({ persistence }, { body, extraFields })
  const shown = persistence.secretValues === 'plain' ? essence : undefined
  return { old, new: current, diff: diffEssences(old, current), stored: shown }
}

/** What the storage has; undefined where it has nothing. Storages written by users may well say null. */
function fetchHandled({ persistence }: Pick<Settings, 'persistence'>, body: KubeObject): Essence | undefined {
  return persistence.diffbaseStorage.fetch({ body }) ?? undefined
}

/** Whether the storage has this essence of the object. */
export function isStored(settings: Pick<Settings, 'persistence'>, body: KubeObject, essence: Essence): boolean {
  const stored = fetchHandled(settings, body)
  return stored !== undefined && diffEssences(concealSecret(stored, body), essence).length === 0
}

/** The essence as it is to be stored: with the digests of a Secret's values, or with the values where the settings say so. */
export function toStored({ persistence }: Pick<Settings, 'persistence'>, body: KubeObject, essence: Essence): Essence {
  return persistence.secretValues === 'plain' ? revealSecret({ new: essence }, { body }).new : essence
}

/** What counts as a change if it differs: neither the status nor what is stored on the object. */
export function essenceOf(
  { persistence: { diffbaseStorage, progressStorage } }: Pick<Settings, 'persistence'>,
  { body, extraFields }: Pick<CompareEssencesOptions, 'body' | 'extraFields'>,
): Essence {
  return progressStorage.clear({ essence: diffbaseStorage.build({ body, extraFields }) })
}
