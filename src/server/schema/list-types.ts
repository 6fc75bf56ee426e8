/**
 * The promises of `x-kubernetes-list-type`: no item of a set twice, no two items of a map with the same keys. Apart from
 * validate.ts, as in the real server: other paths (`limits[cpu]`), other words, and its own kind of ratcheting.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { goJson } from '../../util/go-json.ts'
import { getOwn, isPlainObject, setOwn } from '../../util/json.ts'
import { duplicate, type FieldError, invalid } from '../field-errors.ts'
import type { SchemaNode } from './structural.ts'

export function validateListTypes(node: SchemaNode, value: Json, path = ''): FieldError[] {
  const errors: FieldError[] = []
  validate(node, value, path, errors)
  return errors
}

function validate(node: SchemaNode, value: Json, path: string, errors: FieldError[]): void {
  if (!node.needs.listTypes) return
  if (Array.isArray(value)) validateList(node, value, path, errors)
  else if (isPlainObject(value)) validateFields(node, value, path, errors)
}

function validateFields(node: SchemaNode, object: JsonObject, path: string, errors: FieldError[]): void {
  const additional = node.additional?.node
  for (const key of Object.keys(object)) {
    const child = node.properties.get(key)
    if (child) validate(child, object[key]!, path === '' ? key : `${path}.${key}`, errors)
    else if (additional) validate(additional, object[key]!, `${path}[${key}]`, errors)
  }
}

function validateList(node: SchemaNode, list: readonly Json[], path: string, errors: FieldError[]): void {
  if (node.listType === 'set') {
    for (const index of repeatedIndices(list)) errors.push(duplicate(`${path}[${index}]`, list[index]))
  } else if (node.listType === 'map') {
    errors.push(...validateMap(node, list, path))
  }
  if (!node.items?.needs.listTypes) return
  for (const [index, value] of list.entries()) validate(node.items, value, `${path}[${index}]`, errors)
}

function validateMap(node: SchemaNode, list: readonly Json[], path: string): FieldError[] {
  const stranger = list.findIndex((item) => item !== null && !isPlainObject(item))
  if (stranger >= 0) {
    return [invalid(`${path}[${stranger}]`, list[stranger], 'must be an object for an array of list-type map')]
  }
  const { listMapKeys } = node
  const [first = ''] = listMapKeys
  // Mostly there is one key, and it is a text: then it stands for the item.
  const keys = list.map((item) => {
    const only = listMapKeys.length === 1 && item !== null ? getOwn(item as JsonObject, first) : undefined
    return typeof only === 'string' ? only : keysOf(item as JsonObject | null, listMapKeys)
  })
  return repeatedIndices(keys).map((index) => {
    return duplicate(`${path}[${index}]`, keysOf(list[index] as JsonObject | null, listMapKeys))
  })
}

function keysOf(item: JsonObject | null, names: readonly string[]): JsonObject {
  const keys: JsonObject = {}
  for (const name of names) {
    const value = item === null ? undefined : getOwn(item, name)
    if (value !== undefined) setOwn(keys, name, value)
  }
  return keys
}

/** Each value that is there more than once is reported once: where it is there for the second time. */
function repeatedIndices(list: readonly Json[]): number[] {
  if (list.length < 2) return []
  const times = new Map<string, number>()
  const repeated: number[] = []
  for (const [index, value] of list.entries()) {
    // A text is told from the JSON of other values by what it begins with.
    const key = typeof value === 'string' ? `'${value}` : goJson(value)
    const count = (times.get(key) ?? 0) + 1
    times.set(key, count)
    if (count === 2) repeated.push(index)
  }
  return repeated
}
