/**
 * The CronJob controller: creates a Job when the schedule is due by the server's clock, and deletes finished Jobs beyond the
 * history limits.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { type CronJob, lastDue, toJob } from './cron-state.ts'
import { parseCron } from './cron-times.ts'
import { EventRecorder } from './event-recorder.ts'
import { isJobFinished, type Job } from './job-shapes.ts'
import { ObjectWriter } from './object-writer.ts'
import { enqueueOwners, find, findByKey, follow, isControlledBy, keyOfObject, list } from './reading.ts'
import { formatTime, parseTime } from './times.ts'
import { WorkQueue } from './work-queue.ts'

const cronJobs = { collection: 'batch/cronjobs', kind: 'CronJob' }
const jobs = 'batch/jobs'
const component = 'cronjob-controller'

export class CronJobController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #recorder: EventRecorder
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount(component))
    this.#recorder = new EventRecorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'cron-jobs')
    follow(parts, cronJobs.collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, jobs, (change) => enqueueOwners(parts, cronJobs, change, (key) => this.#queue.add(key)))
  }

  async #sync(key: string): Promise<void> {
    const cronJob = findByKey<CronJob>(this.#parts, cronJobs.collection, key)
    if (cronJob === undefined) return
    const current = await this.#updateActive(cronJob)
    await this.#deleteOldJobs(current)
    if (current.metadata.deletionTimestamp !== undefined || current.spec.suspend) return
    const next = parseCron(current.spec.schedule, current.spec.timeZone)
    const nowMs = this.#parts.clock.now()
    const dueMs = lastDue(current, next, nowMs)
    if (dueMs !== undefined && this.#isInTime(current, dueMs)) await this.#startJob(current, dueMs)
    const nextMs = next(nowMs)
    if (nextMs !== undefined) this.#queue.addAt(key, nextMs)
  }

  #isInTime({ spec }: CronJob, dueMs: number): boolean {
    const { startingDeadlineSeconds } = spec
    return startingDeadlineSeconds === undefined || dueMs + startingDeadlineSeconds * 1000 >= this.#parts.clock.now()
  }

  /** Removes finished Jobs from `status.active` and updates `lastSuccessfulTime`. */
  async #updateActive(cronJob: CronJob): Promise<CronJob> {
    const { active: known = [], ...status } = cronJob.status
    const active = []
    for (const reference of known) {
      const job = find<Job>(this.#parts, jobs, cronJob.metadata.namespace!, reference.name)
      if (job === undefined) continue
      if (!isJobFinished(job)) active.push(reference)
      else
        await this.#recordEvent(
          cronJob,
          'SawCompletedJob',
          `Saw completed job: ${reference.name}, condition: ${endOf(job)}`,
        )
    }
    const successes = this.#jobsOf(cronJob).flatMap(({ status: { completionTime } }) => completionTime ?? [])
    const lastSuccessfulTime = [...successes, status.lastSuccessfulTime ?? ''].sort().at(-1)!
    return this.#writer.updateStatus(cronJob, {
      ...status,
      ...(active.length > 0 && { active }),
      ...(lastSuccessfulTime !== '' && { lastSuccessfulTime }),
    })
  }

  async #startJob(cronJob: CronJob, dueMs: number): Promise<void> {
    const active = this.#jobsOf(cronJob).filter((job) => !isJobFinished(job))
    const { concurrencyPolicy } = cronJob.spec
    if (concurrencyPolicy === 'Forbid' && active.length > 0) {
      const why = 'Not starting job because prior execution is running and concurrency policy is Forbid'
      return this.#recordEvent(cronJob, 'JobAlreadyActive', why)
    }
    if (concurrencyPolicy === 'Replace') for (const job of active) await this.#delete(cronJob, job)
    const desired = toJob(cronJob, dueMs)
    const existing = find<Job>(this.#parts, jobs, desired.metadata.namespace!, desired.metadata.name!)
    const job = existing ?? (await this.#writer.create<Job>(desired))
    if (existing === undefined) await this.#recordEvent(cronJob, 'SuccessfulCreate', `Created job ${job.metadata.name}`)
    const current = findByKey<CronJob>(this.#parts, cronJobs.collection, keyOfObject(cronJob))
    if (current === undefined) return
    const kept = (current.status.active ?? []).filter(({ uid }) => uid !== job.metadata.uid)
    await this.#writer.updateStatus(current, {
      ...current.status,
      active: concurrencyPolicy === 'Replace' ? [referenceTo(job)] : [...kept, referenceTo(job)],
      lastScheduleTime: formatTime(dueMs),
    })
  }

  async #deleteOldJobs(cronJob: CronJob): Promise<void> {
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec
    const finished = this.#jobsOf(cronJob)
      .filter((job) => isJobFinished(job) && job.metadata.deletionTimestamp === undefined)
      .sort((one, other) => parseTime(one.status.startTime) - parseTime(other.status.startTime))
    const beyond = (type: string, limit: number | undefined) => {
      const those = finished.filter((job) => endOf(job) === type)
      return limit === undefined ? [] : those.slice(0, Math.max(0, those.length - limit))
    }
    const surplus = [...beyond('Complete', successfulJobsHistoryLimit), ...beyond('Failed', failedJobsHistoryLimit)]
    for (const job of surplus) await this.#delete(cronJob, job)
  }

  async #delete(cronJob: CronJob, job: Job): Promise<void> {
    await this.#writer.delete(job, { propagationPolicy: 'Background' })
    await this.#recordEvent(cronJob, 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
  }

  #recordEvent(cronJob: CronJob, reason: string, message: string): Promise<void> {
    return this.#recorder.record(cronJob, 'Normal', reason, message)
  }

  #jobsOf(cronJob: CronJob): Job[] {
    const all = list<Job>(this.#parts, jobs, cronJob.metadata.namespace!)
    return all.filter((job) => isControlledBy(job, cronJob))
  }
}

function endOf({ status }: Job): string {
  return status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed')?.type ?? ''
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject): object {
  const { name, namespace, uid, resourceVersion } = metadata
  return { apiVersion, kind, name, namespace, uid, resourceVersion }
}
