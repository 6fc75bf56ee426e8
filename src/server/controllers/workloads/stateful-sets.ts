/**
 * The StatefulSet controller: pods with stable names and claims, created in order. The next steps are computed in
 * stateful-state.ts.
 */
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { currentRevision, deleteUnusedRevisions, revisionsOf, templateOf } from './controller-revisions.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectWriter } from './object-writer.ts'
import { isTerminating, nextAvailable } from './pods-of-sets.ts'
import { enqueueOwners, find, findByKey, follow, list } from './reading.ts'
import type { Pod } from './shapes.ts'
import {
  isOfCurrent,
  nextPodActions,
  ordinalOf,
  type PodAction,
  revisionLabel,
  type StatefulSet,
  statefulStatus,
  toClaims,
  toStatefulPod,
} from './stateful-state.ts'
import { WorkQueue } from './work-queue.ts'

const statefulSets = { collection: 'apps/statefulsets', kind: 'StatefulSet' }
const component = 'statefulset-controller'

export class StatefulSetController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount(component))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'stateful-sets')
    const { collection } = statefulSets
    follow(parts, collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'pods', (change) => enqueueOwners(parts, statefulSets, change, (key) => this.#queue.add(key)))
  }

  async #sync(key: string): Promise<void> {
    const set = findByKey<StatefulSet>(this.#parts, statefulSets.collection, key)
    if (set === undefined || isTerminating(set)) return
    const own = list<Pod>(this.#parts, 'pods', set.metadata.namespace!).filter((pod) => ordinalOf(set, pod) >= 0)
    const pods = await claim(this.#writer, set, own)
    const update = await currentRevision(this.#parts, this.#writer, set, { hashLabel: 'controller.kubernetes.io/hash' })
    const nowMs = this.#parts.clock.now()
    const situation = { pods, update: update.metadata.name!, nowMs }
    const current = set.status.currentRevision ?? situation.update
    for (const step of nextPodActions(set, situation))
      await this.#perform(set, step, { current, update: situation.update })
    await this.#report(key, current, situation.update)
    const dueMs = nextAvailable(pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (dueMs !== undefined) this.#queue.addAt(key, dueMs)
  }

  async #perform(
    set: StatefulSet,
    step: PodAction,
    revisions: { readonly current: string; readonly update: string },
  ): Promise<void> {
    const { name, namespace = '' } = set.metadata
    if (step.type === 'delete') {
      await this.#writer.delete(step.pod)
      await this.#recordEvent(
        set,
        'SuccessfulDelete',
        `Delete Pod ${step.pod.metadata.name} in StatefulSet ${name} successful`,
      )
      return
    }
    const { ordinal } = step
    const pod = `${name}-${ordinal}`
    for (const desired of toClaims(set, ordinal)) {
      if (find(this.#parts, 'persistentvolumeclaims', namespace, desired.metadata.name!) !== undefined) continue
      await this.#writer.create(desired)
      await this.#recordEvent(
        set,
        'SuccessfulCreate',
        `Create Claim ${desired.metadata.name} Pod ${pod} in StatefulSet ${name} success`,
      )
    }
    const revision = isOfCurrent(set, ordinal) ? revisions.current : revisions.update
    const kept = revisionsOf(this.#parts, set).find(({ metadata }) => metadata.name === revision)
    const template = kept === undefined ? set.spec.template : templateOf(kept)
    await this.#writer.create(toStatefulPod(set, template, { ordinal, revision }))
    await this.#recordEvent(set, 'SuccessfulCreate', `Create Pod ${pod} in StatefulSet ${name} successful`)
  }

  #recordEvent(set: StatefulSet, reason: string, message: string): Promise<void> {
    return this.#recorder.record(set, 'Normal', reason, message)
  }

  async #report(key: string, current: string, update: string): Promise<void> {
    const set = findByKey<StatefulSet>(this.#parts, statefulSets.collection, key)
    if (set === undefined) return
    const pods = list<Pod>(this.#parts, 'pods', set.metadata.namespace!).filter((pod) =>
      pod.metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid),
    )
    const status = statefulStatus(set, { pods, update, current, nowMs: this.#parts.clock.now() })
    await this.#writer.updateStatus(set, status)
    const used = new Set([
      status.currentRevision,
      update,
      ...pods.map(({ metadata }) => metadata.labels?.[revisionLabel]),
    ])
    await deleteUnusedRevisions(this.#parts, this.#writer, set, ({ metadata }) => used.has(metadata.name))
  }
}
