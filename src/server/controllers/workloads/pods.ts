/**
 * Simulates pods: schedules them on a node, then starts and ends them as their behaviour says (behaviour.ts). It writes the
 * objects like a scheduler and a kubelet, and runs nothing.
 */
import type { ServerContext } from '../../call.ts'
import { behaviourAnnotation, parseBehaviour } from './behaviour.ts'
import { setCondition } from './conditions.ts'
import { kubelet, nodeAddress } from './node.ts'
import { ObjectWriter } from './object-writer.ts'
import { unboundClaimReason } from './pod-claims.ts'
import { simulatePod, stopped } from './pod-simulation.ts'
import { conditionOf, isFinished } from './pods-of-sets.ts'
import { controllerOf, find, findByKey, follow, list } from './reading.ts'
import { chooseNode, type Node } from './scheduling.ts'
import type { Pod } from './shapes.ts'
import { parseTime } from './times.ts'
import { WorkQueue } from './work-queue.ts'

const scheduler = { username: 'system:kube-scheduler', groups: ['system:authenticated'] }
const indexLabel = 'batch.kubernetes.io/job-completion-index'

export interface PodOptions {
  /** True if the volume controller runs, so that pods wait until their claims are bound. */
  readonly waitsForClaims: boolean
}

export class PodController {
  readonly #parts: ServerContext
  readonly #options: PodOptions
  readonly #scheduler: ObjectWriter
  readonly #kubelet: ObjectWriter
  readonly #queue: WorkQueue

  /** Number of the last assigned address. */
  #lastAddress = 1

  constructor(parts: ServerContext, options: PodOptions) {
    this.#parts = parts
    this.#options = options
    this.#scheduler = new ObjectWriter(parts, scheduler)
    this.#kubelet = new ObjectWriter(parts, kubelet)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'pods')
    follow(parts, 'pods', ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'nodes', () => this.#enqueueUnscheduled(''))
    if (options.waitsForClaims) {
      follow(parts, 'persistentvolumeclaims', ({ current }) => this.#enqueueUnscheduled(current.namespace))
    }
  }

  #enqueueUnscheduled(namespace: string): void {
    for (const stored of this.#parts.store.collection('pods').list(namespace)) {
      if (!findByKey<Pod>(this.#parts, 'pods', stored.key)?.spec.nodeName) this.#queue.add(stored.key)
    }
  }

  async #sync(key: string): Promise<void> {
    const pod = findByKey<Pod>(this.#parts, 'pods', key)
    if (pod === undefined) return
    if (!pod.spec.nodeName) await this.#schedule(pod)
    else if (find(this.#parts, 'nodes', '', pod.spec.nodeName) === undefined) return
    else if (pod.metadata.deletionTimestamp !== undefined) await this.#stop(key, pod)
    else if (!isFinished(pod)) await this.#simulate(key, pod)
  }

  async #schedule(pod: Pod): Promise<void> {
    const { deletionTimestamp } = pod.metadata
    const { schedulingGates = [], schedulerName = 'default-scheduler' } = pod.spec
    if (deletionTimestamp !== undefined || schedulingGates.length > 0 || schedulerName !== 'default-scheduler') return
    const choice = this.#chooseNode(pod)
    if ('node' in choice) return this.#scheduler.bind(pod, choice.node)
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: choice.why }
    if (conditionOf(pod, 'PodScheduled')?.message === choice.why) return
    const conditions = setCondition(pod.status.conditions ?? [], condition, this.#parts.clock.now())
    await this.#scheduler.updateStatus(pod, { ...pod.status, conditions })
  }

  #chooseNode(pod: Pod): ReturnType<typeof chooseNode> {
    const why = this.#options.waitsForClaims ? unboundClaimReason(this.#parts, pod) : undefined
    if (why !== undefined) return { why }
    const nodes = list<Node>(this.#parts, 'nodes', '')
    const [only] = nodes
    // With a single node there is no choice, so the pods are not counted.
    const pods = nodes.length > 1 ? list<Pod>(this.#parts, 'pods', '') : []
    const podsOn = (name: string) => pods.filter(({ spec }) => spec.nodeName === name).length
    return chooseNode(pod, only === undefined ? [] : nodes, podsOn)
  }

  async #simulate(key: string, pod: Pod): Promise<void> {
    const { restartPolicy } = pod.spec
    const behaviour = parseBehaviour(pod.metadata.annotations?.[behaviourAnnotation], restartPolicy)
    const { status, dueMs } = simulatePod(pod, {
      behaviour,
      nowMs: this.#parts.clock.now(),
      failures: behaviour?.end && behaviour.end.times !== Infinity ? this.#failuresBefore(pod) : 0,
      podIP: pod.status.podIP ?? this.#nextAddress(),
      hostIP: nodeAddress,
    })
    await this.#kubelet.updateStatus(pod, status)
    if (dueMs !== undefined) this.#queue.addAt(key, dueMs)
  }

  /** Number of failed pods of the same owner and the same index. */
  #failuresBefore(pod: Pod): number {
    const uid = controllerOf(pod)?.uid
    const index = pod.metadata.labels?.[indexLabel]
    return list<Pod>(this.#parts, 'pods', pod.metadata.namespace!).filter(
      (other) =>
        controllerOf(other)?.uid === uid &&
        other.metadata.labels?.[indexLabel] === index &&
        other.status.phase === 'Failed',
    ).length
  }

  /**
   * Removes a deleted pod when its containers have stopped, at the latest after its grace period. A pod with finalizers gets a
   * final status first.
   */
  async #stop(key: string, pod: Pod): Promise<void> {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [], annotations } = pod.metadata
    const { stopAfterMs = 0 } = parseBehaviour(annotations?.[behaviourAnnotation], pod.spec.restartPolicy) ?? {}
    const nowMs = this.#parts.clock.now()
    const endMs = parseTime(deletionTimestamp)
    const dueMs = Math.min(endMs, endMs - deletionGracePeriodSeconds * 1000 + stopAfterMs)
    if (dueMs > nowMs && !isFinished(pod)) return this.#queue.addAt(key, dueMs)
    if (finalizers.length > 0 && !isFinished(pod)) await this.#kubelet.updateStatus(pod, stopped(pod, nowMs))
    if (deletionGracePeriodSeconds > 0) await this.#kubelet.delete(pod, { gracePeriodSeconds: 0 })
  }

  #nextAddress(): string {
    this.#lastAddress = (this.#lastAddress + 1) % 65_536
    return `10.244.${this.#lastAddress >> 8}.${this.#lastAddress & 255}`
  }
}
