/** The operators of CEL, and `size`. Logical operators are evaluated in logic.ts, since they do not evaluate all operands. */
import { compare, isEqual } from '../equality.ts'
import { CelFailure, fail, type Meter, noSuchOverload } from '../failures.ts'
import { global, type Implementation, type Library, member, type Overload } from '../functions.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  param,
  stringType,
  timestampType,
  uintType,
} from '../types.ts'
import { CelDuration, CelList, CelMap, type CelValue, Timestamp, Uint } from '../values.ts'

const a = param('A')
const b = param('B')
const listOfA = listOf(a)
const mapOfAB = mapOf(a, b)

export const minInt: bigint = -(2n ** 63n)
export const maxInt: bigint = 2n ** 63n - 1n
export const maxUint: bigint = 2n ** 64n - 1n
/** Years 1 to 9999. */
const minTime = -62_135_596_800n * 1_000_000_000n
const maxTime = 253_402_300_800n * 1_000_000_000n - 1n

const int = (value: bigint): bigint => (value < minInt || value > maxInt ? fail('integer overflow') : value)
const uint = (value: bigint): Uint =>
  value < 0n || value > maxUint ? fail('unsigned integer overflow') : new Uint(value)
const duration = (nanos: bigint): CelDuration =>
  nanos < minInt || nanos > maxInt ? fail('integer overflow') : new CelDuration(nanos)
export const timestamp = (nanos: bigint): Timestamp =>
  nanos < minTime || nanos > maxTime ? fail('timestamp overflow') : new Timestamp(nanos)

type Binary<T> = (left: T, right: T) => CelValue

const onInts = (id: string, run: Binary<bigint>): Overload =>
  global(`${id}_int64`, [intType, intType], intType, ([left, right]) => run(left as bigint, right as bigint))
const onUints = (id: string, run: Binary<bigint>): Overload =>
  global(`${id}_uint64`, [uintType, uintType], uintType, ([left, right]) =>
    run((left as Uint).value, (right as Uint).value),
  )
const onDoubles = (id: string, run: Binary<number>): Overload =>
  global(`${id}_double`, [doubleType, doubleType], doubleType, ([left, right]) => run(left as number, right as number))

interface HasNanos {
  readonly nanos: bigint
}
const onTimes = (id: string, types: readonly [CelType, CelType], result: CelType, run: Binary<bigint>): Overload =>
  global(id, types, result, ([left, right]) =>
    run((left as unknown as HasNanos).nanos, (right as unknown as HasNanos).nanos),
  )

const unequalZero = (value: bigint, problem: string): bigint => (value === 0n ? fail(problem) : value)

function concatBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
  const joined = new Uint8Array(left.length + right.length)
  joined.set(left)
  joined.set(right, left.length)
  return joined
}

const arithmetic: Library = {
  '_+_': [
    global('add_bytes', [bytesType, bytesType], bytesType, ([left, right], meter) => {
      meter.work(((left as Uint8Array).length + (right as Uint8Array).length) / 50)
      return concatBytes(left as Uint8Array, right as Uint8Array)
    }),
    onDoubles('add', (left, right) => left + right),
    onTimes('add_duration_duration', [durationType, durationType], durationType, (left, right) =>
      duration(left + right),
    ),
    onTimes('add_duration_timestamp', [durationType, timestampType], timestampType, (left, right) =>
      timestamp(left + right),
    ),
    onTimes('add_timestamp_duration', [timestampType, durationType], timestampType, (left, right) =>
      timestamp(left + right),
    ),
    onInts('add', (left, right) => int(left + right)),
    global('add_list', [listOfA, listOfA], listOfA, ([left, right]) => (left as CelList).add(right as CelList)),
    global('add_string', [stringType, stringType], stringType, addTexts),
    onUints('add', (left, right) => uint(left + right)),
  ],
  '_/_': [
    onDoubles('divide', (left, right) => left / right),
    onInts('divide', (left, right) => int(left / unequalZero(right, 'division by zero'))),
    onUints('divide', (left, right) => uint(left / unequalZero(right, 'division by zero'))),
  ],
  '_%_': [
    onInts('modulo', (left, right) => int(left % unequalZero(right, 'modulus by zero'))),
    onUints('modulo', (left, right) => uint(left % unequalZero(right, 'modulus by zero'))),
  ],
  '_*_': [
    onDoubles('multiply', (left, right) => left * right),
    onInts('multiply', (left, right) => int(left * right)),
    onUints('multiply', (left, right) => uint(left * right)),
  ],
  '-_': [
    global('negate_double', [doubleType], doubleType, ([value]) => -(value as number)),
    global('negate_int64', [intType], intType, ([value]) => int(-(value as bigint))),
  ],
  '_-_': [
    onDoubles('subtract', (left, right) => left - right),
    onTimes('subtract_duration_duration', [durationType, durationType], durationType, (left, right) =>
      duration(left - right),
    ),
    onInts('subtract', (left, right) => int(left - right)),
    onTimes('subtract_timestamp_duration', [timestampType, durationType], timestampType, (left, right) =>
      timestamp(left - right),
    ),
    onTimes('subtract_timestamp_timestamp', [timestampType, timestampType], durationType, (left, right) =>
      duration(left - right),
    ),
    onUints('subtract', (left, right) => uint(left - right)),
  ],
}

/** Charged before the concatenation: repeated doubling grows a string faster than any other operation. */
function addTexts([left, right]: readonly CelValue[], meter: Meter): string {
  meter.work(((left as string).length + (right as string).length) / 50)
  return (left as string) + (right as string)
}

/** In cel-go's order, which determines the overloads found for `dyn` operands. */
const ordered: ReadonlyArray<readonly [suffix: string, left: CelType, right: CelType]> = [
  ['bool', boolType, boolType],
  ['int64', intType, intType],
  ['int64_double', intType, doubleType],
  ['int64_uint64', intType, uintType],
  ['uint64', uintType, uintType],
  ['uint64_double', uintType, doubleType],
  ['uint64_int64', uintType, intType],
  ['double', doubleType, doubleType],
  ['double_int64', doubleType, intType],
  ['double_uint64', doubleType, uintType],
  ['string', stringType, stringType],
  ['bytes', bytesType, bytesType],
  ['timestamp', timestampType, timestampType],
  ['duration', durationType, durationType],
]

const orderings = (id: string, run: (order: number) => boolean): Overload[] =>
  ordered.map(([suffix, left, right]) =>
    global(`${id}_${suffix}`, [left, right], boolType, ([one, other]) => run(compare(one!, other!))),
  )

/** True if the list contains the value. A comparison error is thrown only if no element is equal. */
export function listHas(list: CelList, value: CelValue, meter: Meter): boolean {
  let failure: CelFailure | undefined
  for (const item of list.toArray()) {
    try {
      if (isEqual(item, value, meter)) return true
    } catch (error) {
      if (!(error instanceof CelFailure)) throw error
      failure ??= error
    }
  }
  if (failure) throw failure
  return false
}

/** Operators that plan.ts evaluates itself; declared here for the type checker. */
const planned: Implementation = noSuchOverload

const structure: Library = {
  '_?_:_': [global('conditional', [boolType, a, a], a, planned)],
  '_&&_': [global('logical_and', [boolType, boolType], boolType, planned)],
  '_||_': [global('logical_or', [boolType, boolType], boolType, planned)],
  '!_': [global('logical_not', [boolType], boolType, ([value]) => !value)],
  '@not_strictly_false': [global('not_strictly_false', [boolType], boolType, planned)],
  '_==_': [global('equals', [a, a], boolType, ([left, right], meter) => isEqual(left!, right!, meter))],
  '_!=_': [global('not_equals', [a, a], boolType, ([left, right], meter) => !isEqual(left!, right!, meter))],
  '_<_': orderings('less', (order) => order < 0),
  '_<=_': orderings('less_equals', (order) => order <= 0),
  '_>_': orderings('greater', (order) => order > 0),
  '_>=_': orderings('greater_equals', (order) => order >= 0),
  '_[_]': [
    global('index_list', [listOfA, intType], a, planned),
    global('index_map', [mapOfAB, a], b, planned),
    global('optional_list_index_int', [optionalOf(listOfA), intType], optionalOf(a), planned),
    global('optional_map_index_value', [optionalOf(mapOfAB), a], optionalOf(b), planned),
  ],
  '_[?_]': [
    global('list_optindex_optional_int', [listOfA, intType], optionalOf(a), planned),
    global('optional_list_optindex_optional_int', [optionalOf(listOfA), intType], optionalOf(a), planned),
    global('map_optindex_optional_value', [mapOfAB, a], optionalOf(b), planned),
    global('optional_map_optindex_optional_value', [optionalOf(mapOfAB), a], optionalOf(b), planned),
  ],
  '@in': [
    global('in_list', [a, listOfA], boolType, ([value, list], meter) => listHas(list as CelList, value!, meter)),
    global('in_map', [a, mapOfAB], boolType, ([key, map]) => (map as CelMap).find(key!) !== undefined),
  ],
}

const sizes: ReadonlyArray<readonly [name: string, type: CelType]> = [
  ['bytes', bytesType],
  ['list', listOfA],
  ['map', mapOfAB],
  ['string', stringType],
]

function sizeOf(value: CelValue, meter: Meter): number {
  if (typeof value === 'string') return meter.sizeOf(value)
  if (value instanceof Uint8Array) return value.length
  return value instanceof CelList || value instanceof CelMap ? value.size : noSuchOverload()
}

const size: Implementation = ([value], meter) => BigInt(sizeOf(value!, meter))

export const operators: Library = {
  ...arithmetic,
  ...structure,
  size: sizes.flatMap(([name, type]) => [
    global(`size_${name}`, [type], intType, size),
    member(`${name}_size`, [type], intType, size),
  ]),
}
