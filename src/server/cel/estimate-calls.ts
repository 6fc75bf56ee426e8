/** Maximum cost and result size of a single call, estimated from the sizes of its arguments. Used by estimate.ts. */
import type { Expr } from './ast.ts'
import { listBase, patternFactor, traversalFactor } from './costs.ts'
import { add, fixed, maxEstimate, type Range, scale, times, union, unknown } from './ranges.ts'
import type { CelType } from './types.ts'

/** An argument with the known sizes of itself and of its elements. */
export interface Sized {
  readonly expr: Expr
  readonly type: CelType
  readonly size: Range | undefined
  readonly itemSize: Range | undefined
}

interface EstimatedCall {
  readonly name: string
  readonly overload: string
  readonly target: Sized | undefined
  readonly args: readonly Sized[]
  readonly costs: readonly Range[]
}

interface Estimate {
  readonly cost: Range
  readonly size?: Range | undefined
}

type CallEstimator = (call: EstimatedCall) => Estimate | undefined

const sizeOf = (one: Sized | undefined): Range => one?.size ?? unknown
const traverse = (size: Range, factor = 1): Range => scale(size, factor * traversalFactor)

const nominal: CallEstimator = () => ({ cost: fixed(1) })
const ofFirst =
  (factor = 1): CallEstimator =>
  ({ args }) => ({ cost: traverse(sizeOf(args[0]), factor) })
/** The result is at most as long as the target. */
const ofTarget: CallEstimator = ({ target }) => ({ cost: traverse(sizeOf(target)), size: sizeOf(target) })

/** Each element is visited; strings and bytes are traversed completely. */
const elements: CallEstimator = ({ target }) => {
  const element = target?.type.params[0]
  if (!element) return { cost: traverse(sizeOf(target)) }
  const isText = element.kind === 'string' || element.kind === 'bytes'
  const each = isText ? add(fixed(1), traverse(target.itemSize ?? unknown)) : fixed(1)
  return { cost: times(sizeOf(target), each) }
}

const replace: CallEstimator = ({ target, args }) => {
  const [size, old, by] = [sizeOf(target), sizeOf(args[0]), sizeOf(args[1])]
  const [most, maxKept] = replacements(size.max, old.min, by.max <= old.min)
  const [minCount, minKept] = replacements(size.min, old.max, old.max <= by.min)
  const grown = add(times({ min: minCount, max: most }, by), { min: minKept, max: maxKept })
  return { cost: traverse(size, 2), size: grown }
}

/** Number of replacements, and the length of the original text that remains. */
function replacements(size: number, sought: number, isHarmless: boolean): [count: number, kept: number] {
  if (sought === 0) return [Math.min(size + 1, maxEstimate), size]
  return isHarmless ? [0, size] : [Math.ceil(size / sought), 0]
}

const split: CallEstimator = ({ target, args }) => {
  const limit = args[1]?.expr
  const isLimited = limit?.kind === 'literal' && typeof limit.value === 'bigint'
  const count = isLimited ? asUnsigned(limit.value as bigint) : sizeOf(target).max
  return { cost: traverse(sizeOf(target), 2), size: { min: 0, max: count } }
}

const asUnsigned = (value: bigint): number => (value < 0n ? maxEstimate : Number(value))

const join: CallEstimator = ({ target, args }) => {
  const count = sizeOf(target)
  let size = target?.type.params[0] ? times(count, target.itemSize ?? unknown) : fixed(0)
  if (args[0]) {
    const separators = { min: Math.max(count.min - 1, 0), max: Math.max(count.max - 1, 0) }
    size = add(size, times(sizeOf(args[0]), separators))
  }
  return { cost: traverse(size), size }
}

const find: CallEstimator = ({ target, args }) => ({
  cost: times(traverse(add(sizeOf(target), fixed(1))), scale(sizeOf(args[0]), patternFactor)),
  size: { min: 0, max: sizeOf(target).max },
})

const address: Range = { min: 4, max: 16 }

const containsIp: CallEstimator = ({ overload, args }) => {
  const own = traverse(add(address, address))
  return { cost: overload === 'cidr_contains_ip_string' ? add(own, traverse(sizeOf(args[0]))) : own }
}

const containsCidr: CallEstimator = ({ overload, args }) => {
  const own = add(add(traverse(add(address, address)), traverse(address)), fixed(1))
  return { cost: overload === 'cidr_contains_cidr_string' ? add(own, traverse(sizeOf(args[0]))) : own }
}

const selector: CallEstimator = ({ args }) => {
  const size = sizeOf(args[0])
  return { cost: add(add(fixed(listBase), traverse(size)), scale(scale(size, 0.5), 50)) }
}

const byName: Readonly<Record<string, CallEstimator>> = {
  check: () => ({ cost: fixed(350_000) }),
  ...every(['serviceAccount', 'path', 'group', 'resource', 'subresource', 'namespace', 'name'], nominal),
  ...every(['allowed', 'reason', 'error', 'errored', 'format.named'], nominal),
  ...every(['fieldSelector', 'labelSelector'], selector),
  ...every(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], elements),
  url: ({ args }) => ({ cost: traverse(sizeOf(args[0])), size: sizeOf(args[0]) }),
  ...every(['lowerAscii', 'upperAscii', 'substring', 'trim'], ofTarget),
  replace,
  split,
  join,
  ...every(['find', 'findAll'], find),
  ...every(['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'], ofFirst()),
  ip: (call) => (call.overload === 'cidr_ip' ? { cost: fixed(1) } : ofFirst()(call)),
  'ip.isCanonical': ofFirst(2),
  ...every(['masked', 'prefixLength', 'family', 'isUnspecified', 'isLoopback', 'isLinkLocalMulticast'], nominal),
  ...every(['isLinkLocalUnicast', 'isGlobalUnicast'], nominal),
  containsIP: containsIp,
  containsCIDR: containsCidr,
  validate: ({ args }) => ({ cost: scale(traverse(sizeOf(args[0])), 128 * patternFactor) }),
  ...every(['sign', 'asInteger', 'isInteger', 'asApproximateFloat', 'isGreaterThan', 'isLessThan'], nominal),
  ...every(['compareTo', 'add', 'sub', 'major', 'minor', 'patch'], nominal),
  ...every(['getScheme', 'getHostname', 'getHost', 'getPort', 'getEscapedPath', 'getQuery'], nominal),
  '_==_': kubernetesEquality,
}

function kubernetesEquality({ args }: EstimatedCall): Estimate | undefined {
  const [left, right] = args.map(({ type }) => type)
  if (left!.name !== right!.name) return undefined
  switch (left!.name) {
    case 'kubernetes.NamedFormat':
      return { cost: scale({ min: 1, max: 64 }, traversalFactor) }
    case 'kubernetes.URL':
      return { cost: scale({ min: 1, max: args[1]!.size?.max ?? 1 }, traversalFactor) }
    default:
      return /^(?:net\.|kubernetes\.)/.test(left!.name) ? { cost: fixed(1) } : undefined
  }
}

function allocating(factor: number, size: Range): Estimate {
  return { cost: add(add(scale(size, factor), fixed(1)), fixed(listBase)), size }
}

function numberIn(one: Sized | undefined, otherwise: number): number {
  const expr = one?.expr
  if (expr?.kind !== 'literal' || typeof expr.value !== 'bigint') return otherwise
  return expr.value < 0n ? 0 : Number(expr.value)
}

function sortEstimate(list: Sized | undefined, overload: string): Estimate {
  const size = sizeOf(list)
  const isText = /^list_(?:string|bytes)_/.test(overload)
  return allocating(isText ? 2 + traversalFactor : 2, times(size, size))
}

const sets =
  (factor: number): CallEstimator =>
  ({ args }) => ({ cost: add(scale(times(sizeOf(args[0]), sizeOf(args[1])), factor), fixed(1)) })

/** Estimates of cel-go's extensions, which take precedence over those of Kubernetes. */
const byExtension: Readonly<Record<string, CallEstimator>> = {
  list_slice: ({ target, args }) => {
    const length = numberIn(args[1], sizeOf(target).max) - numberIn(args[0], 0)
    return allocating(1, fixed(length < 0 ? maxEstimate : length))
  },
  lists_range: ({ args }) => allocating(1, fixed(numberIn(args[0], maxEstimate))),
  list_reverse: ({ target }) => allocating(1, sizeOf(target)),
  list_flatten: ({ target }) => allocating(1, sizeOf(target)),
  list_flatten_int: ({ target, args }) => allocating(numberIn(args[0], maxEstimate), sizeOf(target)),
  list_distinct: ({ target }) => allocating(2, times(sizeOf(target), sizeOf(target))),
  ...every(['list_sets_contains_list', 'list_sets_intersects_list'], sets(1)),
  list_sets_equivalent_list: sets(2),
}

const comparison: CallEstimator = ({ args }) => {
  const max = Math.min(sizeOf(args[0]).max, sizeOf(args[1]).max)
  return { cost: scale({ min: max > 0 ? 1 : 0, max }, traversalFactor) }
}

const joinTexts: CallEstimator = ({ args }) => {
  const size = add(sizeOf(args[0]), sizeOf(args[1]))
  return { cost: traverse(size), size }
}

const matches: CallEstimator = ({ target, args }) => ({
  cost: times(traverse(add(sizeOf(target), fixed(1))), scale(sizeOf(args[0]), patternFactor)),
})

/** Estimates of the standard functions. */
const byOverload: Readonly<Record<string, CallEstimator>> = {
  string_format: ({ target }) => ({ cost: traverse(sizeOf(target)) }),
  string_to_bytes: ({ args }) => ({
    cost: traverse(sizeOf(args[0])),
    size: { min: sizeOf(args[0]).min, max: Math.min(sizeOf(args[0]).max * 4, maxEstimate) },
  }),
  bytes_to_string: ({ args }) => ({
    cost: traverse(sizeOf(args[0])),
    size: { min: Math.floor(sizeOf(args[0]).min / 4), max: sizeOf(args[0]).max },
  }),
  strings_quote: ({ args }) => ({
    cost: traverse(sizeOf(args[0])),
    size: { min: sizeOf(args[0]).min + 2, max: Math.min(sizeOf(args[0]).max * 2 + 2, maxEstimate) },
  }),
  ...every(['starts_with_string', 'ends_with_string'], ofFirst()),
  in_list: ({ args }) => ({ cost: sizeOf(args[1]) }),
  matches_string: matches,
  contains_string: ({ target, args }) => ({ cost: times(traverse(sizeOf(target)), traverse(sizeOf(args[0]))) }),
  ...every(['add_string', 'add_bytes'], joinTexts),
  add_list: ({ args }) => ({ cost: fixed(1), size: add(sizeOf(args[0]), sizeOf(args[1])) }),
  ...every(['less_string', 'greater_string', 'less_equals_string', 'greater_equals_string'], comparison),
  ...every(['less_bytes', 'greater_bytes', 'less_equals_bytes', 'greater_equals_bytes'], comparison),
  ...every(['equals', 'not_equals'], comparison),
}

function every(names: readonly string[], estimator: CallEstimator): Record<string, CallEstimator> {
  return Object.fromEntries(names.map((name) => [name, estimator]))
}

const lookUp = (table: Readonly<Record<string, CallEstimator>>, key: string): CallEstimator | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined

export function callEstimate(call: EstimatedCall): Estimate {
  const { overload, name, costs, args } = call
  const all = costs.reduce(add, fixed(0))
  if (overload === 'logical_and' || overload === 'logical_or') return { cost: { min: costs[0]!.min, max: all.max } }
  if (overload === 'conditional') {
    const size = union(sizeOf(args[1]), sizeOf(args[2]))
    return { cost: add(costs[0]!, union(costs[1]!, costs[2]!)), size }
  }
  const own = /_sort(?:ByAssociatedKeys)?$/.test(overload)
    ? sortEstimate(overload.endsWith('Keys') ? args[0] : call.target, overload)
    : (lookUp(byExtension, overload) ?? lookUp(byName, name))?.(call)
  const found = own ?? lookUp(byOverload, overload)?.(call) ?? { cost: fixed(1) }
  return { cost: add(found.cost, all), size: found.size }
}
