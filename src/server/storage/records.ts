/**
 * Changes as lines of text and back: `17 put configmaps {"apiVersion":…}`, `18 exact widgets.example.com {…}` for integers that a
 * double cannot hold, `19 del configmaps default/orders`. Line breaks in the JSON of an object are escaped.
 */
import { restoreStored, type StoreChange, type Stored } from './stored.ts'

export interface StoredRecord {
  readonly version: number
  readonly verb: 'put' | 'exact' | 'del'
  readonly collection: string
  /** The JSON of the object, or the key of the deleted one. */
  readonly text: string
}

export function toRecord({ type, current }: StoreChange): string {
  return type === 'DELETED' ? `${current.version} del ${current.collection} ${current.key}` : toStateRecord(current)
}

export function toStateRecord({ version, collection, json, isExact }: Stored): string {
  return `${version} ${isExact ? 'exact' : 'put'} ${collection} ${json}`
}

/** Longer than any head: version, verb and resource name with their spaces. */
const maxHeadLength = 600

/** Undefined if the line is not a record. */
export function parseRecord(line: Buffer): StoredRecord | undefined {
  const match = /^(\d{1,16}) (put|exact|del) (\S+) /.exec(line.toString('latin1', 0, maxHeadLength))
  if (match === null) return undefined
  const [head, version, verb, collection] = match
  return {
    version: Number(version),
    verb: verb as StoredRecord['verb'],
    collection: collection!,
    // Decoded separately: a slice of the line would keep the whole line in memory.
    text: line.toString('utf8', head.length),
  }
}

/**
 * The state of a `put` record; undefined if the text is not an object. `collection` is the collection's own name string, shared by all
 * states.
 */
export function toState({ text, version, verb }: StoredRecord, collection: string): Stored | undefined {
  try {
    return restoreStored(collection, text, version, verb === 'exact')
  } catch {
    return undefined
  }
}
