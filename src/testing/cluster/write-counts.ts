/**
 * Counts the writes of each object while the time of the cluster stands still. Time passes only when nothing more happens, so operators that answer each
 * other's writes without end would keep a wait from reaching its limit.
 */
import { KopfError } from '../../errors.ts'
import type { TransportRequest } from '../../util/transport.ts'

/** More writes of one object without any time between them than handlers that end can need. */
const maxWrites = 2000

/** The failure of a test that lets time pass while operators write an object without end. */
export class EndlessWrites extends KopfError {
  /** The limit that the test has reached, for the message of a wait. */
  readonly limit: string

  constructor(path: string) {
    const limit = `${maxWrites} writes of ${path} while no time passed (handlers react to their own writes, or to each other's)`
    super('KOPF_CLUSTER_WAIT', `Cannot let time pass, after ${limit}`)
    this.limit = limit
  }
}

const writing = new Set(['PUT', 'PATCH', 'DELETE'])

export class WriteCounts {
  readonly #counts = new Map<string, number>()
  #atMs = 0
  #endless: string | undefined

  /** The path of an object that was written too often; undefined if there is none. */
  get endless(): string | undefined {
    return this.#endless
  }

  record({ method, path }: Pick<TransportRequest, 'method' | 'path'>, nowMs: number): void {
    if (nowMs !== this.#atMs) this.reset()
    this.#atMs = nowMs
    if (!writing.has(method)) return
    const [object = path] = path.split('?')
    const count = (this.#counts.get(object) ?? 0) + 1
    this.#counts.set(object, count)
    if (count > maxWrites) this.#endless ??= object
  }

  reset(): void {
    this.#counts.clear()
    this.#endless = undefined
  }
}
