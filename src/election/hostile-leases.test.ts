/**
 * Leases with any content that the API server accepts, and candidates with different settings that stall at any time: one candidate
 * leads within a bounded time, and never two at once.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KubeObject } from '../kube/objects.ts'
import { countTransition, isSameRecord, type LeaseRecord, readRecord, toSpec } from './lease.ts'
import { decideTakeover, type LeaseObservation, maxHonouredMs, observeLease } from './takeover-decision.ts'

const maxInt32 = 2 ** 31 - 1
const toLease = (spec: unknown) =>
  ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'x' }, spec }) as unknown as KubeObject

const anyNumber = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1, maxInt32, -maxInt32 - 1, 1e308))
const anyText = fc.oneof(fc.string(), fc.constantFrom('', 'a', '9999-12-31T23:59:59.999999Z', 'x'.repeat(1000)))
const anySpec = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      holderIdentity: fc.oneof(anyText, fc.jsonValue()),
      leaseDurationSeconds: fc.oneof(anyNumber, fc.jsonValue()),
      acquireTime: fc.oneof(anyText, fc.jsonValue()),
      renewTime: fc.oneof(anyText, fc.jsonValue()),
      leaseTransitions: fc.oneof(anyNumber, fc.jsonValue()),
      strategy: fc.jsonValue(),
      preferredHolder: anyText,
    },
    { requiredKeys: [] },
  ),
)

test('a Lease that is not renewed is taken within a bounded time, and the written Lease is valid', () => {
  fc.assert(
    fc.property(anySpec, fc.integer({ min: 1, max: 3_600_000 }), (spec, leaseDurationMs) => {
      const record = readRecord(toLease(spec))
      const observation = observeLease(undefined, record, 1000)
      const situation = { observation, attempts: [], leaseDurationMs, retryPeriodMs: 1 }
      const boundMs = Math.max(leaseDurationMs, maxHonouredMs)
      expect(decideTakeover({ ...situation, nowMs: 1000 + boundMs })).toEqual({ type: 'take' })
      const transitions = countTransition(record)
      expect(Number.isInteger(transitions) && transitions >= 1 && transitions <= maxInt32).toBe(true)
    }),
  )
})

test('a Lease that is read twice is the same record, so that its expiration does not start again', () => {
  fc.assert(
    fc.property(anySpec, (spec) => {
      const read = () => readRecord(toLease(structuredClone(spec)))
      expect(isSameRecord(read(), read())).toBe(true)
      expect(observeLease(observeLease(undefined, read(), 1000), read(), 5000).sinceMs).toBe(1000)
    }),
  )
})

interface Settings {
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

/** One candidate that follows takeover-decision.ts like candidate.ts, lease-holder.ts and elector.ts. Time passes in steps of a second. */
class Candidate {
  readonly name: string
  readonly settings: Settings
  leadsUntilMs = -Infinity
  #observation: LeaseObservation | undefined
  #renewAtMs = 0
  #record: LeaseRecord | undefined

  constructor(name: string, settings: Settings) {
    this.name = name
    this.settings = settings
  }

  act(stored: LeaseRecord, nowMs: number): LeaseRecord {
    if (this.#record !== undefined) return this.#lead(stored, nowMs)
    this.#observation = observeLease(this.#observation, stored, nowMs)
    const decision = decideTakeover({ observation: this.#observation, nowMs, attempts: [], ...this.settings })
    if (decision.type !== 'take') return stored
    const { leaseDurationMs: durationMs } = this.settings
    const time = String(nowMs)
    const transitions = countTransition(stored)
    return this.#write({ holder: this.name, durationMs, acquireTime: time, renewTime: time, transitions }, nowMs)
  }

  /** A leader that missed its deadline, or finds the record of another holder, becomes a candidate again. */
  #lead(stored: LeaseRecord, nowMs: number): LeaseRecord {
    if (nowMs >= this.leadsUntilMs || !isSameRecord(stored, this.#record!)) {
      this.leadsUntilMs = -Infinity
      this.#record = undefined
      this.#observation = undefined
      return stored
    }
    if (nowMs < this.#renewAtMs) return stored
    return this.#write({ ...this.#record!, renewTime: String(nowMs) }, nowMs)
  }

  #write(record: LeaseRecord, nowMs: number): LeaseRecord {
    this.#record = readRecord(toLease(toSpec(record)))
    this.leadsUntilMs = nowMs + this.settings.renewDeadlineMs
    this.#renewAtMs = nowMs + this.settings.retryPeriodMs
    return this.#record
  }
}

/** Valid election settings in whole seconds, up to the longest duration that candidates respect. */
const anySettings = fc.integer({ min: 4, max: maxHonouredMs / 1000 }).chain((seconds) =>
  fc.record({
    leaseDurationMs: fc.constant(seconds * 1000),
    renewDeadlineMs: fc.integer({ min: 3, max: seconds - 1 }).map((deadline) => deadline * 1000),
    retryPeriodMs: fc.constant(1000),
  }),
)

const anyStall = fc.record({
  who: fc.nat({ max: 3 }),
  fromMs: fc.integer({ min: 0, max: 2000 }).map((seconds) => seconds * 1000),
  forMs: fc.integer({ min: 1, max: 700 }).map((seconds) => seconds * 1000),
})

test('candidates that stall at any time have a leader in the end, and never two leaders at once', () => {
  const candidates = fc.array(anySettings, { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(anySpec, candidates, fc.array(anyStall, { maxLength: 6 }), (spec, settings, stalls) => {
      const all = settings.map((each, index) => new Candidate(`c${index}`, each))
      let stored = readRecord(toLease(spec))
      const isStalled = (index: number, nowMs: number) =>
        stalls.some(({ who, fromMs, forMs }) => who === index && nowMs >= fromMs && nowMs < fromMs + forMs)
      const leadersAt = (nowMs: number) => all.filter(({ leadsUntilMs }) => nowMs < leadsUntilMs).length
      // All stalls end within 2,700 seconds; the last record is respected for at most 600 seconds after that.
      for (let nowMs = 0; nowMs <= 3_400_000; nowMs += 1000) {
        for (const [index, one] of all.entries()) if (!isStalled(index, nowMs)) stored = one.act(stored, nowMs)
        if (leadersAt(nowMs) > 1) expect.fail(`Two lead at ${nowMs} ms`)
      }
      expect(leadersAt(3_400_000)).toBe(1)
    }),
    { numRuns: 30 },
  )
})
