/** List functions: those of Kubernetes (`sum`, `min`, `isSorted`…), cel-go's extensions, sets and optionals. */
import { compare, isEqual } from '../equality.ts'
import { fail, type Meter } from '../failures.ts'
import { global, type Implementation, type Library, member, type Overload } from '../functions.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  param,
  stringType,
  timestampType,
  uintType,
} from '../types.ts'
import {
  ArrayList,
  CelDuration,
  CelList,
  CelMap,
  type CelValue,
  type HashMap,
  Optional,
  typeNameOf,
  Uint,
} from '../values.ts'
import { listHas, operators } from './operators.ts'

const t = param('T')
const v = param('V')
const listOfT = listOf(t)

const comparable: ReadonlyArray<readonly [name: string, type: CelType]> = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
]
const zeros: Readonly<Record<string, CelValue>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new CelDuration(0n),
}

const items = (list: CelValue | undefined): readonly CelValue[] => (list as CelList).toArray()

/** The `+` operator of CEL, overflow errors included. */
function add(left: CelValue, right: CelValue, meter: Meter): CelValue {
  const name = typeNameOf(left)
  const overload = operators['_+_']!.find(
    ({ params }) => params[0]!.name === name && params[1]!.name === typeNameOf(right),
  )
  return overload ? overload.run([left, right], meter) : fail('no such overload')
}

const isSorted: Implementation = ([list]) =>
  items(list).every((item, index, all) => index === 0 || compare(all[index - 1]!, item) <= 0)

const extreme =
  (name: 'min' | 'max'): Implementation =>
  ([list]) => {
    const all = items(list)
    if (all.length === 0) return fail(`${name} called on empty list`)
    return all.reduce((best, item) =>
      (name === 'min' ? compare(best, item) > 0 : compare(best, item) < 0) ? item : best,
    )
  }

function position(list: CelList, value: CelValue, isLast: boolean, meter: Meter): bigint {
  const all = list.toArray()
  for (let step = 0; step < all.length; step += 1) {
    const index = isLast ? all.length - 1 - step : step
    if (isEqual(all[index]!, value, meter)) return BigInt(index)
  }
  return -1n
}

const perType = (make: (name: string, type: CelType) => Overload): Overload[] =>
  comparable.map(([name, type]) => make(name, type))

const kubernetesLists: Library = {
  isSorted: perType((name, type) => member(`list_${name}_is_sorted_bool`, [listOf(type)], boolType, isSorted)),
  min: perType((name, type) => member(`list_${name}_min_${name}`, [listOf(type)], type, extreme('min'))),
  max: perType((name, type) => member(`list_${name}_max_${name}`, [listOf(type)], type, extreme('max'))),
  sum: comparable
    .filter(([name]) => name in zeros)
    .map(([name, type]) =>
      member(`list_${name}_sum_${name}`, [listOf(type)], type, ([list], meter) =>
        items(list).reduce((sum, item) => add(sum, item, meter), zeros[name]!),
      ),
    ),
  indexOf: [
    member('list_a_index_of_int', [listOf(param('A')), param('A')], intType, ([list, value], meter) =>
      position(list as CelList, value!, false, meter),
    ),
  ],
  lastIndexOf: [
    member('list_a_last_index_of_int', [listOf(param('A')), param('A')], intType, ([list, value], meter) =>
      position(list as CelList, value!, true, meter),
    ),
  ],
}

function slice([list, from, to]: readonly CelValue[]): ArrayList {
  const [start, end, size] = [from as bigint, to as bigint, (list as CelList).size]
  const attempt = `cannot slice(${start}, ${end})`
  if (start < 0n || end < 0n) return fail(`${attempt}, negative indexes not supported`)
  if (start > end) return fail(`${attempt}, start index must be less than or equal to end index`)
  if (end > BigInt(size)) return fail(`${attempt}, list is length ${size}`)
  return new ArrayList(items(list).slice(Number(start), Number(end)))
}

function flatten([list, depth = 1n]: readonly CelValue[], meter: Meter): ArrayList {
  if ((depth as bigint) < 0n) return fail('level must be non-negative')
  const flat: CelValue[] = []
  const visit = (value: CelList, level: bigint): void => {
    meter.work(value.size + 1)
    for (const item of value.toArray()) {
      if (item instanceof CelList && level > 0n) visit(item, level - 1n)
      else flat.push(item)
    }
  }
  visit(list as CelList, depth as bigint)
  return new ArrayList(flat)
}

function sortByKeys([list, keys]: readonly CelValue[], meter: Meter): CelList {
  const [values, by] = [items(list), items(keys)]
  if (by.length === 0) return list as CelList
  const type = typeNameOf(by[0]!)
  if (by.some((key) => typeNameOf(key) !== type)) return fail('list elements must have the same type')
  meter.work(by.length * 20)
  const order = values.map((_, index) => index).sort((left, right) => compare(by[left]!, by[right]!))
  return new ArrayList(order.map((index) => values[index]!))
}

/** Removes duplicates. Quadratic, like its cost, which is charged in advance. */
function distinct([list]: readonly CelValue[], meter: Meter): ArrayList {
  const found: CelValue[] = []
  for (const item of items(list)) if (!found.some((one) => isEqual(item, one, meter))) found.push(item)
  return new ArrayList(found)
}

function range([count]: readonly CelValue[], meter: Meter): ArrayList {
  const size = Number((count as bigint) < 0n ? 0n : (count as bigint))
  meter.work(size * 30)
  return new ArrayList(Array.from({ length: size }, (_, index) => BigInt(index)))
}

/** `sort` and `sortBy` have one overload per element type. */
const extendedLists: Library = {
  slice: [member('list_slice', [listOfT, intType, intType], listOfT, slice)],
  flatten: [
    member('list_flatten', [listOf(listOfT)], listOfT, flatten),
    member('list_flatten_int', [listOf(dynType), intType], listOf(dynType), flatten),
  ],
  sort: comparable.map(([, type]) =>
    member(`list_${type.name}_sort`, [listOf(type)], listOf(type), ([list], meter) =>
      sortByKeys([list!, list!], meter),
    ),
  ),
  '@sortByAssociatedKeys': comparable.map(([, type]) =>
    member(`list_${type.name}_sortByAssociatedKeys`, [listOfT, listOf(type)], listOfT, sortByKeys),
  ),
  'lists.range': [global('lists_range', [intType], listOf(intType), range)],
  reverse: [member('list_reverse', [listOfT], listOfT, ([list]) => new ArrayList([...items(list)].reverse()))],
  distinct: [member('list_distinct', [listOfT], listOfT, distinct)],
}

const hasAll = (list: CelValue, part: CelValue, meter: Meter): boolean =>
  items(part).every((item) => listHas(list as CelList, item, meter))

const sets: Library = {
  'sets.contains': [
    global('list_sets_contains_list', [listOfT, listOfT], boolType, ([list, part], meter) =>
      hasAll(list!, part!, meter),
    ),
  ],
  'sets.equivalent': [
    global('list_sets_equivalent_list', [listOfT, listOfT], boolType, ([left, right], meter) => {
      return hasAll(left!, right!, meter) && hasAll(right!, left!, meter)
    }),
  ],
  'sets.intersects': [
    global('list_sets_intersects_list', [listOfT, listOfT], boolType, ([left, right], meter) => {
      return items(left).some((item) => listHas(right as CelList, item, meter))
    }),
  ],
}

const optionalV = optionalOf(v)
const optionalAt = (list: CelValue | undefined, index: number): Optional => new Optional(items(list).at(index))

function isZero(value: CelValue): boolean {
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof CelDuration) return value.nanos === 0n
  if (value instanceof Optional) return value.value === undefined
  return value === null || value === false || value === 0n || value === 0 || value === ''
}

const unwrap: Implementation = ([list]) =>
  new ArrayList(
    items(list).flatMap((item) => ((item as Optional).value === undefined ? [] : [(item as Optional).value!])),
  )

const optionals: Library = {
  'optional.of': [global('optional_of', [v], optionalV, ([value]) => new Optional(value))],
  'optional.ofNonZeroValue': [
    global('optional_ofNonZeroValue', [v], optionalV, ([value]) =>
      isZero(value!) ? Optional.none : new Optional(value),
    ),
  ],
  'optional.none': [global('optional_none', [], optionalV, () => Optional.none)],
  value: [
    member(
      'optional_value',
      [optionalV],
      v,
      ([optional]) => (optional as Optional).value ?? noValue(optional as Optional),
    ),
  ],
  hasValue: [
    member('optional_hasValue', [optionalV], boolType, ([optional]) => (optional as Optional).value !== undefined),
  ],
  // Evaluated by plan.ts, which skips the second operand if the first has a value.
  or: [member('optional_or_optional', [optionalV, optionalV], optionalV, ([optional]) => optional!)],
  orValue: [member('optional_orValue_value', [optionalV, v], v, ([optional]) => optional!)],
  first: [member('list_first', [listOf(v)], optionalV, ([list]) => optionalAt(list, 0))],
  last: [member('list_last', [listOf(v)], optionalV, ([list]) => optionalAt(list, -1))],
  'optional.unwrap': [global('optional_unwrap', [listOf(optionalV)], listOf(v), unwrap)],
  unwrapOpt: [member('optional_unwrapOpt', [listOf(optionalV)], listOf(v), unwrap)],
}

function noValue(optional: Optional): CelValue {
  return optional.value === null ? null : fail('optional.none() dereference')
}

/** Called by comprehensions that build maps, on the map under construction. A duplicate key is an error. */
function insert(map: CelValue | undefined, key: CelValue, value: CelValue): void {
  if (!(map as HashMap).set(key, value)) fail(`insert failed: key ${String(key)} already exists`)
}

const kv = mapOf(param('K'), v)
const mapInsertions: Library = {
  'cel.@mapInsert': [
    global('@mapInsert_map_key_value', [kv, param('K'), v], kv, ([map, key, value]) => {
      insert(map, key!, value!)
      return map!
    }),
    global('@mapInsert_map_map', [kv, kv], kv, ([map, added]) => {
      for (const key of (added as CelMap).keys()) insert(map, key, (added as CelMap).find(key)!)
      return map!
    }),
  ],
}

export const lists: readonly Library[] = [kubernetesLists, extendedLists, sets, optionals, mapInsertions]
