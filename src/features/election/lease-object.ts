/** The one Lease in the cluster: read, made, and written over the version that was seen. Nothing else of it is ours to change. */
import { ApiError, isNotFound } from '../../client/api-error.ts'
import type { Session } from '../../client/calls.ts'
import { collectionPath, objectPath } from '../../client/requests.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { type LeaseRecord, toSpec } from './record.ts'

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
    const call = { method, path, withinMs, isUrgent: true, backoffsMs: [], ...(body !== undefined && { body }) }
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
