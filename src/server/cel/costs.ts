/**
 * Runtime costs of calls: the numbers of cel-go, its extensions and the Kubernetes libraries. Static estimates are in
 * estimate.ts.
 */
import type { Meter } from './failures.ts'
import { patternSizeOf } from './library/urls.ts'
import { CelList, CelMap, type CelValue, Opaque, Optional } from './values.ts'

export const traversalFactor = 0.1
export const patternFactor = 0.25
export const listBase = 10
export const mapBase = 30

export interface CompletedCall {
  readonly name: string
  /** '' if the overload depends on the argument values. */
  readonly overload: string
  readonly args: readonly CelValue[]
  readonly result: CelValue
  readonly meter: Meter
}

function sizeOf(value: CelValue | undefined, meter: Meter): number {
  if (typeof value === 'string') return meter.sizeOf(value)
  if (value instanceof Uint8Array) return value.length
  if (value instanceof CelList || value instanceof CelMap || value instanceof Opaque) return value.size
  return value instanceof Optional && value.value !== undefined ? sizeOf(value.value, meter) : 1
}

/** Cost of traversing a string of this size, once or `factor` times. */
const traversal = (size: number, factor = 1): number => Math.ceil(size * factor * traversalFactor)

/** Cost of traversing a value and all values nested in it. Iterative, since objects in match conditions can have any depth. */
function traversalCost(root: CelValue, meter: Meter): number {
  let sum = 0
  const pending: CelValue[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()!
    meter.work(1)
    if (typeof value === 'string') sum += Math.floor(Buffer.byteLength(value) * traversalFactor)
    else if (value instanceof Uint8Array) sum += Math.floor(value.length * traversalFactor)
    else if (value instanceof CelList) for (const item of value.toArray()) pending.push(item)
    else if (value instanceof CelMap) for (const key of value.keys()) pending.push(key, value.find(key)!)
    else sum += 1
  }
  return sum
}

type Cost = (call: CompletedCall) => number

const one: Cost = () => 1
const first =
  (factor: number): Cost =>
  ({ args, meter }) =>
    traversal(sizeOf(args[0], meter), factor)
const pattern: Cost = ({ args, meter }) =>
  traversal(1 + sizeOf(args[0], meter)) * Math.ceil(sizeOf(args[1], meter) * patternFactor)
const smaller: Cost = ({ args, meter }) => traversal(Math.min(sizeOf(args[0], meter), sizeOf(args[1], meter)))
const whole: Cost = ({ args, meter }) => traversalCost(args[0]!, meter)
const joined: Cost = ({ args, meter }) => traversal(sizeOf(args[0], meter) + sizeOf(args[1], meter))

function selfCompared({ args }: CompletedCall, list: CelValue | undefined = args[0]): number {
  const { size } = list as CelList
  const sample = size === 0 ? undefined : (list as CelList).at(0)
  const isText = typeof sample === 'string' || sample instanceof Uint8Array
  return Math.floor(size * size * (isText ? 2 + traversalFactor : 2)) + 1 + listBase
}

/** Parsing a selector creates requirements; each costs a struct and a list. */
const selector: Cost = ({ args, meter }) => {
  const size = sizeOf(args[1], meter)
  return listBase + traversal(size) + Math.ceil(Math.ceil(size * 0.5) * 50)
}

/** Costs by function name, as defined by the Kubernetes libraries. */
const byName: Readonly<Record<string, Cost>> = {
  check: () => 350_000,
  ...every(['serviceAccount', 'path', 'group', 'resource', 'subresource', 'namespace', 'name'], one),
  ...every(['allowed', 'reason', 'error', 'errored', 'format.named'], one),
  ...every(['fieldSelector', 'labelSelector'], selector),
  ...every(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], whole),
  ...every(['url', 'lowerAscii', 'upperAscii', 'substring', 'trim', 'cidr', 'isIP', 'isCIDR'], first(1)),
  ...every(['quantity', 'isQuantity', 'semver', 'isSemver'], first(1)),
  ...every(['replace', 'split', 'ip.isCanonical'], first(2)),
  join: ({ result, meter }) => traversal(sizeOf(result, meter), 2),
  ...every(['find', 'findAll'], pattern),
  ip: (call) => (call.overload === 'cidr_ip' ? 1 : first(1)(call)),
  ...every(['masked', 'prefixLength', 'family', 'isUnspecified', 'isLoopback', 'isLinkLocalMulticast'], one),
  ...every(['isLinkLocalUnicast', 'isGlobalUnicast'], one),
  containsIP: ({ args, overload, meter }) => {
    const own = traversal(sizeOf(args[0], meter) * 2)
    return overload === 'cidr_contains_ip_string' ? own + traversal(sizeOf(args[1], meter)) : own
  },
  containsCIDR: ({ args, overload, meter }) => {
    const size = sizeOf(args[0], meter)
    const own = traversal(size * 2) + traversal(size) + 1
    return overload === 'cidr_contains_cidr_string' ? own + traversal(sizeOf(args[1], meter)) : own
  },
  validate: ({ args, meter }) =>
    traversal(1 + sizeOf(args[1], meter)) * Math.ceil((patternSizeOf(args[0]!) ?? 0) * patternFactor),
  ...every(['sign', 'asInteger', 'isInteger', 'asApproximateFloat', 'isGreaterThan', 'isLessThan', 'compareTo'], one),
  ...every(['add', 'sub', 'major', 'minor', 'patch'], one),
  ...every(['getScheme', 'getHostname', 'getHost', 'getPort', 'getEscapedPath', 'getQuery'], one),
}

/** Costs by overload id, as defined by cel-go and its extensions. All other overloads cost 1. */
const byOverload: Readonly<Record<string, Cost>> = {
  ...every(['starts_with_string', 'ends_with_string', 'string_to_bytes', 'bytes_to_string', 'strings_quote'], first(1)),
  string_format: first(1),
  in_list: ({ args, meter }) => sizeOf(args[1], meter),
  ...every(['less_string', 'greater_string', 'less_equals_string', 'greater_equals_string'], smaller),
  ...every(['less_bytes', 'greater_bytes', 'less_equals_bytes', 'greater_equals_bytes'], smaller),
  ...every(['equals', 'not_equals'], smaller),
  ...every(['add_string', 'add_bytes'], joined),
  matches_string: pattern,
  contains_string: ({ args, meter }) => traversal(sizeOf(args[0], meter)) * traversal(sizeOf(args[1], meter)),
  ...every(['list_slice', 'lists_range', 'list_reverse'], ({ result, meter }) => sizeOf(result, meter) + 1 + listBase),
  list_flatten: ({ args }) => (args[0] as CelList).size + 1 + listBase,
  list_flatten_int: ({ args }) => Math.floor((args[0] as CelList).size * Number(args[1])) + 1 + listBase,
  list_distinct: selfCompared,
  ...every(['list_sets_contains_list', 'list_sets_intersects_list'], setCost(1)),
  list_sets_equivalent_list: setCost(2),
}

function setCost(factor: number): Cost {
  return ({ args }) => 1 + (args[0] as CelList).size * (args[1] as CelList).size * factor
}

function every(names: readonly string[], cost: Cost): Record<string, Cost> {
  return Object.fromEntries(names.map((name) => [name, cost]))
}

export function callCost(call: CompletedCall): number {
  const { overload, name, args } = call
  if (overload.endsWith('_sort')) return selfCompared(call)
  if (overload.endsWith('_sortByAssociatedKeys')) return selfCompared(call, args[1])
  const cost = ownCost(overload) ?? (Object.hasOwn(byName, name) ? byName[name] : undefined) ?? one
  return cost(call)
}

function ownCost(overload: string): Cost | undefined {
  return Object.hasOwn(byOverload, overload) ? byOverload[overload] : undefined
}
