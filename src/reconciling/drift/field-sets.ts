/**
 * Reads `metadata.managedFields` (FieldsV1 of structured-merge-diff): which field manager owns which fields. A client that changes a value
 * under another manager name becomes the owner of the field. So a field that the operator still owns has its value, unless a client writes
 * under the operator's manager name; value-drift.ts detects that. Pure.
 */
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { digestText } from '../../util/text/digest.ts'
import { ListFields } from './list-fields.ts'

/** One step of a path: into a field of an object, or into an item of a list. */
type FieldStep = { readonly field: string } | { readonly item: Json; readonly index: number }

/** A path as a linked list from its last step to the root. Paths share their parents, so that all paths together are as large as the object. */
export interface ManagedFieldPath {
  readonly parent: ManagedFieldPath | undefined
  readonly step: FieldStep
  /** The cached result of `formatPath`. */
  text?: string
}

interface FieldEntry {
  readonly manager: string
  readonly operation: string
  readonly fields: JsonObject
  readonly time: string
  /** A cache: the part of `fields` for each path that was looked up, and for its parents. */
  readonly found: Map<ManagedFieldPath, OwnedFields>
}

/** The part of a field set for one path; undefined if the path is not owned. */
export type OwnedFields = Json | typeof whole | undefined

/** Stands for an atomic list or map: its owner owns everything inside. */
export const whole: unique symbol = Symbol('whole')

/** Entries of subresources such as `status` are skipped: an apply to the object itself never owns their fields. */
export function entriesOf({ metadata }: KubeObject): readonly FieldEntry[] {
  return (metadata.managedFields ?? []).flatMap(({ manager, operation, fieldsV1, subresource, time }) => {
    if (!isPlainObject(fieldsV1) || (typeof subresource === 'string' && subresource !== '')) return []
    const writer = { manager: String(manager), operation: String(operation), time: String(time ?? '') }
    return [{ ...writer, fields: fieldsV1, found: new Map() }]
  })
}

/** The paths of all fields of an object. Skips null values, and apiVersion, kind, name and namespace, which managed fields never contain. */
export function fieldsOf(object: JsonObject): ManagedFieldPath[] {
  const { apiVersion: _, kind: __, metadata, ...rest } = object
  const { name: ___, namespace: ____, ...meta } = isPlainObject(metadata) ? metadata : {}
  return collect(Object.keys(meta).length === 0 ? rest : { metadata: meta, ...rest })
}

/** Returns the paths in the order of the object. Without recursion: users may nest objects deeper than the call stack allows. */
function collect(root: JsonObject): ManagedFieldPath[] {
  const paths: ManagedFieldPath[] = []
  const pending: Array<{ readonly path: ManagedFieldPath | undefined; readonly value: Json }> = [
    { path: undefined, value: root },
  ]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { path: parent, value } = next
    if (value === null) continue
    const steps = stepsInto(value)
    if (steps.length === 0 && parent !== undefined) paths.push(parent)
    // Reversed, since `pending` is a stack and the first field must be popped first.
    for (const [step, inner] of steps.reverse()) pending.push({ path: { parent, step }, value: inner })
  }
  return paths
}

function stepsInto(value: Json): Array<readonly [FieldStep, Json]> {
  if (Array.isArray(value)) return value.map((item, index) => [{ item, index }, isPlainObject(item) ? item : true])
  if (!isPlainObject(value)) return []
  return Object.entries(value).map(([field, inner]) => [{ field }, inner])
}

export function ownsField(entry: FieldEntry, path: ManagedFieldPath): boolean {
  const { found, fields } = entry
  const unknown: ManagedFieldPath[] = []
  let known: ManagedFieldPath | undefined = path
  for (; known !== undefined && !found.has(known); known = known.parent) unknown.push(known)
  let owned: OwnedFields = known === undefined ? fields : found.get(known)
  for (const next of unknown.reverse()) {
    owned = enter(owned, next.step)
    found.set(next, owned)
  }
  return owned !== undefined
}

/** The part of a field set behind one step. */
export function enter(owned: OwnedFields, step: FieldStep): OwnedFields {
  if (owned === whole) return whole
  if (!isPlainObject(owned)) return undefined
  const inner = 'field' in step ? own(owned, `f:${step.field}`) : findItem(owned, step)
  return isPlainObject(inner) && Object.keys(inner).length === 0 ? whole : inner
}

function own(set: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(set, key) ? set[key] : undefined
}

function findItem(set: JsonObject, { item, index }: { readonly item: Json; readonly index: number }): Json | undefined {
  return own(set, `i:${index}`) ?? listFieldsOf(set).find(item)
}

/** A cache of the parsed lists in managed fields. Entries live as long as the object. */
const listFields = new WeakMap<JsonObject, ListFields>()

export function listFieldsOf(set: JsonObject): ListFields {
  const known = listFields.get(set)
  if (known !== undefined) return known
  const made = new ListFields(set)
  listFields.set(set, made)
  return made
}

/** Longer texts are cut, so that the texts of all paths together stay proportional to the object. */
const maxTextLength = 250

/** Formats a path for messages: `spec.template.spec.containers[app].image`. Texts are unique: a text that is cut ends with a digest of the whole. */
export function formatPath(path: ManagedFieldPath): string {
  const unknown: ManagedFieldPath[] = []
  let known: ManagedFieldPath | undefined = path
  for (; known !== undefined && known.text === undefined; known = known.parent) unknown.push(known)
  let text = known?.text ?? ''
  for (const next of unknown.reverse()) {
    text = shorten(text + formatStep(next))
    next.text = text
  }
  return text
}

function formatStep({ parent, step }: ManagedFieldPath): string {
  if ('field' in step) {
    if (!/^[\w-]+$/.test(step.field)) return `[${JSON.stringify(step.field)}]`
    return parent === undefined ? step.field : `.${step.field}`
  }
  const { item, index } = step
  const name = isPlainObject(item) ? item['name'] : item
  return `[${typeof name === 'string' ? name : index}]`
}

function shorten(text: string): string {
  if (text.length <= maxTextLength) return text
  return `${text.slice(0, maxTextLength - 23)}…${digestText(text)}`
}
