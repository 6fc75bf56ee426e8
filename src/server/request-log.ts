/** Records served requests: counts by verb and resource, and the last requests in full. */
import type { Verb } from './request.ts'

/** A served request. */
export interface RequestRecord {
  /** The API verb; `other` if the path is not a resource. */
  readonly verb: Verb | 'other'
  /** The HTTP method. */
  readonly method: string
  /** The path with its query. Paths and user agents longer than 1,024 characters are cut. */
  readonly path: string
  /** The resource with its group: `gadgets.example.com` or `pods`; '' if the path is not a resource. */
  readonly resource: string
  /** The subresource, for example `status`; '' for the object itself. */
  readonly subresource: string
  /** The namespace; '' for cluster-scoped requests and requests across namespaces. */
  readonly namespace: string
  /** The name of the object; '' for requests to a collection. */
  readonly name: string
  /** The HTTP status; 0 if no response was sent, because of a fault or because the client disconnected. */
  readonly status: number
  /** The user name, after impersonation. */
  readonly user: string
  /** The `user-agent` header; '' if there was none. */
  readonly userAgent: string
  /** The arrival time in milliseconds since the epoch. */
  readonly time: number
}

/** Selects records: all given fields must be equal. */
export type RequestFilter = Partial<RequestRecord>

/** Enough for tests; counts include all requests. */
const maxRecords = 10_000

/** Maximum number of counters, since paths come from clients. Beyond it, new paths are counted together. */
const maxCounts = 10_000

/** Clients may send paths and user agents of up to 16 KB each; ten thousand such records would take 300 MB. */
const maxLength = 1024

function bounded(record: RequestRecord): RequestRecord {
  const { path, userAgent } = record
  if (path.length <= maxLength && userAgent.length <= maxLength) return record
  return { ...record, path: shorten(path), userAgent: shorten(userAgent) }
}

function shorten(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`
}

/** The requests that a server has served: counts of all, and the last 10,000 in full. */
export class RequestLog {
  #records: RequestRecord[] = []

  /** By verb and resource: `patch gadgets.example.com` or `patch gadgets.example.com/status`. */
  #counts = new Map<string, number>()

  /** @internal */
  add(record: RequestRecord): void {
    const subject = record.subresource === '' ? record.resource : `${record.resource}/${record.subresource}`
    const named = `${record.verb} ${shorten(subject || record.path.split('?')[0]!)}`
    const key = this.#counts.size < maxCounts || this.#counts.has(named) ? named : 'other'
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    this.#records.push(bounded(record))
    if (this.#records.length > 2 * maxRecords) this.#records = this.#records.slice(-maxRecords)
  }

  /** Returns the last requests, oldest first, that match the filter. Without a filter, all of them. */
  last(filter: RequestFilter = {}): readonly RequestRecord[] {
    const wanted = Object.entries(filter) as Array<[keyof RequestRecord, unknown]>
    return this.#records.slice(-maxRecords).filter((record) => wanted.every(([key, value]) => record[key] === value))
  }

  /** The number of requests by verb and resource, for example `patch gadgets.example.com/status`, since the start or the last `clear`. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }

  /** Removes all records and counts. */
  clear(): void {
    this.#records = []
    this.#counts.clear()
  }
}
