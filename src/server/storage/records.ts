/**
 * Changes as lines of text, and back: `17 put configmaps {"apiVersion":…}`, `18 exact widgets.example.com {…}` where there are
 * integers that a double cannot hold, `19 del configmaps default/orders`. Line breaks are escaped in the text of an object.
 */
import { type Change, restoreStored, type Stored } from './stored.ts'

export interface StoredRecord {
  readonly version: number
  readonly verb: 'put' | 'exact' | 'del'
  readonly collection: string
  /** The whole object, or the key of the one that is gone. */
  readonly text: string
}

export function toRecord({ type, current }: Change): string {
  return type === 'DELETED' ? `${current.version} del ${current.collection} ${current.key}` : toStateRecord(current)
}

export function toStateRecord({ version, collection, json, isExact }: Stored): string {
  return `${version} ${isExact ? 'exact' : 'put'} ${collection} ${json}`
}

/** No name of a resource is longer than this, with what is before and behind it. */
const longestHead = 600

/** Undefined where the line is no record. */
export function parseRecord(line: Buffer): StoredRecord | undefined {
  const match = /^(\d{1,16}) (put|exact|del) (\S+) /.exec(line.toString('latin1', 0, longestHead))
  if (match === null) return undefined
  const [head, version, verb, collection] = match
  return {
    version: Number(version),
    verb: verb as StoredRecord['verb'],
    collection: collection!,
    // Read on its own: a slice of the line would keep the line in memory.
    text: line.toString('utf8', head.length),
  }
}

/** The state that was put; undefined where the text is no object. `collection` is the name of the record's, for all one string. */
export function toState({ text, version, verb }: StoredRecord, collection: string): Stored | undefined {
  try {
    return restoreStored(collection, text, version, verb === 'exact')
  } catch {
    return undefined
  }
}
