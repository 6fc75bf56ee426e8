/** Computes when a CronJob is due, and the Jobs it creates. Pure. */
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

/** Maximum number of missed times that are iterated. With more missed times, the search starts shortly before now. */
const maxSteps = 1000

/** The latest scheduled time since the last run; undefined if none is due. */
export function lastDue(cronJob: CronJob, next: NextTime, nowMs: number): number | undefined {
  const { startingDeadlineSeconds } = cronJob.spec
  const sinceMs = parseTime(cronJob.status.lastScheduleTime ?? cronJob.metadata.creationTimestamp)
  const deadlineMs = startingDeadlineSeconds === undefined ? 0 : nowMs - startingDeadlineSeconds * 1000
  const first = next(Math.max(sinceMs, deadlineMs))
  if (first === undefined || first > nowMs) return undefined
  const second = next(first)
  if (second === undefined || second > nowMs) return first
  const steps = (nowMs - first) / (second - first)
  let due = steps > maxSteps ? (next(nowMs - 2 * (second - first)) ?? first) : second
  for (let step = 0; step < maxSteps; step += 1) {
    const later = next(due)
    if (later === undefined || later > nowMs) break
    due = later
  }
  return due
}

/** The name contains the scheduled minute, so that no Job is created twice for the same time. */
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
