/** Deletes finished Jobs and their pods after `ttlSecondsAfterFinished`. */
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import { isJobFinished, type Job } from './job-shapes.ts'
import { ObjectWriter } from './object-writer.ts'
import { findByKey, follow } from './reading.ts'
import { parseTime } from './times.ts'
import { WorkQueue } from './work-queue.ts'

const collection = 'batch/jobs'

export class FinishedJobController {
  readonly #parts: ServerContext
  readonly #writer: ObjectWriter
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#writer = new ObjectWriter(parts, serviceAccount('ttl-after-finished-controller'))
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'finished-jobs')
    follow(parts, collection, ({ type, current }) => type !== 'DELETED' && this.#queue.add(current.key))
  }

  async #sync(key: string): Promise<void> {
    const job = findByKey<Job>(this.#parts, collection, key)
    const { ttlSecondsAfterFinished } = job?.spec ?? {}
    if (job === undefined || ttlSecondsAfterFinished === undefined || !isJobFinished(job)) return
    if (job.metadata.deletionTimestamp !== undefined) return
    const end = job.status.conditions!.find(({ type }) => type === 'Complete' || type === 'Failed')!
    const dueMs = parseTime(end.lastTransitionTime) + ttlSecondsAfterFinished * 1000
    if (dueMs > this.#parts.clock.now()) this.#queue.addAt(key, dueMs)
    else await this.#writer.delete(job, { propagationPolicy: 'Foreground' })
  }
}
