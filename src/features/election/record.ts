/**
 * What a Lease says: who holds it, and for how long others have to believe it. The same fields, in the same form, as client-go
 * writes, so that electors of both kinds can share one. Pure.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'

export interface LeaseRecord {
  /** Empty where it was released. */
  readonly holder: string
  /** Undefined where it does not say, or says no positive number. */
  readonly durationMs: number | undefined
  /** As it stands there: the clocks of others are compared, never believed. */
  readonly acquireTime: string | undefined
  readonly renewTime: string | undefined
  /** From 0 to `maxTransitions`. */
  readonly transitions: number
}

/** The field is an int32: the API server refuses a larger number, so that a Lease at its maximum could never be taken. */
const maxTransitions = 2 ** 31 - 1

export function readRecord(lease: KubeObject): LeaseRecord {
  const spec = lease['spec']
  const fields: JsonObject = isPlainObject(spec) ? spec : {}
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = fields
  return {
    holder: textOf(holderIdentity) ?? '',
    durationMs: isPositive(leaseDurationSeconds) ? leaseDurationSeconds * 1000 : undefined,
    acquireTime: textOf(acquireTime),
    renewTime: textOf(renewTime),
    transitions: isPositive(leaseTransitions) ? Math.min(Math.trunc(leaseTransitions), maxTransitions) : 0,
  }
}

/** How often the Lease will have changed hands, after this record. Stays at the maximum: nothing but people read the number. */
export function countTransition(record: LeaseRecord | undefined): number {
  return record === undefined ? 0 : Math.min(record.transitions + 1, maxTransitions)
}

/** A Lease counts whole seconds: others wait rather longer than we say. */
export function toSpec({ holder, durationMs, acquireTime, renewTime, transitions }: LeaseRecord): JsonObject {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil((durationMs ?? 1000) / 1000),
    ...(acquireTime !== undefined && { acquireTime }),
    ...(renewTime !== undefined && { renewTime }),
    leaseTransitions: transitions,
  }
}

/** Any difference is a sign of life: whoever wrote it was there a moment ago. */
export function isSameRecord(one: LeaseRecord, other: LeaseRecord): boolean {
  return JSON.stringify(toSpec(one)) === JSON.stringify(toSpec(other))
}

/** A MicroTime: six digits, or the API server refuses it. */
export function toMicroTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z')
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}
