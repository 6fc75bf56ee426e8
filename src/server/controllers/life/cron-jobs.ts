/** Cron jobs: a job whenever their schedule is due, by the clock of the server, and no more old ones than they want to keep. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Parts } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { type CronJob, lastDue, toJob } from './cron-state.ts'
import { parseCron } from './cron-times.ts'
import { isJobFinished, type Job } from './job-shapes.ts'
import { find, findByKey, follow, isControlledBy, keyOfObject, list, tellOwners } from './reading.ts'
import { Recorder } from './recording.ts'
import { formatTime, parseTime } from './times.ts'
import { WorkQueue } from './work-queue.ts'
import { Writer } from './writing.ts'

const cronJobs = { collection: 'batch/cronjobs', kind: 'CronJob' }
const jobs = 'batch/jobs'
const component = 'cronjob-controller'

export class CronJobController {
  readonly #parts: Parts
  readonly #writer: Writer
  readonly #recorder: Recorder
  readonly #queue: WorkQueue

  constructor(parts: Parts) {
    this.#parts = parts
    this.#writer = new Writer(parts, serviceAccount(component))
    this.#recorder = new Recorder(parts, this.#writer, component)
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'cron-jobs')
    follow(parts, cronJobs.collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
    follow(parts, jobs, (change) => tellOwners(parts, cronJobs, change, (key) => this.#queue.add(key)))
  }

  async #sync(key: string): Promise<void> {
    const cronJob = findByKey<CronJob>(this.#parts, cronJobs.collection, key)
    if (cronJob === undefined) return
    const current = await this.#takeStock(cronJob)
    await this.#forget(current)
    if (current.metadata.deletionTimestamp !== undefined || current.spec.suspend) return
    const next = parseCron(current.spec.schedule, current.spec.timeZone)
    const nowMs = this.#parts.clock.now()
    const dueMs = lastDue(current, next, nowMs)
    if (dueMs !== undefined && this.#isInTime(current, dueMs)) await this.#begin(current, dueMs)
    const nextMs = next(nowMs)
    if (nextMs !== undefined) this.#queue.addAt(key, nextMs)
  }

  #isInTime({ spec }: CronJob, dueMs: number): boolean {
    const { startingDeadlineSeconds } = spec
    return startingDeadlineSeconds === undefined || dueMs + startingDeadlineSeconds * 1000 >= this.#parts.clock.now()
  }

  /** Those that are over are not active any more, and the last success is noted. */
  async #takeStock(cronJob: CronJob): Promise<CronJob> {
    const { active: known = [], ...status } = cronJob.status
    const active = []
    for (const reference of known) {
      const job = find<Job>(this.#parts, jobs, cronJob.metadata.namespace!, reference.name)
      if (job === undefined) continue
      if (!isJobFinished(job)) active.push(reference)
      else
        await this.#tell(cronJob, 'SawCompletedJob', `Saw completed job: ${reference.name}, condition: ${endOf(job)}`)
    }
    const successes = this.#jobsOf(cronJob).flatMap(({ status: { completionTime } }) => completionTime ?? [])
    const lastSuccessfulTime = [...successes, status.lastSuccessfulTime ?? ''].sort().at(-1)!
    return this.#writer.updateStatus(cronJob, {
      ...status,
      ...(active.length > 0 && { active }),
      ...(lastSuccessfulTime !== '' && { lastSuccessfulTime }),
    })
  }

  async #begin(cronJob: CronJob, dueMs: number): Promise<void> {
    const active = this.#jobsOf(cronJob).filter((job) => !isJobFinished(job))
    const { concurrencyPolicy } = cronJob.spec
    if (concurrencyPolicy === 'Forbid' && active.length > 0) {
      const why = 'Not starting job because prior execution is running and concurrency policy is Forbid'
      return this.#tell(cronJob, 'JobAlreadyActive', why)
    }
    if (concurrencyPolicy === 'Replace') for (const job of active) await this.#delete(cronJob, job)
    const wished = toJob(cronJob, dueMs)
    const there = find<Job>(this.#parts, jobs, wished.metadata.namespace!, wished.metadata.name!)
    const job = there ?? (await this.#writer.create<Job>(wished))
    if (there === undefined) await this.#tell(cronJob, 'SuccessfulCreate', `Created job ${job.metadata.name}`)
    const current = findByKey<CronJob>(this.#parts, cronJobs.collection, keyOfObject(cronJob))
    if (current === undefined) return
    const kept = (current.status.active ?? []).filter(({ uid }) => uid !== job.metadata.uid)
    await this.#writer.updateStatus(current, {
      ...current.status,
      active: concurrencyPolicy === 'Replace' ? [referenceTo(job)] : [...kept, referenceTo(job)],
      lastScheduleTime: formatTime(dueMs),
    })
  }

  async #forget(cronJob: CronJob): Promise<void> {
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
    await this.#tell(cronJob, 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
  }

  #tell(cronJob: CronJob, reason: string, message: string): Promise<void> {
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
