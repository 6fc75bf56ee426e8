/** A record of the requests that were served: by verb and resource for counting, the last ones in full for looking closer. */
import type { Verb } from './request.ts'

/** One request that was served. */
export interface RequestRecord {
  readonly verb: Verb | 'other'
  readonly method: string
  /** With its query; what is longer than 1,024 characters is cut off, as in `userAgent`. */
  readonly path: string
  /** `gadgets.example.com` or `pods`; '' for what is not a resource. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** 0 where there was no answer: a fault of the plan, or the client went away. */
  readonly status: number
  readonly user: string
  readonly userAgent: string
  /** When it came, in milliseconds since the epoch. */
  readonly time: number
}

/** Which records are meant: those that are equal in all it names. */
export type RequestFilter = Partial<RequestRecord>

/** Enough for a test's closer look; counts are kept of all. */
const keptRecords = 10_000

/** Paths come from clients; beyond so many, what is new is counted together. */
const keptCounts = 10_000

/** Paths and user agents are as long as clients make them, up to 16 KB each; ten thousand records of that would be 300 MB. */
const maxLength = 1024

function bounded(record: RequestRecord): RequestRecord {
  const { path, userAgent } = record
  if (path.length <= maxLength && userAgent.length <= maxLength) return record
  return { ...record, path: shorten(path), userAgent: shorten(userAgent) }
}

function shorten(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}

/** What was asked of the server: counts of everything, and the last requests in full. */
export class RequestLog {
  #records: RequestRecord[] = []

  /** By verb and resource, as `patch gadgets.example.com` or `patch gadgets.example.com/status`. */
  #counts = new Map<string, number>()

  /** @internal */
  add(record: RequestRecord): void {
    const subject = record.subresource === '' ? record.resource : `${record.resource}/${record.subresource}`
    const named = `${record.verb} ${shorten(subject || record.path.split('?')[0]!)}`
    const key = this.#counts.size < keptCounts || this.#counts.has(named) ? named : 'other'
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    this.#records.push(bounded(record))
    if (this.#records.length > 2 * keptRecords) this.#records = this.#records.slice(-keptRecords)
  }

  /** The last requests, oldest first, that are as the filter says in all it names. */
  last(filter: RequestFilter = {}): readonly RequestRecord[] {
    const wanted = Object.entries(filter) as Array<[keyof RequestRecord, unknown]>
    return this.#records.slice(-keptRecords).filter((record) => wanted.every(([key, value]) => record[key] === value))
  }

  /** How many there were since the beginning or the last `clear`, by verb and resource. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }

  /** Forgets all requests so far. */
  clear(): void {
    this.#records = []
    this.#counts.clear()
  }
}
