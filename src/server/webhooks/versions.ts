/** Objects of a request on their way between the versions of a resource: webhooks see them in the version of their rule. */
import { formatGroupVersion, type KubeObject } from '../../kube/objects.ts'
import type { Registry } from '../registry.ts'
import type { Converter, ServedResource } from '../resource.ts'
import { internalError } from '../status.ts'

/** The other resources that show the same objects, and have the subresource that is asked for. */
export function equivalentsOf(registry: Registry, resource: ServedResource, subresource: string): ServedResource[] {
  return registry.all.filter(
    (other) =>
      other.collection === resource.collection &&
      other !== resource &&
      other.evaluate === undefined &&
      (subresource === '' || other.subresources.some(({ name }) => name === subresource)),
  )
}

/** The object in another version, if it is of one at all: subresources such as Scale are the same in all. */
export async function convert(object: KubeObject, from: ServedResource, to: ServedResource): Promise<KubeObject> {
  if (from === to || object.kind !== from.kind) return object
  // Nothing is dropped on the way: it would be missing after the way back.
  const converter = from.converter ?? to.converter
  if (converter !== undefined) return convertByWebhook(object, converter, to)
  if (from.isCustom) return { ...object, apiVersion: formatGroupVersion(to.group, to.version) }
  const stored = from.conversion?.toStorage(object) ?? object
  return to.conversion?.fromStorage(stored) ?? stored
}

/** What fails here fails inside of admission, where the real server takes it for a failure of its own. */
async function convertByWebhook(object: KubeObject, converter: Converter, to: ServedResource): Promise<KubeObject> {
  try {
    return await converter.convert(object, formatGroupVersion(to.group, to.version))
  } catch (error) {
    throw internalError(error)
  }
}
