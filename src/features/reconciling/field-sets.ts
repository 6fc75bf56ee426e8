/**
 * Who owns which fields of an object, as the API server keeps it in `managedFields` (FieldsV1 of structured-merge-diff). Whoever
 * changes a value by whatever means takes its ownership; so what is still ours has still the value that we gave it, in whichever
 * form the server keeps it. Pure.
 */
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { isPlainObject } from '../../util/json.ts'

/** From a container into a field of it, or into an item of a list. */
type Step = { readonly field: string } | { readonly item: Json; readonly index: number }

export type FieldPath = readonly Step[]

interface Entry {
  readonly manager: string
  readonly operation: string
  readonly fields: JsonObject
  readonly time: string
}

/** Those of subresources are of other writers, whatever they are called. */
export function entriesOf({ metadata }: KubeObject): readonly Entry[] {
  return (metadata.managedFields ?? []).flatMap(({ manager, operation, fieldsV1, subresource, time }) => {
    if (!isPlainObject(fieldsV1) || (typeof subresource === 'string' && subresource !== '')) return []
    return [{ manager: String(manager), operation: String(operation), fields: fieldsV1, time: String(time ?? '') }]
  })
}

/** All that an object says of itself, field by field; what is null says nothing. Without what no one owns: its name and kind. */
export function fieldsOf(object: JsonObject): FieldPath[] {
  const { apiVersion: _, kind: __, metadata, ...rest } = object
  const { name: ___, namespace: ____, ...meta } = isPlainObject(metadata) ? metadata : {}
  const paths: FieldPath[] = []
  collect(Object.keys(meta).length === 0 ? rest : { metadata: meta, ...rest }, [], paths)
  return paths
}

function collect(value: Json, path: FieldPath, paths: FieldPath[]): void {
  if (value === null) return
  const steps = stepsInto(value)
  if (steps.length === 0 && path.length > 0) paths.push(path)
  for (const [step, inner] of steps) collect(inner, [...path, step], paths)
}

function stepsInto(value: Json): Array<readonly [Step, Json]> {
  if (Array.isArray(value)) return value.map((item, index) => [{ item, index }, isPlainObject(item) ? item : true])
  if (!isPlainObject(value)) return []
  return Object.entries(value).map(([field, inner]) => [{ field }, inner])
}

export function owns({ fields }: Entry, path: FieldPath): boolean {
  let set: Json | undefined = fields
  for (const [depth, step] of path.entries()) {
    if (!isPlainObject(set)) return false
    // A container without parts is owned as a whole: lists and maps that are atomic.
    if (depth > 0 && Object.keys(set).length === 0) return true
    set = 'field' in step ? own(set, `f:${step.field}`) : itemOf(set, step)
  }
  return set !== undefined
}

function own(set: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(set, key) ? set[key] : undefined
}

/** By its value, by its keys, or by its place. */
function itemOf(set: JsonObject, { item, index }: { readonly item: Json; readonly index: number }): Json | undefined {
  for (const [key, inner] of Object.entries(set)) {
    if (key === `i:${index}`) return inner
    if (key.startsWith('v:') && isDeepEqual(parse(key), item)) return inner
    if (key.startsWith('k:') && isPlainObject(item) && hasKeys(item, parse(key))) return inner
  }
  return undefined
}

/** Keys that the item leaves out are defaults, such as the protocol of a port. */
function hasKeys(item: JsonObject, keys: Json | undefined): boolean {
  if (!isPlainObject(keys)) return false
  return Object.entries(keys).every(([key, value]) => !Object.hasOwn(item, key) || isDeepEqual(item[key], value))
}

function parse(key: string): Json | undefined {
  try {
    return JSON.parse(key.slice(2))
  } catch {
    return undefined
  }
}

/** For people: `spec.template.spec.containers[app].image`. */
export function formatPath(path: FieldPath): string {
  const parts = path.map((step) => {
    if ('field' in step) return /^[\w-]+$/.test(step.field) ? `.${step.field}` : `[${JSON.stringify(step.field)}]`
    const { item, index } = step
    const name = isPlainObject(item) ? item['name'] : item
    return `[${typeof name === 'string' ? name : index}]`
  })
  return parts.join('').replace(/^\./, '')
}
