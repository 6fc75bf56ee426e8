/**
 * Checks `x-kubernetes-list-type`: a set has no duplicate items, a map no items with equal keys. Separate from validate.ts, as in
 * kube-apiserver: other paths (`limits[cpu]`), other messages, other ratcheting.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { goJson } from '../../util/json/go-json.ts'
import { getOwn, isPlainObject, setOwn } from '../../util/json/json.ts'
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
  const wrong = list.findIndex((item) => item !== null && !isPlainObject(item))
  if (wrong >= 0) {
    return [invalid(`${path}[${wrong}]`, list[wrong], 'must be an object for an array of list-type map')]
  }
  const { listMapKeys } = node
  const [first = ''] = listMapKeys
  // Usually there is one string key: it is used without building an object.
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

/** A value with duplicates is reported once, at its second occurrence. */
function repeatedIndices(list: readonly Json[]): number[] {
  if (list.length < 2) return []
  const times = new Map<string, number>()
  const repeated: number[] = []
  for (const [index, value] of list.entries()) {
    // The leading quote distinguishes strings from the JSON of other values.
    const key = typeof value === 'string' ? `'${value}` : goJson(value)
    const count = (times.get(key) ?? 0) + 1
    times.set(key, count)
    if (count === 2) repeated.push(index)
  }
  return repeated
}
