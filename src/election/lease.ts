/**
 * The Lease of the leader election: reads, creates and replaces it, and converts its spec. Used by candidate.ts and lease-holder.ts. Changes only
 * the fields that client-go's elector writes, so that electors of both kinds can share a Lease.
 */
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

  /** Resolves to undefined if the Lease does not exist. */
  async read(timeoutMs: number, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#send('GET', undefined, timeoutMs, signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  create(record: LeaseRecord, timeoutMs: number, signal: AbortSignal): Promise<KubeObject> {
    const { name, namespace } = this.#key
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace },
      spec: toSpec(record),
    }
    return this.#send('POST', body, timeoutMs, signal)
  }

  /** Rejects with a conflict if the Lease was changed, or deleted and created again, since it was read: the body has its resource version and uid. */
  replace(lease: KubeObject, record: LeaseRecord, timeoutMs: number, signal: AbortSignal): Promise<KubeObject> {
    const body = { ...lease, spec: { ...(lease['spec'] as object), ...toSpec(record) } }
    return this.#send('PUT', body, timeoutMs, signal)
  }

  /**
   * Sends one attempt without retries: the elector decides when to retry. The request is urgent, so that it does not wait for the rate limit
   * behind requests of handlers: a busy leader would otherwise lose the Lease.
   */
  async #send(
    method: 'GET' | 'POST' | 'PUT',
    body: object | undefined,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const path = method === 'POST' ? collectionPath(leases, this.#key.namespace) : objectPath(leases, this.#key)
    const call = {
      method,
      path,
      timeoutMs,
      isUrgent: true,
      backoffsMs: [],
      purpose: 'lease' as const,
      resource: leases,
      ...(body !== undefined && { body }),
    }
    return (await this.#session.request(call, signal)) as unknown as KubeObject
  }
}

/** Whether the write failed because another client has written, created or deleted the Lease since it was read. */
export function isWriteRejected(error: unknown): error is ApiError {
  return error instanceof ApiError && [404, 409, putOfMissingStatus].includes(error.status)
}

/**
 * The status of a PUT with a resource version for a Lease that does not exist: a PUT can create a Lease, but the API server responds with an
 * internal error to one with a version ("resourceVersion should not be set on objects to be created").
 */
const putOfMissingStatus = 500

/** The spec of a Lease, with the fields and formats of client-go. */
export interface LeaseRecord {
  /** `holderIdentity`; empty if the Lease was released. */
  readonly holder: string
  /** `leaseDurationSeconds`; undefined if it is missing or not positive. */
  readonly durationMs: number | undefined
  /** The text in the Lease. It is only compared for equality: the clock of another machine may be wrong. */
  readonly acquireTime: string | undefined
  /** The text in the Lease, only compared for equality like `acquireTime`. */
  readonly renewTime: string | undefined
  /** `leaseTransitions`, from 0 to `maxTransitions`. */
  readonly transitions: number
}

/** `leaseTransitions` is an int32: the API server rejects larger numbers, so that a Lease beyond the maximum could never be taken. */
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

/** The number of transitions after a takeover from this record. It stays at the maximum: no elector uses the number. */
export function countTransition(record: LeaseRecord | undefined): number {
  return record === undefined ? 0 : Math.min(record.transitions + 1, maxTransitions)
}

/** Rounds the duration up to whole seconds, so that other candidates rather wait too long than not long enough. */
export function toSpec({ holder, durationMs, acquireTime, renewTime, transitions }: LeaseRecord): JsonObject {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil((durationMs ?? 1000) / 1000),
    ...(acquireTime !== undefined && { acquireTime }),
    ...(renewTime !== undefined && { renewTime }),
    leaseTransitions: transitions,
  }
}

/** Whether the two records are equal. Any difference shows that the holder has renewed the Lease, or that there is another holder. */
export function isSameRecord(one: LeaseRecord, other: LeaseRecord): boolean {
  return JSON.stringify(toSpec(one)) === JSON.stringify(toSpec(other))
}

/** Formats a MicroTime: the API server rejects a time without exactly six digits after the point. */
export function toMicroTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z')
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}

export function toForbiddenError({ name, namespace }: LeaseKey, error: unknown): KopfError {
  return new KopfError(
    'KOPF_FORBIDDEN',
    `Cannot elect a leader by the Lease ${namespace}/${name}: ${describeError(error)}\n` +
      `Grant the operator a role in the namespace "${namespace}" with the rule: apiGroups: ["coordination.k8s.io"], ` +
      'resources: ["leases"], verbs: ["get", "list", "watch", "create", "update"]',
    { cause: error },
  )
}

/** The error that ends the run of a former leader. `why` continues the sentence "the Lease …". */
export function toLostLeaseError({ name, namespace }: LeaseKey, why: string, cause?: unknown): KopfError {
  return new KopfError(
    'KOPF_LEADERSHIP',
    `Cannot remain the leader: the Lease ${namespace}/${name} ${why}; the operator writes nothing more and exits; restart it to make it a candidate`,
    { cause },
  )
}

const maxHolderLength = 253

/** The holder in quotes, cut for messages: the API server does not limit the length of `holderIdentity`. */
export function holderName(holder: string): string {
  return `"${cutText(holder, maxHolderLength)}"`
}
