/** Equality and ordering of values. Numbers compare by value across numeric types. */
import { fail, type Meter, noSuchOverload } from './failures.ts'
import { CelDuration, CelList, CelMap, type CelValue, Opaque, Optional, Timestamp, TypeValue, Uint } from './values.ts'

type CelNumber = bigint | number | Uint

const isNumber = (value: CelValue): value is CelNumber =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint

const plain = (value: CelNumber): bigint | number => (value instanceof Uint ? value.value : value)

/** Lists of type set and map in a schema define their own equality. */
export interface OwnEquality {
  isEqualTo(other: CelValue, meter: Meter): boolean
}

function hasOwnEquality(value: CelValue): value is CelValue & OwnEquality {
  return (value instanceof CelList || value instanceof CelMap) && 'isEqualTo' in value
}

/** Does not recurse into lists and maps, since objects in match conditions can have any depth. */
export function isEqual(left: CelValue, right: CelValue, meter: Meter): boolean {
  if (!isNested(left)) return areSinglesEqual(left, right, meter)
  const pending: CelValue[] = [left, right]
  while (pending.length > 0) {
    const other = pending.pop()!
    const one = pending.pop()!
    if (!(isNested(one) ? pushPairs(one, other, pending, meter) : areSinglesEqual(one, other, meter))) return false
  }
  return true
}

function isNested(value: CelValue): value is CelList | CelMap {
  return (value instanceof CelList || value instanceof CelMap) && !hasOwnEquality(value)
}

/** Pushes the pairs to compare onto the stack, the first pair on top. False if the sizes or keys already differ. */
function pushPairs(left: CelList | CelMap, right: CelValue, pending: CelValue[], meter: Meter): boolean {
  meter.work(1)
  if (left instanceof CelList) return right instanceof CelList && pushItems(left, right, pending)
  if (!(right instanceof CelMap) || left.size !== right.size) return false
  for (const key of left.keys().toReversed()) {
    const other = right.find(key)
    if (other === undefined) return false
    pending.push(left.find(key)!, other)
  }
  return true
}

function pushItems(left: CelList, right: CelList, pending: CelValue[]): boolean {
  if (left.size !== right.size) return false
  const [items, others] = [left.toArray(), right.toArray()]
  for (let index = items.length - 1; index >= 0; index -= 1) pending.push(items[index]!, others[index]!)
  return true
}

function areSinglesEqual(left: CelValue, right: CelValue, meter: Meter): boolean {
  meter.work(1)
  if (typeof left === 'string') {
    if (typeof right === 'string' && left.length === right.length) meter.work(left.length / 16)
    return left === right
  }
  if (isNumber(left)) {
    if (!isNumber(right)) return false
    const [one, other] = [plain(left), plain(right)]
    // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number are compared by value only so
    return one == other
  }
  if (left === null || typeof left === 'boolean') return left === right
  return hasOwnEquality(left) ? left.isEqualTo(right, meter) : areOthersEqual(left, right, meter)
}

function areOthersEqual(left: CelValue, right: CelValue, meter: Meter): boolean {
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos
  if (left instanceof CelDuration) return right instanceof CelDuration && left.nanos === right.nanos
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name
  if (left instanceof Opaque) {
    return right instanceof Opaque && left.typeName === right.typeName && left.equals(right)
  }
  if (!(left instanceof Optional) || !(right instanceof Optional)) return false
  if (left.value === undefined || right.value === undefined) return left.value === right.value
  return isEqual(left.value, right.value, meter)
}

export function areListsEqual(left: CelList, right: CelList, meter: Meter): boolean {
  if (left.size !== right.size) return false
  const others = right.toArray()
  return left.toArray().every((item, index) => isEqual(item, others[index]!, meter))
}

/** Negative, zero or positive. Values of different types cannot be ordered, except numbers. */
export function compare(left: CelValue, right: CelValue): number {
  if (isNumber(left)) return isNumber(right) ? compareNumbers(plain(left), plain(right)) : noSuchOverload()
  if (typeof left === 'string') return typeof right === 'string' ? compareTexts(left, right) : noSuchOverload()
  if (typeof left === 'boolean') return typeof right === 'boolean' ? Number(left) - Number(right) : noSuchOverload()
  if (left instanceof Uint8Array) return right instanceof Uint8Array ? Buffer.compare(left, right) : noSuchOverload()
  const isTime = left instanceof Timestamp && right instanceof Timestamp
  if (isTime || (left instanceof CelDuration && right instanceof CelDuration))
    return compareNumbers(left.nanos, right.nanos)
  return noSuchOverload()
}

function compareNumbers(left: bigint | number, right: bigint | number): number {
  if (Number.isNaN(left) || Number.isNaN(right)) return fail('NaN values cannot be ordered')
  if (left < right) return -1
  return left > right ? 1 : 0
}

/** Go compares UTF-8 bytes, which is code point order. UTF-16 order differs for surrogate pairs. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  const length = Math.min(left.length, right.length)
  let index = 0
  while (index < length && left.charCodeAt(index) === right.charCodeAt(index)) index += 1
  if (index === length) return left.length - right.length
  const [one, other] = [left.charCodeAt(index), right.charCodeAt(index)]
  const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff
  return isHigh(one) === isHigh(other) ? one - other : isHigh(one) ? 1 : -1
}
