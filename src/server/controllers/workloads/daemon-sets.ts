/** The DaemonSet controller: one pod on every eligible node. */
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { currentRevision, deleteUnusedRevisions } from './controller-revisions.ts'
import { type DaemonSet, daemonStatus, generationAnnotation, planDaemons, toDaemonPod } from './daemon-state.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectWriter } from './object-writer.ts'
import { isTerminating, nextAvailable } from './pods-of-sets.ts'
import { enqueueOwners, findByKey, follow, isControlledBy, list } from './reading.ts'
import type { Node } from './scheduling.ts'
import type { Pod } from './shapes.ts'
import { WorkQueue } from './work-queue.ts'

const daemonSets = { collection: 'apps/daemonsets', kind: 'DaemonSet' }
const component = 'daemonset-controller'
const hashLabel = 'controller-revision-hash'

export class DaemonSetController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount('daemon-set-controller'))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'daemon-sets')
    const { collection } = daemonSets
    follow(parts, collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'pods', (change) => enqueueOwners(parts, daemonSets, change, (key) => this.#queue.add(key)))
    follow(parts, 'nodes', () => {
      for (const { key } of parts.store.collection(collection).list('')) this.#queue.add(key)
    })
  }

  async #sync(key: string): Promise<void> {
    const set = findByKey<DaemonSet>(this.#parts, daemonSets.collection, key)
    if (set === undefined || isTerminating(set)) return
    const candidates = list<Pod>(this.#parts, 'pods', set.metadata.namespace!)
    const pods = await claim(this.#writer, set, candidates)
    const generation = set.metadata.annotations?.[generationAnnotation]
    const annotations = generation === undefined ? {} : { annotations: { [generationAnnotation]: generation } }
    const revision = await currentRevision(this.#parts, this.#writer, set, { hashLabel, ...annotations })
    const hash = revision.metadata.labels![hashLabel]!
    const nodes = list<Node>(this.#parts, 'nodes', '')
    const nowMs = this.#parts.clock.now()
    const { create, remove } = planDaemons(set, { nodes, pods, hash, nowMs })
    for (const node of create) await this.#create(set, toDaemonPod(set, node, hash))
    for (const pod of remove) await this.#remove(set, pod)
    await this.#report(key, { hash, nodes })
    const dueMs = nextAvailable(pods, set.spec.minReadySeconds ?? 0, nowMs)
    if (dueMs !== undefined) this.#queue.addAt(key, dueMs)
  }

  async #create(set: DaemonSet, desired: Pod): Promise<void> {
    const { metadata } = await this.#writer.create(desired)
    await this.#recorder.record(set, 'Normal', 'SuccessfulCreate', `Created pod: ${metadata.name}`)
  }

  async #remove(set: DaemonSet, pod: Pod): Promise<void> {
    await this.#writer.delete(pod)
    await this.#recorder.record(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
  }

  async #report(
    key: string,
    { hash, nodes }: { readonly hash: string; readonly nodes: readonly Node[] },
  ): Promise<void> {
    const set = findByKey<DaemonSet>(this.#parts, daemonSets.collection, key)
    if (set === undefined) return
    const pods = list<Pod>(this.#parts, 'pods', set.metadata.namespace!).filter((pod) => isControlledBy(pod, set))
    const nowMs = this.#parts.clock.now()
    await this.#writer.updateStatus(set, daemonStatus(set, { nodes, pods, hash, nowMs }))
    const used = new Set([hash, ...pods.map(({ metadata }) => metadata.labels?.[hashLabel])])
    await deleteUnusedRevisions(this.#parts, this.#writer, set, ({ metadata }) =>
      used.has(metadata.labels?.[hashLabel]),
    )
  }
}
