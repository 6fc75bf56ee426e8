/** Which objects are an owner's: those that it controls and selects. Strays that it selects are adopted, others let go. */
import type { KubeObject } from '../../../kube/objects.ts'
import { labelSelectorFromObject } from '../../selectors.ts'
import { controllerOf, controllerReference } from './reading.ts'
import type { Writer } from './writing.ts'

/** Claimed ones, as they are after the writes that this takes. An owner that is being deleted changes nobody. */
export async function claim<T extends KubeObject>(
  writer: Writer,
  owner: KubeObject,
  candidates: readonly T[],
): Promise<T[]> {
  const { selector } = owner['spec'] as { selector?: unknown }
  const selects = labelSelectorFromObject(selector)
  const isGoing = owner.metadata.deletionTimestamp !== undefined
  const claimed: T[] = []
  for (const candidate of candidates) {
    const controller = controllerOf(candidate)
    if (controller !== undefined && controller.uid !== owner.metadata.uid) continue
    const isSelected = selects.matches(candidate.metadata.labels ?? {})
    if (controller !== undefined && isSelected) claimed.push(candidate)
    else if (isGoing) continue
    else if (controller !== undefined) await writer.update(withoutOwner(candidate, owner))
    else if (isSelected && candidate.metadata.deletionTimestamp === undefined) {
      claimed.push(await writer.update(withOwner(candidate, owner)))
    }
  }
  return claimed
}

function withOwner<T extends KubeObject>(object: T, owner: KubeObject): T {
  const ownerReferences = [...(object.metadata.ownerReferences ?? []), controllerReference(owner)]
  return { ...object, metadata: { ...object.metadata, ownerReferences } }
}

function withoutOwner<T extends KubeObject>(object: T, owner: KubeObject): T {
  const ownerReferences = object.metadata.ownerReferences?.filter(({ uid }) => uid !== owner.metadata.uid) ?? []
  return { ...object, metadata: { ...object.metadata, ownerReferences } }
}
