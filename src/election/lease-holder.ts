/**
 * Writes this replica's records to the Lease, and knows until when they make it the leader. The renew deadline counts from before a write is
 * sent, by the monotonic clock. Candidates count from when they observe the write, and wait for the longer lease duration: two replicas never lead
 * at once. Called by elector.ts and candidate.ts.
 */
import type { KubeObject } from '../kube/objects.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { isSameRecord, type LeaseObject, type LeaseRecord, readRecord, toMicroTime } from './lease.ts'

export interface LeaseHolderOptions {
  readonly clock: Clock
  readonly identity: string
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
}

/** The Lease after a rejected write: still ours (or deleted), or taken by another holder. */
export type LeaseCheck =
  /** `isChanged`: the Lease has another resource version than the one that was written over, so that a retry can succeed. */
  { readonly type: 'ours'; readonly isChanged: boolean } | { readonly type: 'taken'; readonly holder: string }

interface RenewAttempt {
  readonly record: LeaseRecord
  readonly sentMs: number
}

/** The maximum number of remembered attempts; more than can be in flight at once. */
const maxAttempts = 8

export class LeaseHolder {
  readonly #lease: LeaseObject
  readonly #options: LeaseHolderOptions
  /** The last attempt with a response, and later ones without: the Lease may have the record of any of them. */
  #attempts: readonly RenewAttempt[] = []
  #known: KubeObject | undefined
  #record: LeaseRecord | undefined
  #leadsUntilMs: number | undefined

  constructor(lease: LeaseObject, options: LeaseHolderOptions) {
    this.#lease = lease
    this.#options = options
  }

  /** The end of the leadership, by the monotonic clock. Undefined before this replica has led; -Infinity after it has given up. */
  get leadsUntilMs(): number | undefined {
    return this.#leadsUntilMs
  }

  get attempts(): readonly LeaseRecord[] {
    return this.#attempts.map(({ record }) => record)
  }

  /** The resource version of the Lease as this replica has last written or read it. */
  get version(): string | undefined {
    return this.#known?.metadata.resourceVersion
  }

  /** Replaces the observed Lease; undefined: creates it. When the promise resolves, this replica leads. */
  async acquire(observed: KubeObject | undefined, transitions: number, signal: AbortSignal): Promise<void> {
    const acquireTime = this.#now()
    const { identity: holder, leaseDurationMs: durationMs } = this.#options
    this.#known = observed
    await this.#lead({ holder, durationMs, acquireTime, renewTime: acquireTime, transitions }, signal)
  }

  renew(signal: AbortSignal): Promise<void> {
    return this.#lead({ ...this.#record!, renewTime: this.#now() }, signal)
  }

  /** Reads the Lease after a rejected write. If it has our own record, or does not exist, the next write is based on this state. */
  async check(signal: AbortSignal): Promise<LeaseCheck> {
    const current = await this.#lease.read(this.#timeoutMs(), signal)
    const record = current && readRecord(current)
    const ours = record && this.#attempts.find((one) => isSameRecord(one.record, record))
    if (record !== undefined && ours === undefined) return { type: 'taken', holder: record.holder }
    // The write was stored although its response was lost, so that candidates honour it.
    if (ours !== undefined) this.#extend(ours)
    const isChanged = current?.metadata.resourceVersion !== this.version
    this.#known = current
    return { type: 'ours', isChanged }
  }

  /** Writes a record without a holder and with a duration of one second, as client-go does: any candidate can take the Lease at once. */
  async release(signal: AbortSignal): Promise<void> {
    const time = this.#now()
    const record = { ...this.#record!, holder: '', durationMs: 1000, acquireTime: time, renewTime: time }
    await this.#write(record, signal)
  }

  /** Ends the leadership of this replica for good, without a request. */
  giveUp(): void {
    this.#leadsUntilMs = -Infinity
  }

  async #lead(record: LeaseRecord, signal: AbortSignal): Promise<void> {
    this.#record = record
    const attempt = await this.#write(record, signal)
    this.#attempts = [attempt]
    this.#leadsUntilMs = attempt.sentMs + this.#options.renewDeadlineMs
  }

  async #write(record: LeaseRecord, signal: AbortSignal): Promise<RenewAttempt> {
    const attempt = { record, sentMs: monotonicNow(this.#options.clock) }
    this.#attempts = [...this.#attempts, attempt].slice(-maxAttempts)
    const timeoutMs = this.#timeoutMs()
    this.#known = await (this.#known === undefined
      ? this.#lease.create(record, timeoutMs, signal)
      : this.#lease.replace(this.#known, record, timeoutMs, signal))
    return attempt
  }

  /** Extends a leadership that has not ended yet. One that has ended does not start again. */
  #extend({ sentMs }: RenewAttempt): void {
    const { clock, renewDeadlineMs } = this.#options
    if (this.#leadsUntilMs === undefined || monotonicNow(clock) >= this.#leadsUntilMs) return
    this.#leadsUntilMs = Math.max(this.#leadsUntilMs, sentMs + renewDeadlineMs)
  }

  /** Half of the renew deadline, so that a second attempt is possible after one that hangs, and not beyond the end of the leadership. */
  #timeoutMs(): number {
    const { clock, renewDeadlineMs } = this.#options
    const leftMs = (this.#leadsUntilMs ?? -Infinity) - monotonicNow(clock)
    return leftMs > 0 ? Math.min(renewDeadlineMs / 2, leftMs) : renewDeadlineMs / 2
  }

  #now(): string {
    return toMicroTime(this.#options.clock.now())
  }
}
