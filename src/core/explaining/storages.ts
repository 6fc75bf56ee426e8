/** Where storages keep what they keep, found out from outside: whoever has written them. Pure. */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import { resolvePath } from '../../util/paths.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'

/** What storages of ours say of themselves; others say nothing. */
interface Telling {
  readonly prefix?: unknown
  readonly field?: unknown
  readonly storages?: unknown
}

/** `annotations of kopf.zalando.org, and status.kopf.progress` */
export function describeStorage(storage: object): string {
  const { prefix, field, storages } = storage as Telling
  if (Array.isArray(storages)) return storages.map(describeStorage).join(', and ')
  if (typeof prefix === 'string') return `annotations of ${prefix}`
  if (Array.isArray(field)) return field.join('.')
  return `a storage of its own (${storage.constructor.name})`
}

/** Of all annotations that a storage keeps. */
export function prefixesOf(storage: object): string[] {
  const { prefix, storages } = storage as Telling
  if (Array.isArray(storages)) return storages.flatMap(prefixesOf)
  return typeof prefix === 'string' ? [prefix] : []
}

/** The fields of the status that records are kept in, by the ids of handlers. */
export function recordFieldsOf(storage: object): (readonly string[])[] {
  const { field, storages } = storage as Telling
  if (Array.isArray(storages)) return storages.flatMap(recordFieldsOf)
  return Array.isArray(field) ? [field as readonly string[]] : []
}

/** Where the record of a handler is: what the storage would remove to forget it. */
export function placesOf(storage: ProgressStorage, key: string, body: KubeObject): string[] {
  const patch: JsonObject = {}
  storage.purge({ key, body, patch })
  const annotations = resolvePath(patch, ['metadata', 'annotations'])
  const names = isPlainObject(annotations) ? Object.keys(annotations) : []
  const fields = recordFieldsOf(storage).filter((field) => resolvePath(patch, [...field, key]) !== undefined)
  return [...names, ...fields.map((field) => [...field, key].join('.'))]
}
