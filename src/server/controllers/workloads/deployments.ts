/**
 * The Deployment controller: one ReplicaSet per template, with the newest scaled up and the old ones scaled down. Sizes are
 * computed in rollout.ts, revision annotations in revisions.ts.
 */
import type { ServerContext } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { type Deployment, hasDeadline, revisionAnnotation, revisionOf } from './deployment-shapes.ts'
import {
  deadlineOf,
  deploymentStatus,
  isComplete,
  pauseCondition,
  progressOf,
  type Sets,
  setUpdatedCondition,
} from './deployment-status.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectWriter } from './object-writer.ts'
import { isFinished, isTerminating } from './pods-of-sets.ts'
import {
  controllerOf,
  enqueueOwners,
  findByKey,
  follow,
  getByKey,
  isControlledBy,
  keyOfObject,
  list,
} from './reading.ts'
import { replicaSets } from './replica-sets.ts'
import { expiredReplicaSets, lastRevision, newestAnnotations, sizeAnnotations, toReplicaSet } from './revisions.ts'
import { byAge, isScaled, newestSize, rescale, type Scaling, shrinkOld } from './rollout.ts'
import type { Pod, ReplicaSet, StatusCondition } from './shapes.ts'
import { isSameTemplate } from './template-hash.ts'
import { WorkQueue } from './work-queue.ts'

const deployments = { collection: 'apps/deployments', kind: 'Deployment' }
const component = 'deployment-controller'

export class DeploymentController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount(component))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'deployments')
    const { collection } = deployments
    follow(parts, collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, replicaSets.collection, (change) =>
      enqueueOwners(parts, deployments, change, (key) => this.#queue.add(key)),
    )
    // A Deployment with the Recreate strategy waits until its last old pod is deleted.
    follow(
      parts,
      'pods',
      ({ type, current }) => type === 'DELETED' && this.#enqueueForPod(current.namespace, current.owners),
    )
  }

  #enqueueForPod(namespace: string, owners: readonly string[] = []): void {
    for (const set of list<ReplicaSet>(this.#parts, replicaSets.collection, namespace)) {
      const owner = owners.includes(set.metadata.uid!) ? controllerOf(set) : undefined
      if (owner?.kind === deployments.kind) this.#queue.add(`${namespace}/${owner.name}`)
    }
  }

  async #sync(key: string): Promise<void> {
    const deployment = this.#find(key)
    if (deployment === undefined) return
    await claim(this.#writer, deployment, this.#setsIn(deployment))
    if (isTerminating(deployment)) return this.#updateStatus(key, false)
    await this.#writePauseCondition(deployment)
    if (deployment.spec.paused || isScaled(deployment, this.#setsOf(deployment))) await this.#scale(key)
    else if (deployment.spec.strategy.type === 'Recreate') await this.#recreate(key)
    else await this.#rollOut(key)
  }

  async #writePauseCondition(deployment: Deployment): Promise<void> {
    const condition = pauseCondition(deployment)
    if (condition !== undefined) await this.#writeCondition(deployment, condition)
  }

  async #scale(key: string): Promise<void> {
    const deployment = this.#get(key)
    await this.#updateNewest(deployment)
    const { newest, old } = this.#split(deployment)
    for (const scaling of rescale(deployment, newest, old)) await this.#resize(deployment, scaling)
    // ReplicaSets that keep their size get the new desired-replicas annotation as well, otherwise `isScaled` would stay true.
    const active = this.#setsOf(deployment).filter(({ spec }) => spec.replicas > 0)
    for (const set of active) await this.#resize(deployment, { set, replicas: set.spec.replicas })
    if (deployment.spec.paused) await this.#deleteExpired(deployment)
    await this.#updateStatus(key, false)
  }

  async #rollOut(key: string): Promise<void> {
    await this.#ensureNewest(key)
    const deployment = this.#get(key)
    const { newest, old } = this.#split(deployment)
    // The ReplicaSet was deleted meanwhile; its deletion triggers another sync.
    if (newest === undefined) return
    const size = newestSize(deployment, newest.spec.replicas, [...old, newest])
    if (size !== newest.spec.replicas) await this.#resize(deployment, { set: newest, replicas: size })
    else for (const scaling of shrinkOld(deployment, newest, old)) await this.#resize(deployment, scaling)
    await this.#finish(key)
  }

  async #recreate(key: string): Promise<void> {
    const deployment = this.#get(key)
    await this.#updateNewest(deployment)
    const { old } = this.#split(deployment)
    const active = old.filter(({ spec }) => spec.replicas > 0)
    for (const set of active) await this.#resize(deployment, { set, replicas: 0 })
    if (active.length > 0 || this.#hasPods(old)) return this.#updateStatus(key, true)
    await this.#ensureNewest(key)
    const { newest } = this.#split(deployment)
    const { replicas } = deployment.spec
    if (newest !== undefined && newest.spec.replicas !== replicas) {
      await this.#resize(deployment, { set: newest, replicas })
    }
    await this.#finish(key)
  }

  /** True if there are pods that have not finished, terminating pods included. */
  #hasPods(sets: readonly ReplicaSet[]): boolean {
    const [first] = sets
    if (first === undefined) return false
    const pods = list<Pod>(this.#parts, 'pods', first.metadata.namespace!)
    return pods.some((pod) => !isFinished(pod) && sets.some((set) => isControlledBy(pod, set)))
  }

  async #finish(key: string): Promise<void> {
    const deployment = this.#get(key)
    if (isComplete(deployment, deployment.status)) await this.#deleteExpired(deployment)
    await this.#updateStatus(key, true)
  }

  async #deleteExpired(deployment: Deployment): Promise<void> {
    for (const set of expiredReplicaSets(deployment, this.#split(deployment).old)) await this.#writer.delete(set)
  }

  /** Ensures that a ReplicaSet for the current template exists and has the highest revision. */
  async #ensureNewest(key: string): Promise<void> {
    const deployment = this.#get(key)
    const { newest, old } = this.#split(deployment)
    if (newest !== undefined) return this.#updateNewest(deployment)
    const replicas = newestSize(deployment, 0, old)
    const desired = toReplicaSet(deployment, replicas, lastRevision(old) + 1)
    const created = await this.#writer
      .create<ReplicaSet>(desired)
      .catch((error) => this.#reportCreateError(deployment, error))
    const { name } = created.metadata
    if (replicas > 0) await this.#recordEvent(deployment, `Scaled up replica set ${name} from 0 to ${replicas}`)
    const found = { reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` }
    await this.#writeRevision(key, created, found)
  }

  async #updateNewest(deployment: Deployment): Promise<void> {
    const { newest, old } = this.#split(deployment)
    if (newest === undefined) return
    const present = newest.metadata.annotations ?? {}
    const annotations = newestAnnotations(deployment, present, lastRevision(old) + 1)
    const { minReadySeconds = 0 } = deployment.spec
    const updated = await this.#writer.update({
      ...newest,
      metadata: { ...newest.metadata, annotations },
      spec: { ...newest.spec, minReadySeconds },
    })
    const found = { reason: 'FoundNewReplicaSet', message: `Found new replica set "${newest.metadata.name}"` }
    const hasProgress = progressOf(deployment.status) !== undefined
    await this.#writeRevision(keyOfObject(deployment), updated, hasProgress ? undefined : found)
  }

  async #writeRevision(key: string, newest: ReplicaSet, found: ProgressReason | undefined): Promise<void> {
    const deployment = this.#get(key)
    const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: String(revisionOf(newest)) }
    const numbered = { ...deployment, metadata: { ...deployment.metadata, annotations } }
    if (found === undefined || !hasDeadline(deployment)) await this.#writer.update(numbered, 'status')
    else await this.#writeCondition(numbered, { type: 'Progressing', status: 'True', ...found })
  }

  async #writeCondition(deployment: Deployment, condition: StatusCondition): Promise<void> {
    const conditions = setUpdatedCondition(deployment.status.conditions ?? [], condition, this.#parts.clock.now())
    await this.#writer.update({ ...deployment, status: { ...deployment.status, conditions } }, 'status')
  }

  /**
   * If the name is taken because two templates have the same hash, increments collisionCount so that the next sync uses another
   * hash.
   */
  async #reportCreateError(deployment: Deployment, error: unknown): Promise<never> {
    if (error instanceof StatusError && error.reason === 'AlreadyExists') {
      const collisionCount = (deployment.status.collisionCount ?? 0) + 1
      await this.#writer.updateStatus(deployment, { ...deployment.status, collisionCount })
    } else if (error instanceof StatusError && hasDeadline(deployment)) {
      const { message } = error
      await this.#writeCondition(deployment, {
        type: 'Progressing',
        status: 'False',
        reason: 'ReplicaSetCreateError',
        message: `Failed to create new replica set: ${message}`,
      })
    }
    throw error
  }

  async #resize(deployment: Deployment, { set, replicas }: Scaling): Promise<void> {
    const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) }
    const metadata = { ...set.metadata, annotations }
    await this.#writer.update({ ...set, metadata, spec: { ...set.spec, replicas } })
    const { spec } = set
    if (spec.replicas === replicas) return
    const direction = replicas > spec.replicas ? 'up' : 'down'
    const what = `Scaled ${direction} replica set ${set.metadata.name} from ${spec.replicas} to ${replicas}`
    await this.#recordEvent(deployment, what)
  }

  #recordEvent(deployment: Deployment, message: string): Promise<void> {
    return this.#recorder.record(deployment, 'Normal', 'ScalingReplicaSet', message)
  }

  async #updateStatus(key: string, isRollout: boolean): Promise<void> {
    const deployment = this.#find(key)
    if (deployment === undefined) return
    const nowMs = this.#parts.clock.now()
    const status = deploymentStatus(deployment, this.#split(deployment), { nowMs, isRollout })
    const updated = await this.#writer.updateStatus(deployment, status)
    const deadlineMs = deadlineOf(updated)
    // One second after the deadline, because it must have passed.
    if (deadlineMs !== undefined) this.#queue.addAt(key, Math.max(deadlineMs, nowMs) + 1000)
  }

  #find(key: string): Deployment | undefined {
    return findByKey(this.#parts, deployments.collection, key)
  }

  #get(key: string): Deployment {
    return getByKey(this.#parts, deployments.collection, key)
  }

  #setsIn({ metadata }: Deployment): ReplicaSet[] {
    return list(this.#parts, replicaSets.collection, metadata.namespace!)
  }

  #setsOf(deployment: Deployment): ReplicaSet[] {
    return this.#setsIn(deployment).filter((set) => isControlledBy(set, deployment))
  }

  #split(deployment: Deployment): Sets {
    const sets = this.#setsOf(deployment).sort(byAge)
    const newest = sets.find(({ spec }) => isSameTemplate(spec.template, deployment.spec.template))
    return { newest, old: sets.filter((set) => set !== newest) }
  }
}

interface ProgressReason {
  readonly reason: string
  readonly message: string
}
