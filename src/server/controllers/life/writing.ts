/**
 * How controllers write: as the service accounts of the real ones, through the webhooks of clients where any are concerned.
 * What is decided from a state that is no longer the present one is refused as a conflict.
 */
import { type KubeObject, parseGroupVersion } from '../../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../../util/equality.ts'
import { admitCreation } from '../../admission.ts'
import type { Parts } from '../../call.ts'
import type { User } from '../../identity/authentication.ts'
import type { DeleteOptions } from '../../options.ts'
import type { ServedResource } from '../../resource.ts'
import { StatusError } from '../../status.ts'
import { keyOf, type Stored } from '../../storage/stored.ts'
import { type Part, updateObject } from '../../verbs/change.ts'
import { createObject } from '../../verbs/creation.ts'
import { controllerManager, ownCreation } from '../../verbs/owning.ts'
import { deleteObject } from '../../verbs/remove.ts'
import { createReviewed, deleteReviewed, updateReviewed } from '../../verbs/reviewed.ts'
import { currentOf, timestamp } from '../../verbs/write.ts'
import { toDeleteOptions, toWriteOptions } from '../../webhooks/options.ts'
import { createReviewer } from '../../webhooks/reviewer.ts'
import { callAs, noQuery } from '../call-as.ts'
import { plainDeletion } from '../garbage.ts'
import type { Condition } from './shapes.ts'

export class Writer {
  readonly #parts: Parts
  readonly #user: User

  constructor(parts: Parts, user: User) {
    this.#parts = parts
    this.#user = user
  }

  /** With defaults filled in, as if it came over the wire. */
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

  /** The state to be, made from the one that it names the version of. Where nothing is different, nothing is written. */
  async update<T extends KubeObject>(wished: T, part: Part = ''): Promise<T> {
    const resource = this.#resourceOf(wished)
    const current = this.#currentOf(resource, wished)
    const change = () => cloneJson(wished) as KubeObject
    const update = { change, isFresh: true, part, dryRun: false, manager: controllerManager }
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

  /** The status alone, where it is another than it was. */
  async updateStatus<T extends KubeObject>(object: T, status: object): Promise<T> {
    return isDeepEqual(object['status'], status) ? object : await this.update({ ...object, status }, 'status')
  }

  /** What is gone already is no failure. */
  async delete(object: KubeObject, given: Partial<DeleteOptions> = {}): Promise<void> {
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

  /** Puts a pod on a node: the one change of its spec that nobody else can make. */
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

  #resourceOf({ apiVersion, kind }: KubeObject): ServedResource {
    return this.#parts.registry.findByKind(parseGroupVersion(apiVersion)!.group, kind)!
  }

  #currentOf(resource: ServedResource, { metadata: { namespace = '', name = '' } }: KubeObject): Stored {
    return currentOf(this.#parts, resource, { namespace, name })
  }
}

function withCondition(pod: KubeObject, condition: Condition): object {
  const status = (pod['status'] ?? {}) as { conditions?: readonly Condition[] }
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type)
  return { ...status, conditions: [...others, condition] }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof StatusError && error.code === 404)) throw error
}
