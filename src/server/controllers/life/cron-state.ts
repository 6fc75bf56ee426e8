/** What a cron job is due to do, and the jobs it makes. Pure. */
import type { JsonObject, KubeObject } from '../../../kube/objects.ts'
import type { NextTime } from './cron-times.ts'
import { controllerReference } from './reading.ts'
import { formatTime, parseTime } from './times.ts'

export interface CronJob extends KubeObject {
  spec: {
    readonly schedule: string
    readonly timeZone?: string
    readonly suspend?: boolean
    readonly concurrencyPolicy: string
    readonly startingDeadlineSeconds?: number
    readonly successfulJobsHistoryLimit?: number
    readonly failedJobsHistoryLimit?: number
    readonly jobTemplate: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>
        readonly annotations?: Readonly<Record<string, string>>
      }
      readonly spec: JsonObject
    }
  }
  status: {
    readonly active?: ReadonlyArray<{ readonly name: string; readonly uid: string }>
    readonly lastScheduleTime?: string
    readonly lastSuccessfulTime?: string
  }
}

/** So many missed times are walked through one by one; of more than these, only the latest are looked at. */
const mostSteps = 1000

/** The latest time that has come since it last did something; undefined where none has. */
export function lastDue(cronJob: CronJob, next: NextTime, nowMs: number): number | undefined {
  const { startingDeadlineSeconds } = cronJob.spec
  const sinceMs = parseTime(cronJob.status.lastScheduleTime ?? cronJob.metadata.creationTimestamp)
  const deadlineMs = startingDeadlineSeconds === undefined ? 0 : nowMs - startingDeadlineSeconds * 1000
  const first = next(Math.max(sinceMs, deadlineMs))
  if (first === undefined || first > nowMs) return undefined
  const second = next(first)
  if (second === undefined || second > nowMs) return first
  const steps = (nowMs - first) / (second - first)
  let due = steps > mostSteps ? (next(nowMs - 2 * (second - first)) ?? first) : second
  for (let step = 0; step < mostSteps; step += 1) {
    const later = next(due)
    if (later === undefined || later > nowMs) break
    due = later
  }
  return due
}

/** Named for its minute, so that none is made twice for one time. */
export function toJob(cronJob: CronJob, dueMs: number): KubeObject {
  const { name, namespace = '' } = cronJob.metadata
  const { metadata, spec } = cronJob.spec.jobTemplate
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `${name}-${Math.floor(dueMs / 60_000)}`,
      namespace,
      ...(metadata?.labels && { labels: { ...metadata.labels } }),
      annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': formatTime(dueMs) },
      ownerReferences: [controllerReference(cronJob)],
    },
    spec: { ...spec },
  }
}
