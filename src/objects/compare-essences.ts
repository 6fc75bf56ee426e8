/** Compares the current essence of an object with the last handled one; the diff is passed to handlers. Used by cause-view.ts and change-handling.ts. Pure. */
import type { Diff, Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { diffEssences } from '../causation/diff.ts'
import { revealSecret } from '../causation/reveal-secrets.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Settings } from '../settings/settings.ts'

/** The last handled and the current essence. A Secret has digests instead of values in both; `revealSecret` restores values for handlers and filters. */
export interface EssenceComparison {
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
  /** The old state as it is stored, if the settings allow plain values of Secrets; otherwise undefined. */
  readonly stored?: Essence | undefined
}

export interface CompareEssencesOptions {
  readonly body: KubeObject
  /** Fields that are part of the essence even in the status or in system metadata, since handlers have them as `field`. */
  readonly extraFields: readonly (readonly string[])[]
  /** The last handled essence, if the object does not store it. */
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

/** The stored essence, or undefined. A storage that a user has written may return null. */
function fetchHandled({ persistence }: Pick<Settings, 'persistence'>, body: KubeObject): Essence | undefined {
  return persistence.diffbaseStorage.fetch({ body }) ?? undefined
}

/** Whether this essence is stored on the object. */
export function isStored(settings: Pick<Settings, 'persistence'>, body: KubeObject, essence: Essence): boolean {
  const stored = fetchHandled(settings, body)
  return stored !== undefined && diffEssences(concealSecret(stored, body), essence).length === 0
}

/** The essence in the form for the storage: digests of a Secret's values, or the values if `persistence.secretValues` is 'plain'. */
export function toStored({ persistence }: Pick<Settings, 'persistence'>, body: KubeObject, essence: Essence): Essence {
  return persistence.secretValues === 'plain' ? revealSecret({ new: essence }, { body }).new : essence
}

/** The part of the body whose differences are changes: without the status and without the operator's own records. */
export function essenceOf(
  { persistence: { diffbaseStorage, progressStorage } }: Pick<Settings, 'persistence'>,
  { body, extraFields }: Pick<CompareEssencesOptions, 'body' | 'extraFields'>,
): Essence {
  return progressStorage.clear({ essence: diffbaseStorage.build({ body, extraFields }) })
}
