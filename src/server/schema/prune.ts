/**
 * Prunes fields that a schema does not have, like kube-apiserver does for every body and stored object. Modifies the value; the paths
 * of dropped fields are used for field validation. Called by crds/resources.ts.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import type { SchemaNode } from './structural.ts'

/** Fields of every object; pruning keeps them even if the schema does not list them. */
const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** The path of the current value: names, and indices in brackets. Formatted only if something is dropped. */
class Trail {
  readonly dropped: string[] = []
  readonly #steps: Array<string | number> = []

  enter(step: string | number): void {
    this.#steps.push(step)
  }

  leave(): void {
    this.#steps.pop()
  }

  drop(key: string): void {
    let path = ''
    for (const step of this.#steps) path += typeof step === 'number' ? `[${step}]` : path === '' ? step : `.${step}`
    this.dropped.push(path === '' ? key : `${path}.${key}`)
  }
}

/**
 * Prunes an object except its own metadata, kind and apiVersion. Returns the sorted paths of dropped fields, such as
 * `spec.items[0].colour`.
 */
export function pruneObject(object: JsonObject, node: SchemaNode): string[] {
  const trail = new Trail()
  pruneFields(object, node, trail, { isResource: true, isFree: node.preserveUnknown })
  return trail.dropped.sort()
}

/** Prunes a part of an object, for example a default. */
export function pruneValue(value: Json, node: SchemaNode): string[] {
  const trail = new Trail()
  prune(value, node, trail)
  return trail.dropped.sort()
}

function prune(value: Json, node: SchemaNode | undefined, trail: Trail): void {
  if (typeof value !== 'object' || value === null) return
  if (node === undefined) {
    pruneUnknown(value, trail)
  } else if (!Array.isArray(value)) {
    pruneFields(value, node, trail, { isResource: node.embedded, isFree: node.preserveUnknown })
  } else {
    for (let index = 0; index < value.length; index += 1) {
      trail.enter(index)
      if (node.preserveUnknown) pruneFree(value[index]!, node.items, trail)
      else prune(value[index]!, node.items, trail)
      trail.leave()
    }
  }
}

interface Freedom {
  readonly isResource: boolean
  /** True if unknown fields are kept. */
  readonly isFree: boolean
}

function pruneFields(object: JsonObject, node: SchemaNode, trail: Trail, { isResource, isFree }: Freedom): void {
  for (const key of Object.keys(object)) {
    if (isResource && metaFields.has(key)) continue
    const child = node.properties.get(key)
    if (child || node.additional) {
      trail.enter(key)
      // With `additionalProperties: true` there is no schema: the fields stay, and their content is dropped.
      prune(object[key]!, child ?? node.additional?.node, trail)
      trail.leave()
    } else if (!isFree) {
      trail.drop(key)
      delete object[key]
    }
  }
}

/** Inside of `x-kubernetes-preserve-unknown-fields`, lists are searched for parts with a schema. */
function pruneFree(value: Json, node: SchemaNode | undefined, trail: Trail): void {
  if (node === undefined || typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) {
    pruneFields(value, node, trail, { isResource: node.embedded, isFree: true })
    return
  }
  for (const [index, child] of value.entries()) {
    trail.enter(index)
    pruneFree(child, node.items, trail)
    trail.leave()
  }
}

/** Nested lists without a schema. Not recursive, since clients decide how deep they are. */
function pruneUnknown(root: Json[] | JsonObject, trail: Trail): void {
  const stack: Array<Iterator<[number, Json]>> = []
  const open = (value: Json): void => {
    if (Array.isArray(value)) {
      stack.push(value.entries())
      trail.enter(-1)
    } else if (isPlainObject(value)) {
      for (const key of Object.keys(value)) {
        trail.drop(key)
        delete value[key]
      }
    }
  }
  open(root)
  while (stack.length > 0) {
    const next = stack.at(-1)!.next()
    trail.leave()
    if (next.done) {
      stack.pop()
    } else {
      trail.enter(next.value[0])
      open(next.value[1])
    }
  }
}
