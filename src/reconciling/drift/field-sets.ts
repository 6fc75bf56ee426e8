/**
 * Who owns which fields of an object, as the API server keeps it in `managedFields` (FieldsV1 of structured-merge-diff). A client
 * that changes a value under a name of its own takes its ownership; so what is still ours has still the value that we gave it, unless
 * another client writes under our name (value-drift.ts). Pure.
 */
import type { Json, JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { digestText } from '../../util/text/digest.ts'
import { ListFields } from './list-fields.ts'

/** From a container into a field of it, or into an item of a list. */
type FieldStep = { readonly field: string } | { readonly item: Json; readonly index: number }

/** The last step of a path, after the path of its container: paths share their beginnings, so all of them are as large as the object. */
export interface ManagedFieldPath {
  readonly parent: ManagedFieldPath | undefined
  readonly step: FieldStep
  /** As `formatPath` has written it. */
  text?: string
}

interface FieldEntry {
  readonly manager: string
  readonly operation: string
  readonly fields: JsonObject
  readonly time: string
  /** The part of `fields` for each path that was asked for, and for its containers: each step is made once. */
  readonly found: Map<ManagedFieldPath, OwnedFields>
}

/** The part of a field set for one path; undefined where the path is not owned. */
export type OwnedFields = Json | typeof whole | undefined

/** Of a container that is owned with all that is in it: a list or a map that is atomic. */
export const whole: unique symbol = Symbol('whole')

/** Those of subresources are of other writers, whatever they are called. */
export function entriesOf({ metadata }: KubeObject): readonly FieldEntry[] {
  return (metadata.managedFields ?? []).flatMap(({ manager, operation, fieldsV1, subresource, time }) => {
    if (!isPlainObject(fieldsV1) || (typeof subresource === 'string' && subresource !== '')) return []
    const writer = { manager: String(manager), operation: String(operation), time: String(time ?? '') }
    return [{ ...writer, fields: fieldsV1, found: new Map() }]
  })
}

/** All that an object says of itself, field by field; what is null says nothing. Without what no one owns: its name and kind. */
export function fieldsOf(object: JsonObject): ManagedFieldPath[] {
  const { apiVersion: _, kind: __, metadata, ...rest } = object
  const { name: ___, namespace: ____, ...meta } = isPlainObject(metadata) ? metadata : {}
  return collect(Object.keys(meta).length === 0 ? rest : { metadata: meta, ...rest })
}

/** In the order of the object. Does not recurse: the author of an owner may decide how deep its children are. */
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
    // The last in is the first out.
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

/** The part of a field set that one step leads to. */
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

/** The parsed keys of the lists in managed fields, for as long as the object they belong to is kept. */
const listFields = new WeakMap<JsonObject, ListFields>()

export function listFieldsOf(set: JsonObject): ListFields {
  const known = listFields.get(set)
  if (known !== undefined) return known
  const made = new ListFields(set)
  listFields.set(set, made)
  return made
}

/** Longer paths are cut, so that the texts of all paths stay in proportion to the object. */
const maxTextLength = 250

/** For people: `spec.template.spec.containers[app].image`. Two paths never have the same text: what is cut off has its digest there. */
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
