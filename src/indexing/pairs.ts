/** What an indexing function has returned, as keys and values. Pure; called by indexer.ts. The types are in operator.ts. */
import { hasPlainPrototype } from '../util/json/json.ts'

type IndexPair = readonly [key: unknown, value: unknown]

/**
 * Undefined where the function has nothing to say, and what is there stays. Maps, pairs and plain objects are keys with
 * values, also none at all; anything else is one value without a key.
 */
export function toPairs(result: unknown): readonly IndexPair[] | undefined {
  if (result === undefined || result === null) return undefined
  if (typeof result !== 'object') return [[null, result]]
  if (Symbol.iterator in result) return fromIterable(result as Iterable<unknown>)
  if (hasPlainPrototype(result) && !isKubeObject(result)) return Object.entries(result)
  return [[null, result]]
}

function fromIterable(result: Iterable<unknown>): readonly IndexPair[] {
  // Those of a generator are gone with the first look.
  const items = Array.isArray(result) ? (result as readonly unknown[]) : [...result]
  const isIterator = 'next' in result
  const isMadeForPairs = Array.isArray(result) || result instanceof Map || isIterator
  if (items.every(isPair) && (items.length > 0 || isMadeForPairs)) return items
  return [[null, isIterator ? items : result]]
}

function isPair(item: unknown): item is IndexPair {
  return Array.isArray(item) && item.length === 2
}

/** An object that is indexed whole is a value, not one key for its metadata and one for its spec. */
function isKubeObject(value: object): boolean {
  const { apiVersion, kind, metadata } = value as Readonly<Record<string, unknown>>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata === 'object'
}
