/**
 * The Job controller: keeps up to `parallelism` pods until enough succeed or too many fail. The state of a Job is computed in
 * job-state.ts.
 */
import type { ServerContext } from '../../call.ts'
import { StatusError } from '../../status.ts'
import { serviceAccount } from '../call-as.ts'
import { claim } from './claiming.ts'
import { EventRecorder } from './event-recorder.ts'
import { formatIndexes } from './job-indexes.ts'
import { hasCondition, isIndexed, isJobFinished, type Job, type JobStatus, trackingFinalizer } from './job-shapes.ts'
import {
  backoffUntil,
  completedIndexes,
  dated,
  deadlineOf,
  desiredActive,
  type FinishCondition,
  finishConditionOf,
  hasFailed,
  isCounted,
  missingIndexes,
  newlyFinished,
  toJobPod,
} from './job-state.ts'
import { ObjectWriter } from './object-writer.ts'
import { byDeletionOrder, isActive, isReady, isTerminating } from './pods-of-sets.ts'
import { enqueueOwners, findByKey, follow, getByKey, list } from './reading.ts'
import type { Pod, StatusCondition } from './shapes.ts'
import { formatTime } from './times.ts'
import { WorkQueue } from './work-queue.ts'

const jobs = { collection: 'batch/jobs', kind: 'Job' }
const component = 'job-controller'
const burst = 500

export class JobController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount(component))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'jobs')
    follow(parts, jobs.collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, 'pods', (change) => enqueueOwners(parts, jobs, change, (key) => this.#queue.add(key)))
  }

  async #sync(key: string): Promise<void> {
    const job = findByKey<Job>(this.#parts, jobs.collection, key)
    if (job === undefined || job.spec.managedBy !== undefined) return
    const pods = await claim(this.#writer, job, list<Pod>(this.#parts, 'pods', job.metadata.namespace!))
    if (isJobFinished(job) || isTerminating(job)) return this.#releaseAll(pods)
    const begun = await this.#updateStart(key, job)
    const finish = finishConditionOf(begun, pods, this.#parts.clock.now())
    const refusal = await this.#adjust(begun, pods, finish)
    await this.#count(key, finish)
    const deadlineMs = finish === undefined ? deadlineOf(begun) : undefined
    if (deadlineMs !== undefined) this.#queue.addAt(key, deadlineMs)
    if (refusal !== undefined) throw refusal
  }

  /** Removes the tracking finalizers, since a finished Job counts no more pods. */
  async #releaseAll(pods: readonly Pod[]): Promise<void> {
    for (const pod of pods) if (!isCounted(pod)) await this.#release(pod)
  }

  async #release(pod: Pod): Promise<void> {
    const finalizers = pod.metadata.finalizers?.filter((name) => name !== trackingFinalizer) ?? []
    await this.#writer.update({ ...pod, metadata: { ...pod.metadata, finalizers } })
  }

  /** Sets startTime unless the Job is suspended, and writes the Suspended condition and an event when `suspend` changes. */
  async #updateStart(key: string, job: Job): Promise<Job> {
    const nowMs = this.#parts.clock.now()
    const { suspend = false } = job.spec
    const { startTime = formatTime(nowMs), ...rest } = job.status
    const wasSuspended = hasCondition(job, 'Suspended')
    if (suspend === wasSuspended) {
      return suspend || job.status.startTime ? job : this.#writer.updateStatus(job, { ...rest, startTime })
    }
    const [status, reason, message] = suspend
      ? ['True', 'JobSuspended', 'Job suspended']
      : ['False', 'JobResumed', 'Job resumed']
    const others = (rest.conditions ?? []).filter(({ type }) => type !== 'Suspended')
    const conditions = [
      ...others,
      dated({ type: 'Suspended', status: status!, reason: reason!, message: message! }, nowMs),
    ]
    const begun = suspend ? {} : { startTime: formatTime(nowMs) }
    await this.#recorder.record(job, 'Normal', suspend ? 'Suspended' : 'Resumed', message!)
    await this.#writer.updateStatus(job, { ...rest, ...begun, conditions })
    return getByKey<Job>(this.#parts, jobs.collection, key)
  }

  /** Creates missing pods and deletes surplus pods. Returns the rejection if a write was rejected. */
  async #adjust(job: Job, pods: readonly Pod[], finish: FinishCondition | undefined): Promise<StatusError | undefined> {
    const active = pods.filter(isActive)
    const wanted = finish === undefined ? desiredActive(job, pods) : 0
    try {
      for (const pod of [...active].sort(byDeletionOrder).slice(0, Math.max(0, active.length - wanted))) {
        // Surplus pods of a continuing Job must not be counted as failed.
        if (finish === undefined) await this.#release(pod)
        await this.#writer.delete(pod)
        await this.#recordEvent(job, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
      }
      if (wanted > active.length) await this.#create(job, pods, wanted - active.length)
      return undefined
    } catch (error) {
      if (error instanceof StatusError) return error
      throw error
    }
  }

  async #create(job: Job, pods: readonly Pod[], missing: number): Promise<void> {
    const { name, namespace } = job.metadata
    const key = `${namespace}/${name}`
    const backoffMs = backoffUntil(pods)
    if (backoffMs > this.#parts.clock.now()) return this.#queue.addAt(key, backoffMs)
    const count = Math.min(missing, burst)
    const desiredPods = isIndexed(job)
      ? missingIndexes(job, pods, count).map((index) => toJobPod(job, index))
      : Array.from({ length: count }, () => toJobPod(job))
    for (const one of desiredPods) {
      const pod = await this.#writer.create(one)
      await this.#recordEvent(job, 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`)
    }
  }

  #recordEvent(job: Job, reason: string, message: string, type: 'Normal' | 'Warning' = 'Normal'): Promise<void> {
    return this.#recorder.record(job, type, reason, message)
  }

  /**
   * Counts finished pods in three steps, so that a crash in between neither loses nor double-counts a pod: records them in
   * uncountedTerminatedPods, removes their finalizers, then increments the counters.
   */
  async #count(key: string, finish: FinishCondition | undefined): Promise<void> {
    const job = getByKey<Job>(this.#parts, jobs.collection, key)
    const pods = this.#podsOf(job)
    const noted = await this.#writer.updateStatus(job, {
      ...withUncountedPods(job, pods),
      ...this.#targetOf(job, finish),
    })
    const isOver = (pod: Pod) => pod.status.phase === 'Succeeded' || hasFailed(job, pod)
    for (const pod of pods) if (!isCounted(pod) && isOver(pod)) await this.#release(pod)
    const counted = countedStatus(noted, pods)
    const left = this.#podsOf(job)
    const isDone = finish !== undefined && !left.some((pod) => isActive(pod) || isTerminating(pod))
    const nowMs = this.#parts.clock.now()
    const current = getByKey<Job>(this.#parts, jobs.collection, key)
    await this.#writer.updateStatus(current, isDone ? finalStatus(counted, finish, nowMs) : countsOf(counted, left))
    if (!isDone) return
    if (finish.type === 'FailureTarget') await this.#recordEvent(job, finish.reason, finish.message, 'Warning')
    else await this.#recordEvent(job, 'Completed', 'Job completed')
  }

  #podsOf(job: Job): Pod[] {
    const pods = list<Pod>(this.#parts, 'pods', job.metadata.namespace!)
    return pods.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid))
  }

  #targetOf({ status }: Job, finish: FinishCondition | undefined): Pick<JobStatus, 'conditions'> | undefined {
    const known = status.conditions ?? []
    if (finish === undefined || known.some(({ type }) => type === finish.type)) return undefined
    return { conditions: [...known, dated({ ...finish, status: 'True' }, this.#parts.clock.now())] }
  }
}

function withUncountedPods(job: Job, pods: readonly Pod[]): JobStatus {
  const { succeeded, failed } = newlyFinished(job, pods)
  const uids = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.uid!)
  const known = job.status.uncountedTerminatedPods ?? {}
  const merge = (before: readonly string[] | undefined, now: readonly string[]) => [
    ...new Set([...(before ?? []), ...now]),
  ]
  const indexed = isIndexed(job)
  const next = {
    succeeded: indexed ? [] : merge(known.succeeded, uids(succeeded)),
    failed: merge(known.failed, uids(failed)),
  }
  const present = Object.fromEntries(Object.entries(next).filter(([, list]) => list.length > 0))
  const indexes = completedIndexes(job, pods)
  return {
    ...job.status,
    uncountedTerminatedPods: present,
    ...(indexed && indexes.size > 0 && { succeeded: indexes.size, completedIndexes: formatIndexes(indexes) }),
  }
}

function countedStatus(job: Job, pods: readonly Pod[]): JobStatus {
  const { uncountedTerminatedPods = {}, succeeded = 0, failed = 0 } = job.status
  const counted = {
    ...job.status,
    succeeded: succeeded + (uncountedTerminatedPods.succeeded?.length ?? 0),
    failed: failed + (uncountedTerminatedPods.failed?.length ?? 0),
    uncountedTerminatedPods: {},
  }
  return countsOf(counted, pods)
}

function countsOf(status: JobStatus, pods: readonly Pod[]): JobStatus {
  const active = pods.filter(isActive)
  return {
    ...status,
    active: active.length,
    ready: active.filter(isReady).length,
    terminating: pods.filter(
      (pod) => isTerminating(pod) && pod.status.phase !== 'Failed' && pod.status.phase !== 'Succeeded',
    ).length,
  }
}

function finalStatus(status: JobStatus, { type, reason, message }: FinishCondition, nowMs: number): JobStatus {
  const final: StatusCondition = {
    type: type === 'FailureTarget' ? 'Failed' : 'Complete',
    status: 'True',
    reason,
    message,
  }
  return {
    ...status,
    active: 0,
    ready: 0,
    terminating: 0,
    conditions: [...(status.conditions ?? []), dated(final, nowMs)],
    ...(type === 'SuccessCriteriaMet' && { completionTime: formatTime(nowMs) }),
  }
}
