/** Stateful sets: pods with names and claims of their own, one after the other. What comes next is said in stateful-state.ts. */
import type { Parts } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { currentRevision, forgetRevisions, revisionsOf, templateOf } from './controller-revisions.ts'
import { isTerminating, nextAvailable } from './pods-of-sets.ts'
import { find, findByKey, follow, list, tellOwners } from './reading.ts'
import { Recorder } from './recording.ts'
import type { Pod } from './shapes.ts'
import {
  isOfCurrent,
  nextSteps,
  ordinalOf,
  revisionLabel,
  type StatefulSet,
  type Step,
  statefulStatus,
  toClaims,
  toStatefulPod,
} from './stateful-state.ts'
import { WorkQueue } from './work-queue.ts'
import { Writer } from './writing.ts'

const statefulSets = { collection: 'apps/statefulsets', kind: 'StatefulSet' }
const component = 'statefulset-controller'

export class StatefulSetController {
  readonly #parts: Parts
  readonly #writer: Writer
  readonly #recorder: Recorder
  readonly #queue: WorkQueue

  constructor(parts: Parts) {
    this.#parts = parts
    this.#writer = new Writer(parts, serviceAccount(component))
    this.#recorder = new Recorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'stateful-sets')
    const { collection } = statefulSets
    follow(parts, collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'pods', (change) => tellOwners(parts, statefulSets, change, (key) => this.#queue.add(key)))
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
    for (const step of nextSteps(set, situation)) await this.#take(set, step, { current, update: situation.update })
    await this.#report(key, current, situation.update)
    const dueMs = nextAvailable(pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (dueMs !== undefined) this.#queue.addAt(key, dueMs)
  }

  async #take(
    set: StatefulSet,
    step: Step,
    revisions: { readonly current: string; readonly update: string },
  ): Promise<void> {
    const { name, namespace = '' } = set.metadata
    if (step.type === 'delete') {
      await this.#writer.delete(step.pod)
      await this.#tell(
        set,
        'SuccessfulDelete',
        `Delete Pod ${step.pod.metadata.name} in StatefulSet ${name} successful`,
      )
      return
    }
    const { ordinal } = step
    const pod = `${name}-${ordinal}`
    for (const wished of toClaims(set, ordinal)) {
      if (find(this.#parts, 'persistentvolumeclaims', namespace, wished.metadata.name!) !== undefined) continue
      await this.#writer.create(wished)
      await this.#tell(
        set,
        'SuccessfulCreate',
        `Create Claim ${wished.metadata.name} Pod ${pod} in StatefulSet ${name} success`,
      )
    }
    const revision = isOfCurrent(set, ordinal) ? revisions.current : revisions.update
    const kept = revisionsOf(this.#parts, set).find(({ metadata }) => metadata.name === revision)
    const template = kept === undefined ? set.spec.template : templateOf(kept)
    await this.#writer.create(toStatefulPod(set, template, { ordinal, revision }))
    await this.#tell(set, 'SuccessfulCreate', `Create Pod ${pod} in StatefulSet ${name} successful`)
  }

  #tell(set: StatefulSet, reason: string, message: string): Promise<void> {
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
    await forgetRevisions(this.#parts, this.#writer, set, ({ metadata }) => used.has(metadata.name))
  }
}
