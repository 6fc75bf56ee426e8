/**
 * What a Lease says: who holds it, and for how long others have to believe it. The same fields, in the same form, as client-go
 * writes, so that electors of both kinds can share one. Pure.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'

export interface LeaseRecord {
  /** Empty where it was released. */
  readonly holder: string
  /** Undefined where it does not say. */
  readonly durationMs: number | undefined
  /** As it stands there: the clocks of others are compared, never believed. */
  readonly acquireTime: string | undefined
  readonly renewTime: string | undefined
  readonly transitions: number
}

export function readRecord(lease: KubeObject): LeaseRecord {
  const spec = lease['spec']
  const fields: JsonObject = isPlainObject(spec) ? spec : {}
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = fields
  return {
    holder: textOf(holderIdentity) ?? '',
    durationMs: typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds * 1000 : undefined,
    acquireTime: textOf(acquireTime),
    renewTime: textOf(renewTime),
    transitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
  }
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
