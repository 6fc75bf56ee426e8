/**
 * Finds the old value of a new one, for ratcheting: on an update, errors of unchanged values are ignored. Fields are matched by name,
 * items only in lists of type map, by their keys. Used by validate.ts.
 */
import type { Json } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { goJson } from '../../util/json/go-json.ts'
import { getOwn, isPlainObject } from '../../util/json/json.ts'
import type { SchemaNode } from './structural.ts'

export class Correlation {
  readonly #node: SchemaNode
  readonly #value: Json
  readonly #old: Json
  #isUnchanged: boolean | undefined
  /** The old items of a list of type map, by their keys. */
  #oldItems: Map<string, Json> | undefined

  constructor(node: SchemaNode, value: Json, old: Json) {
    this.#node = node
    this.#value = value
    this.#old = old
  }

  /** Undefined if the old object has no such field, or the schema does not know it. */
  field(key: string): Correlation | undefined {
    if (!isPlainObject(this.#value) || !isPlainObject(this.#old)) return undefined
    const value = getOwn(this.#value, key)
    const old = getOwn(this.#old, key)
    const node = this.#node.properties.get(key) ?? this.#node.additional?.node
    return value === undefined || old === undefined || !node ? undefined : new Correlation(node, value, old)
  }

  item(index: number): Correlation | undefined {
    const node = this.#node.items
    if (this.#node.listType !== 'map' || !node) return undefined
    if (!Array.isArray(this.#value) || !Array.isArray(this.#old)) return undefined
    const value = this.#value[index]!
    this.#oldItems ??= new Map(this.#old.map((item) => [mapKey(item, this.#node.listMapKeys), item]))
    const old = this.#oldItems.get(mapKey(value, this.#node.listMapKeys))
    return old === undefined ? undefined : new Correlation(node, value, old)
  }

  /** Called only if there is an error. An object with fields unknown to the schema counts as changed. */
  isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare()
    return this.#isUnchanged
  }

  #compare(): boolean {
    const value = this.#value
    const old = this.#old
    if (Array.isArray(value) && Array.isArray(old)) {
      if (value.length !== old.length) return false
      if (this.#node.listType !== 'map') return isDeepEqual(value, old)
      return value.every((_, index) => this.item(index)?.isUnchanged() ?? false)
    }
    if (isPlainObject(value) && isPlainObject(old)) {
      const keys = Object.keys(value)
      if (keys.length !== Object.keys(old).length) return false
      return keys.every((key) => this.field(key)?.isUnchanged() ?? false)
    }
    return value === old
  }
}

function mapKey(item: Json, keys: readonly string[]): string {
  return goJson(isPlainObject(item) ? keys.map((key) => getOwn(item, key)) : item)
}
