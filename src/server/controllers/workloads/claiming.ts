/**
 * Adopts and releases dependents: an owner claims the objects that it controls and selects, adopts matching objects without a
 * controller, and releases objects that no longer match.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { labelSelectorFromObject } from '../../selectors.ts'
import type { ObjectWriter } from './object-writer.ts'
import { controllerOf, controllerReference } from './reading.ts'

/** The claimed objects in their state after adoption. An owner that is being deleted neither adopts nor releases. */
export async function claim<T extends KubeObject>(
  writer: ObjectWriter,
  owner: KubeObject,
  candidates: readonly T[],
): Promise<T[]> {
  const { selector } = owner['spec'] as { selector?: unknown }
  const selects = labelSelectorFromObject(selector)
  const isDeleting = owner.metadata.deletionTimestamp !== undefined
  const claimed: T[] = []
  for (const candidate of candidates) {
    const controller = controllerOf(candidate)
    if (controller !== undefined && controller.uid !== owner.metadata.uid) continue
    const isSelected = selects.matches(candidate.metadata.labels ?? {})
    if (controller !== undefined && isSelected) claimed.push(candidate)
    else if (isDeleting) continue
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
