/**
 * Drops what a schema does not have, as the real server does on every read of a body and from its store. Changes the value
 * it is given; the paths of what went are for field validation. Called by crds/resources.ts.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import type { SchemaNode } from './structural.ts'

/** Of every object; a schema needs not mention them, and pruning leaves them alone. */
const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** The way to the value at hand: names and, in brackets, positions. Written down only where something is dropped. */
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
 * Prunes a whole object, whose own metadata, kind and apiVersion stay untouched. Returns the paths of what was dropped,
 * sorted, as in `spec.items[0].colour`.
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
  /** Unknown fields stay. */
  readonly isFree: boolean
}

function pruneFields(object: JsonObject, node: SchemaNode, trail: Trail, { isResource, isFree }: Freedom): void {
  for (const key of Object.keys(object)) {
    if (isResource && metaFields.has(key)) continue
    const child = node.properties.get(key)
    if (child || node.additional) {
      trail.enter(key)
      // Without a schema for them (`additionalProperties: true`) the fields stay, and whatever is in them goes.
      prune(object[key]!, child ?? node.additional?.node, trail)
      trail.leave()
    } else if (!isFree) {
      trail.drop(key)
      delete object[key]
    }
  }
}

/** Inside of `x-kubernetes-preserve-unknown-fields`, lists are looked through for what is specified again. */
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

/** Lists in lists of nothing known: as deep as a client likes, hence no recursion. */
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
