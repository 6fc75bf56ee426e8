/**
 * Evaluates a JSONPath on an object, like kube-apiserver does for printer columns: missing fields select nothing. Called by
 * columns.ts. Objects come from clients and paths from CRDs: only own keys are read, evaluation is not recursive in the object, and
 * the work is limited.
 */
import type { Json } from '../../util/json/json.ts'
import { JsonPathError, type PathNode, parseJsonPathTemplate } from './jsonpath-parser.ts'

/** Maximum number of visited values: `..` inside of `..` visits the square of the object's size. */
const maxWork = 1_000_000

interface JsonPathBudget {
  left: number
}

/** Throws a JsonPathError for an invalid path. The returned function never throws: a path that cannot be evaluated selects nothing. */
export function compileJsonPath(path: string): (object: unknown) => Json[] {
  const paths = parseJsonPathTemplate(`{${path}}`)
  return (object) => {
    try {
      const budget = { left: maxWork }
      // A path may contain further braces; only the first pair is shown, but an error in any of them hides it.
      return paths.map((nodes) => follow([object as Json], nodes, budget))[0]!
    } catch (error) {
      if (error instanceof JsonPathError) return []
      throw error
    }
  }
}

function follow(values: Json[], nodes: readonly PathNode[], budget: JsonPathBudget): Json[] {
  let current = values
  for (const node of nodes) {
    current = step(current, node, budget)
    spend(budget, current.length + 1)
  }
  return current
}

function spend(budget: JsonPathBudget, work: number): void {
  budget.left -= work
  if (budget.left < 0) throw new JsonPathError('path selects too much')
}

function step(values: Json[], node: PathNode, budget: JsonPathBudget): Json[] {
  switch (node.type) {
    case 'literal':
      return values.map(() => node.value)
    case 'field':
      return values.flatMap((value) => (isMap(value) && Object.hasOwn(value, node.name) ? [value[node.name]!] : []))
    case 'wildcard':
      return values.flatMap(childrenOf)
    case 'recursive':
      return descend(values, budget)
    case 'slice':
      return slice(values, node)
    case 'union':
      return node.paths.flatMap((path) => follow(values, path, budget))
    case 'filter':
      return values.flatMap((value) => elementsOf(value).filter((element) => passes(element, node, budget)))
    case 'identifier':
      throw new JsonPathError('unrecognized identifier')
  }
}

function isMap(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Go also iterates over the bytes of a string, so `.*` on one selects numbers. */
function childrenOf(value: Json): Json[] {
  if (Array.isArray(value)) return value
  if (isMap(value)) return Object.values(value)
  return typeof value === 'string' ? [...new TextEncoder().encode(value)] : []
}

function elementsOf(value: Json): Json[] {
  if (!Array.isArray(value)) throw new JsonPathError('not array or slice and cannot be filtered')
  return value
}

/** All values with children, each before its children. */
function descend(values: Json[], budget: JsonPathBudget): Json[] {
  const found: Json[] = []
  const pending = values.toReversed()
  while (pending.length > 0) {
    const value = pending.pop()!
    spend(budget, 1)
    // The bytes of a string have no children.
    const children = typeof value === 'string' ? [] : childrenOf(value)
    if (children.length === 0 && (typeof value !== 'string' || value === '')) continue
    found.push(value)
    for (let index = children.length - 1; index >= 0; index--) pending.push(children[index]!)
  }
  return found
}

function slice(values: Json[], node: Extract<PathNode, { type: 'slice' }>): Json[] {
  const found: Json[] = []
  for (const value of values) {
    if (value === null) continue
    if (!Array.isArray(value)) throw new JsonPathError('not array or slice')
    const from = node.from.value < 0 ? node.from.value + value.length : node.from.value
    let to = node.to.known ? node.to.value : value.length
    // For `[-1]`, `to` is 0, which means the end of the list.
    if (to < 0 || (to === 0 && node.isIndex)) to += value.length
    if (from === to) return found
    if (from < 0 || from >= value.length || to < 0 || to > value.length || from > to) {
      throw new JsonPathError('array index out of bounds')
    }
    const stride = node.step.known ? node.step.value : 1
    if (stride <= 0) throw new JsonPathError('step must be > 0')
    for (let index = from; index < to; index += stride) found.push(value[index]!)
  }
  return found
}

function passes(element: Json, node: Extract<PathNode, { type: 'filter' }>, budget: JsonPathBudget): boolean {
  if (node.operator === 'exists') return exists(element, node.left, budget)
  const left = follow([element], node.left, budget)
  if (left.length === 0) return false
  const right = left.length === 1 ? follow([element], node.right, budget) : []
  if (left.length > 1 || right.length > 1) throw new JsonPathError('can only compare one element at a time')
  return right.length === 1 && compare(left[0]!, node.operator, right[0]!)
}

/** An error counts as existence, because client-go returns the values found before it. */
function exists(element: Json, path: readonly PathNode[], budget: JsonPathBudget): boolean {
  try {
    return follow([element], path, budget).length > 0
  } catch (error) {
    if (error instanceof JsonPathError && budget.left >= 0) return true
    throw error
  }
}

function compare(left: Json, operator: string, right: Json): boolean {
  const kind = kindOf(left)
  if (kind !== kindOf(right)) throw new JsonPathError('incompatible types for comparison')
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  if (kind === 'boolean') throw new JsonPathError('invalid type for comparison')
  if (operator === '<') return left! < right!
  if (operator === '<=') return left! <= right!
  if (operator === '>') return left! > right!
  if (operator === '>=') return left! >= right!
  throw new JsonPathError(`unrecognized filter operator ${operator}`)
}

/** Go compares values of the same type only; whole numbers and fractions have different types. */
function kindOf(value: Json): string {
  if (typeof value === 'object') throw new JsonPathError('invalid type for comparison')
  return typeof value === 'number' && !Number.isInteger(value) ? 'fraction' : typeof value
}
