/**
 * Sets the defaults of a schema, and handles null like kube-apiserver: for a field that is not nullable, null means absent. Modifies
 * the value. Called by crds/resources.ts after pruning.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { isPlainObject, setOwn } from '../../util/json/json.ts'
import type { SchemaNode } from './structural.ts'

/** Removes null fields that are neither nullable nor have a default. Null items of lists stay. */
export function dropNulls(value: Json, node: SchemaNode | undefined): void {
  if (node === undefined || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (node.items) for (const child of value) dropNulls(child, node.items)
    return
  }
  for (const key of Object.keys(value)) {
    const child = childNode(node, key)
    if (child === undefined) continue
    if (value[key] !== null) dropNulls(value[key]!, child)
    else if (!child.nullable && child.default === undefined) delete value[key]
  }
}

export function applyDefaults(value: Json, node: SchemaNode | undefined): void {
  if (!node?.needs.defaults) return
  if (Array.isArray(value)) defaultItems(value, node.items)
  else if (isPlainObject(value)) defaultFields(value, node)
}

function defaultItems(list: Json[], node: SchemaNode | undefined): void {
  if (!node) return
  for (const [index, child] of list.entries()) {
    if (child === null && !node.nullable) list[index] = cloneJson(node.default) ?? null
    applyDefaults(list[index]!, node)
  }
}

function defaultFields(object: JsonObject, node: SchemaNode): void {
  for (const [key, child] of node.properties) {
    if (child.default === undefined) continue
    const isMissing = !Object.hasOwn(object, key) || (object[key] === null && !child.nullable)
    if (isMissing) setOwn(object, key, cloneJson(child.default))
  }
  for (const key of Object.keys(object)) {
    const child = childNode(node, key)
    if (child === undefined) continue
    if (object[key] === null && !child.nullable && !node.properties.has(key)) {
      setOwn(object, key, cloneJson(child.default) ?? null)
    }
    applyDefaults(object[key]!, child)
  }
}

function childNode(node: SchemaNode, key: string): SchemaNode | undefined {
  return node.properties.get(key) ?? node.additional?.node
}
