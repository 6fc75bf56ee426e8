/**
 * The client of the optional controllers: writes as the service account of the real controller, through matching webhooks. A
 * write based on an outdated revision is rejected as a conflict.
 */
import { type KubeObject, parseGroupVersion } from '../../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../../util/json/deep-equal.ts'
import { admitCreation } from '../../admission.ts'
import type { ServerContext } from '../../call.ts'
import type { User } from '../../identity/authentication.ts'
import type { DeleteRequestOptions } from '../../options.ts'
import type { ApiResource } from '../../resource.ts'
import { StatusError } from '../../status.ts'
import { keyOf, type Stored } from '../../storage/stored.ts'
import { type UpdatePart, updateObject } from '../../verbs/change.ts'
import { createObject } from '../../verbs/creation.ts'
import { controllerManager, ownCreation } from '../../verbs/owning.ts'
import { deleteObject } from '../../verbs/remove.ts'
import { createReviewed, deleteReviewed, updateReviewed } from '../../verbs/reviewed.ts'
import { currentOf, timestamp } from '../../verbs/write.ts'
import { toDeleteOptions, toWriteOptions } from '../../webhooks/options.ts'
import { createReviewer } from '../../webhooks/reviewer.ts'
import { callAs, noQuery } from '../call-as.ts'
import { plainDeletion } from '../garbage.ts'
import type { StatusCondition } from './shapes.ts'

export class ObjectWriter {
  readonly #parts: ServerContext
  readonly #user: User

  constructor(parts: ServerContext, user: User) {
    this.#parts = parts
    this.#user = user
  }

  /** Applies defaults, like a request by a client. */
  async create<T extends KubeObject>(given: KubeObject): Promise<T> {
    const resource = this.#resourceOf(given)
    const { object } = resource.strategy.decode(cloneJson(given))
    const { namespace = '', name = '' } = object.metadata
    const call = callAs(this.#parts, this.#user, resource, { namespace, name: '' })
    admitCreation(call, object)
    ownCreation(this.#parts, resource, object, controllerManager)
    const options = toWriteOptions('CreateOptions', noQuery)
    const reviewer = createReviewer(call, () => ({ operation: 'CREATE', name, options, dryRun: false }))
    const written =
      reviewer === undefined
        ? createObject(this.#parts, resource, object, false)
        : await createReviewed(call, object, { reviewer, dryRun: false })
    return written.object as T
  }

  /** Replaces the object if its resourceVersion is current. Writes nothing if nothing changed. */
  async update<T extends KubeObject>(desired: T, part: UpdatePart = ''): Promise<T> {
    const resource = this.#resourceOf(desired)
    const current = this.#currentOf(resource, desired)
    const change = () => cloneJson(desired) as KubeObject
    const update = { change, returnsNewObject: true, part, dryRun: false, manager: controllerManager }
    const { namespace, name } = current
    const call = callAs(this.#parts, this.#user, resource, { namespace, name, subresource: part })
    const options = toWriteOptions('UpdateOptions', noQuery)
    const reviewer = createReviewer(call, () => ({ operation: 'UPDATE', name, options, dryRun: false }))
    const written =
      reviewer === undefined
        ? updateObject(this.#parts, resource, current, update)
        : await updateReviewed(call, update, reviewer)
    return written.object as T
  }

  /** Updates the status if it differs. */
  async updateStatus<T extends KubeObject>(object: T, status: object): Promise<T> {
    return isDeepEqual(object['status'], status) ? object : await this.update({ ...object, status }, 'status')
  }

  /** Succeeds if the object is already gone. */
  async delete(object: KubeObject, given: Partial<DeleteRequestOptions> = {}): Promise<void> {
    const resource = this.#resourceOf(object)
    const { uid, namespace = '', name = '' } = object.metadata
    const current = this.#parts.store.collection(resource.collection).get(keyOf(namespace, name))
    if (current === undefined || current.uid !== uid) return
    const options = { ...plainDeletion, uid, ...given }
    const call = callAs(this.#parts, this.#user, resource, current)
    const attributes = { operation: 'DELETE', name, options: toDeleteOptions(options), dryRun: false } as const
    const reviewer = createReviewer(call, () => attributes)
    if (reviewer === undefined) deleteObject(this.#parts, resource, current, options)
    else await deleteReviewed(call, current, { options, reviewer }).catch(unlessGone)
  }

  /** Binds a pod to a node: the only write of `spec.nodeName`, which is immutable for updates. */
  bind(pod: KubeObject, nodeName: string): void {
    const resource = this.#resourceOf(pod)
    const current = this.#currentOf(resource, pod)
    const spec = { ...(pod['spec'] as object), nodeName }
    const status = withCondition(pod, {
      type: 'PodScheduled',
      status: 'True',
      lastTransitionTime: timestamp(this.#parts),
    })
    this.#parts.store.replace(current, { ...pod, metadata: { ...pod.metadata }, spec, status }, current.rules)
  }

  #resourceOf({ apiVersion, kind }: KubeObject): ApiResource {
    return this.#parts.registry.findByKind(parseGroupVersion(apiVersion)!.group, kind)!
  }

  #currentOf(resource: ApiResource, { metadata: { namespace = '', name = '' } }: KubeObject): Stored {
    return currentOf(this.#parts, resource, { namespace, name })
  }
}

function withCondition(pod: KubeObject, condition: StatusCondition): object {
  const status = (pod['status'] ?? {}) as { conditions?: readonly StatusCondition[] }
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type)
  return { ...status, conditions: [...others, condition] }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof StatusError && error.code === 404)) throw error
}
