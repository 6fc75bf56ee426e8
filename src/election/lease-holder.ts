/**
 * Our own writes to the Lease, and until when they make us the leader. The time is counted from before a write is sent, by the
 * clock that nobody sets: whoever sees it begins to count later, and counts for longer.
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

export type ReadBack =
  | { readonly type: 'ours'; readonly isNews: boolean }
  | { readonly type: 'taken'; readonly holder: string }

interface RenewAttempt {
  readonly record: LeaseRecord
  readonly sentMs: number
}

/** More than can be under way at once; what is older has been answered by now, or never will be. */
const maxAttempts = 8

export class LeaseHolder {
  readonly #lease: LeaseObject
  readonly #options: LeaseHolderOptions
  /** The last that was answered, and those after it whose answers never came: each may be what is there now. */
  #attempts: readonly RenewAttempt[] = []
  #known: KubeObject | undefined
  #record: LeaseRecord | undefined
  #leadsUntilMs: number | undefined

  constructor(lease: LeaseObject, options: LeaseHolderOptions) {
    this.#lease = lease
    this.#options = options
  }

  /** By the monotonic clock; undefined before we have ever led, and in the past for good once that is over. */
  get leadsUntilMs(): number | undefined {
    return this.#leadsUntilMs
  }

  get attempts(): readonly LeaseRecord[] {
    return this.#attempts.map(({ record }) => record)
  }

  /** Of the Lease as we wrote it last. */
  get version(): string | undefined {
    return this.#known?.metadata.resourceVersion
  }

  /** Over what was seen; undefined where it is to be made. Leads when it resolves. */
  async acquire(seen: KubeObject | undefined, transitions: number, signal: AbortSignal): Promise<void> {
    const acquireTime = this.#now()
    const { identity: holder, leaseDurationMs: durationMs } = this.#options
    this.#known = seen
    await this.#lead({ holder, durationMs, acquireTime, renewTime: acquireTime, transitions }, signal)
  }

  renew(signal: AbortSignal): Promise<void> {
    return this.#lead({ ...this.#record!, renewTime: this.#now() }, signal)
  }

  /** After we were outrun: what is there now. Where it is still our own word, or nothing, the next write is over that. */
  async recall(signal: AbortSignal): Promise<ReadBack> {
    const there = await this.#lease.read(this.#limitMs(), signal)
    const record = there && readRecord(there)
    const ours = record && this.#attempts.find((one) => isSameRecord(one.record, record))
    if (record !== undefined && ours === undefined) return { type: 'taken', holder: record.holder }
    // Whether we got the answer or not: since it was sent, others have it before them.
    if (ours !== undefined) this.#prolong(ours)
    const isNews = there?.metadata.resourceVersion !== this.version
    this.#known = there
    return { type: 'ours', isNews }
  }

  /** As client-go does it: free for everybody at once, and nobody has to believe it for longer than a second. */
  async release(signal: AbortSignal): Promise<void> {
    const time = this.#now()
    const record = { ...this.#record!, holder: '', durationMs: 1000, acquireTime: time, renewTime: time }
    await this.#write(record, signal)
  }

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
    const limitMs = this.#limitMs()
    this.#known = await (this.#known === undefined
      ? this.#lease.create(record, limitMs, signal)
      : this.#lease.replace(this.#known, record, limitMs, signal))
    return attempt
  }

  /** Only for one who leads: what is over does not begin anew. */
  #prolong({ sentMs }: RenewAttempt): void {
    const { clock, renewDeadlineMs } = this.#options
    if (this.#leadsUntilMs === undefined || monotonicNow(clock) >= this.#leadsUntilMs) return
    this.#leadsUntilMs = Math.max(this.#leadsUntilMs, sentMs + renewDeadlineMs)
  }

  /** There is time for a second attempt after one that hangs, and none goes on when it is too late. */
  #limitMs(): number {
    const { clock, renewDeadlineMs } = this.#options
    const leftMs = (this.#leadsUntilMs ?? -Infinity) - monotonicNow(clock)
    return leftMs > 0 ? Math.min(renewDeadlineMs / 2, leftMs) : renewDeadlineMs / 2
  }

  #now(): string {
    return toMicroTime(this.#options.clock.now())
  }
}
