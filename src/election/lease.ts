/** The one Lease in the cluster: read, made, and written over the version that was seen. Nothing else of it is ours to change. */
import { ApiError, isNotFound } from '../client/api-error.ts'
import { collectionPath, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { isPlainObject } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import { cutText } from '../util/log/error-text.ts'

export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  singular: 'lease',
  shortcuts: [],
  categories: [],
  subresources: [],
  namespaced: true,
  preferred: true,
  verbs: ['get', 'list', 'watch', 'create', 'update'],
}

export interface LeaseKey {
  readonly name: string
  readonly namespace: string
}

export class LeaseObject {
  readonly #session: Session
  readonly #key: LeaseKey

  constructor(session: Session, key: LeaseKey) {
    this.#session = session
    this.#key = key
  }

  /** Undefined where it is not there. */
  async read(withinMs: number, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#send('GET', undefined, withinMs, signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  create(record: LeaseRecord, withinMs: number, signal: AbortSignal): Promise<KubeObject> {
    const { name, namespace } = this.#key
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace },
      spec: toSpec(record),
    }
    return this.#send('POST', body, withinMs, signal)
  }

  /** Fails with a conflict where somebody was faster, or it is another object by now: the uid goes along. */
  replace(lease: KubeObject, record: LeaseRecord, withinMs: number, signal: AbortSignal): Promise<KubeObject> {
    const body = { ...lease, spec: { ...(lease['spec'] as object), ...toSpec(record) } }
    return this.#send('PUT', body, withinMs, signal)
  }

  /**
   * One attempt each: the elector knows better than anybody below when the next one is due. And not behind the requests of all
   * handlers: a leader that has much to do would cease to be one.
   */
  async #send(
    method: 'GET' | 'POST' | 'PUT',
    body: object | undefined,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const path = method === 'POST' ? collectionPath(leases, this.#key.namespace) : objectPath(leases, this.#key)
    const call = {
      method,
      path,
      timeoutMs: withinMs,
      isUrgent: true,
      backoffsMs: [],
      ...(body !== undefined && { body }),
    }
    return (await this.#session.request(call, signal)) as unknown as KubeObject
  }
}

/** It may not be as we believed: somebody else has written it, made it, or deleted it. */
export function isOutrun(error: unknown): error is ApiError {
  return error instanceof ApiError && [404, 409, absentCode].includes(error.status)
}

/**
 * A Lease can be made by a PUT, but not by one that names a version: to that, where it is gone, the API server answers with an
 * internal error ("resourceVersion should not be set on objects to be created").
 */
const absentCode = 500

/**
 * What a Lease says: who holds it, and for how long others have to believe it. The same fields, in the same form, as client-go
 * writes, so that electors of both kinds can share one. Pure.
 */

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

/** What is said of the Lease where it cannot be had, or not be kept. */

export function forbidden({ name, namespace }: LeaseKey, error: unknown): KopfError {
  return new KopfError(
    'KOPF_FORBIDDEN',
    `Cannot elect a leader by the Lease ${namespace}/${name}: ${describeError(error)}\n` +
      `Grant the operator a role in the namespace "${namespace}" with the rule: apiGroups: ["coordination.k8s.io"], ` +
      'resources: ["leases"], verbs: ["get", "list", "watch", "create", "update"]',
    { cause: error },
  )
}

/** Why it is over, in the words of who finds out. */
export function lost({ name, namespace }: LeaseKey, why: string, cause?: unknown): KopfError {
  return new KopfError(
    'KOPF_LEADERSHIP',
    `Cannot go on as the leader: the Lease ${namespace}/${name} ${why}; nothing more is written, and the operator ends, to be started anew as a stand-by`,
    { cause },
  )
}

const maxHolderLength = 253

/** For messages: the API server sets no limit to the name of a holder. */
export function holderName(holder: string): string {
  return `"${cutText(holder, maxHolderLength)}"`
}
