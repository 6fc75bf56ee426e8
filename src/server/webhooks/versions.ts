/** Converts the objects of a request between versions for webhooks, which get the version of their rule. */
import { formatGroupVersion, type KubeObject } from '../../kube/objects.ts'
import type { ResourceRegistry } from '../registry.ts'
import type { ApiResource, WebhookConverter } from '../resource.ts'
import { internalError } from '../status.ts'

/** The other resources with the same objects that also have the requested subresource. */
export function equivalentsOf(registry: ResourceRegistry, resource: ApiResource, subresource: string): ApiResource[] {
  return registry.all.filter(
    (other) =>
      other.collection === resource.collection &&
      other !== resource &&
      other.evaluate === undefined &&
      (subresource === '' || other.subresources.some(({ name }) => name === subresource)),
  )
}

/** Converts the object to another version. Objects of subresources such as Scale are the same in all versions. */
export async function convert(object: KubeObject, from: ApiResource, to: ApiResource): Promise<KubeObject> {
  if (from === to || object.kind !== from.kind) return object
  // Nothing is pruned, because it would be missing after converting back.
  const converter = from.converter ?? to.converter
  if (converter !== undefined) return convertByWebhook(object, converter, to)
  if (from.isCustom) return { ...object, apiVersion: formatGroupVersion(to.group, to.version) }
  const stored = from.conversion?.toStorage(object) ?? object
  return to.conversion?.fromStorage(stored) ?? stored
}

/** A failure during admission is an internal error in kube-apiserver. */
async function convertByWebhook(object: KubeObject, converter: WebhookConverter, to: ApiResource): Promise<KubeObject> {
  try {
    return await converter.convert(object, formatGroupVersion(to.group, to.version))
  } catch (error) {
    throw internalError(error)
  }
}
