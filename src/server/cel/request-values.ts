/** Values of match conditions: objects of any kind without a schema, and the request with typed fields. */
import { getOwn } from '../../util/json/json.ts'
import { noSuchOverload } from './failures.ts'
import { boolType, type CelType, dynType, listOf, mapOf, stringType, struct } from './types.ts'
import { CelList, CelMap, type CelValue } from './values.ts'

const texts = (...names: string[]): Array<[string, CelType]> => names.map((name) => [name, stringType])
const kind = struct('kubernetes.GroupVersionKind', new Map(texts('group', 'version', 'kind')))
const resource = struct('kubernetes.GroupVersionResource', new Map(texts('group', 'version', 'resource')))
const userInfo = struct(
  'kubernetes.UserInfo',
  new Map([
    ...texts('username', 'uid'),
    ['groups', listOf(stringType)],
    ['extra', mapOf(stringType, listOf(stringType))],
  ]),
)

export const requestType: CelType = struct(
  'kubernetes.AdmissionRequest',
  new Map([
    ...texts('subResource', 'requestSubResource', 'name', 'namespace', 'operation'),
    ['kind', kind],
    ['requestKind', kind],
    ['resource', resource],
    ['requestResource', resource],
    ['userInfo', userInfo],
    ['dryRun', boolType],
    ['options', dynType],
  ]),
)

/** Converts any JSON; undefined becomes null. */
export function toDynamic(value: unknown): CelValue {
  if (value === undefined || value === null) return null
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return new DynamicList(value)
  if (typeof value === 'object') return new DynamicMap(value as Readonly<Record<string, unknown>>)
  return value as string | boolean | bigint
}

/** Converts items on access, as DynamicMap does its fields, since a client's list can have any depth. */
class DynamicList extends CelList {
  readonly #items: readonly unknown[]

  constructor(items: readonly unknown[]) {
    super()
    this.#items = items
  }

  get size(): number {
    return this.#items.length
  }

  at(index: number): CelValue {
    return toDynamic(this.#items[index])
  }

  toArray(): readonly CelValue[] {
    return this.#items.map(toDynamic)
  }
}

class DynamicMap extends CelMap {
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(fields: Readonly<Record<string, unknown>>) {
    super()
    this.#fields = fields
  }

  get size(): number {
    return Object.keys(this.#fields).length
  }

  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return noSuchOverload()
    const value = getOwn(this.#fields, key)
    return value === undefined ? undefined : toDynamic(value)
  }

  keys(): readonly CelValue[] {
    return Object.keys(this.#fields)
  }
}
