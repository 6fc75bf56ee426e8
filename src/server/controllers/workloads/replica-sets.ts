/** The ReplicaSet controller: adopts, creates and deletes pods to match `replicas`, and reports their counts in the status. */
import type { ServerContext } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { setCondition, withoutCondition } from './conditions.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectWriter } from './object-writer.ts'
import { byDeletionOrder, isActive, isAvailable, isReady, isTerminating, nextAvailable, toPod } from './pods-of-sets.ts'
import { enqueueOwners, findByKey, follow, list } from './reading.ts'
import type { Pod, ReplicaSet, StatusCondition } from './shapes.ts'
import { WorkQueue } from './work-queue.ts'

export const replicaSets = { collection: 'apps/replicasets', kind: 'ReplicaSet' }
const component = 'replicaset-controller'

/** Maximum number of pods created or deleted per sync. */
const burst = 500

export class ReplicaSetController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount(component))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'replica-sets')
    follow(parts, replicaSets.collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'pods', (change) => enqueueOwners(parts, replicaSets, change, (key) => this.#queue.add(key)))
  }

  async #sync(key: string): Promise<void> {
    const set = findByKey<ReplicaSet>(this.#parts, replicaSets.collection, key)
    if (set === undefined) return
    const candidates = list<Pod>(this.#parts, 'pods', set.metadata.namespace!)
    const claimed = await claim(this.#writer, set, candidates)
    const active = claimed.filter(isActive)
    const failure = isTerminating(set) ? undefined : await this.#adjust(set, active)
    const nowMs = this.#parts.clock.now()
    const current = findByKey<ReplicaSet>(this.#parts, replicaSets.collection, key)
    if (current === undefined) return
    await this.#writer.updateStatus(current, statusOf(set, { pods: claimed, failure, nowMs }))
    const dueMs = nextAvailable(active, set.spec.minReadySeconds ?? 0, nowMs)
    if (dueMs !== undefined) this.#queue.addAt(key, dueMs)
    if (failure !== undefined) throw failure.error
  }

  /** Creates missing pods and deletes surplus pods. Returns the failure if a write was rejected. */
  async #adjust(set: ReplicaSet, pods: readonly Pod[]): Promise<ReplicaSetFailure | undefined> {
    const missing = set.spec.replicas - pods.length
    try {
      for (let made = 0; made < Math.min(missing, burst); made += 1) await this.#create(set)
      const surplus = missing < 0 ? [...pods].sort(byDeletionOrder).slice(0, Math.min(-missing, burst)) : []
      for (const pod of surplus) await this.#delete(set, pod)
      if (Math.abs(missing) > burst) this.#queue.add(`${set.metadata.namespace}/${set.metadata.name}`)
      return undefined
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return { error, reason: missing > 0 ? 'FailedCreate' : 'FailedDelete' }
    }
  }

  async #create(set: ReplicaSet): Promise<void> {
    try {
      const pod = await this.#writer.create(toPod(set, set.spec.template))
      await this.#recorder.record(set, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
    } catch (error) {
      if (error instanceof StatusError) {
        await this.#recorder.record(set, 'Warning', 'FailedCreate', `Error creating: ${error.message}`)
      }
      throw error
    }
  }

  async #delete(set: ReplicaSet, pod: Pod): Promise<void> {
    await this.#writer.delete(pod)
    await this.#recorder.record(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
  }
}

interface ReplicaSetFailure {
  readonly error: StatusError
  readonly reason: 'FailedCreate' | 'FailedDelete'
}

interface ReplicaSetObservation {
  readonly pods: readonly Pod[]
  readonly failure: ReplicaSetFailure | undefined
  readonly nowMs: number
}

/** The status of the pods before this sync's writes; the changes of these pods trigger the next sync. */
function statusOf(set: ReplicaSet, { pods, failure, nowMs }: ReplicaSetObservation): object {
  const { conditions: _, ...before } = set.status
  const conditions = conditionsOf(set, failure, nowMs)
  const active = pods.filter(isActive)
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {})
  const isFullyLabeled = ({ metadata }: Pod) => labels.every(([key, value]) => metadata.labels?.[key] === value)
  const minReadySeconds = set.spec.minReadySeconds ?? 0
  return {
    ...before,
    replicas: active.length,
    fullyLabeledReplicas: active.filter(isFullyLabeled).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    terminatingReplicas: pods.filter((pod) => isTerminating(pod)).length,
    observedGeneration: set.metadata.generation,
    ...(conditions.length > 0 && { conditions }),
  }
}

function conditionsOf(
  { status }: ReplicaSet,
  failure: ReplicaSetFailure | undefined,
  nowMs: number,
): readonly StatusCondition[] {
  const known = status.conditions ?? []
  if (failure === undefined) return withoutCondition(known, 'ReplicaFailure')
  const { reason, error } = failure
  return setCondition(known, { type: 'ReplicaFailure', status: 'True', reason, message: error.message }, nowMs)
}
