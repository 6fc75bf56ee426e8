/** The series about watches: how long they are silent, and why they start again. */
import { ApiError } from '../../client/api-error.ts'
import { ConnectionError } from '../../client/connection-error.ts'
import { KopfError } from '../../errors.ts'
import type { ObservedStream, Observer } from '../../observer.ts'
import { resourceLabel } from '../resource-label.ts'
import type { SeriesContext } from './series-context.ts'

const reasons = ['expired', 'forbidden', 'rejected', 'connection', 'silent', 'closed', 'malformed', 'other'] as const

type RestartReason = (typeof reasons)[number]

interface FollowedStream {
  readonly label: string
  lastMs: number
}

export function createWatchSeries({ registry, nowMs, collect }: SeriesContext): Observer {
  const silence = registry.gauge('kopf_watch_silence_seconds', {
    help: 'Time since the last data of the quietest watch of the resource. Servers send a bookmark about every minute.',
    labels: ['resource'],
  })
  const restarts = registry.counter('kopf_watch_restarts_total', {
    help: 'Watches that have failed and were opened again, by reason.',
    labels: ['resource', 'reason'],
  })
  /** By resource and namespace. */
  const streams = new Map<string, FollowedStream>()
  const follow = ({ resource, namespace }: ObservedStream) => {
    const label = resourceLabel(resource)
    const key = `${label}/${namespace ?? ''}`
    const known = streams.get(key)
    if (known !== undefined) known.lastMs = nowMs()
    else streams.set(key, { label, lastMs: nowMs() })
  }
  collect(() => {
    const quietest = new Map<string, number>()
    for (const { label, lastMs } of streams.values()) {
      quietest.set(label, Math.max(quietest.get(label) ?? 0, (nowMs() - lastMs) / 1000))
    }
    registry.removeSeries('kopf_watch_silence_seconds', ([label]) => !quietest.has(label!))
    for (const [resource, seconds] of quietest) silence.labels({ resource }).set(seconds)
  })
  return {
    resourceServed({ resource }) {
      for (const reason of reasons) restarts.labels({ resource: resourceLabel(resource), reason })
    },
    streamOpened: follow,
    streamResumed: follow,
    streamReceived: follow,
    streamFailed(event) {
      const { resource, namespace, error } = event
      const label = resourceLabel(resource)
      // The silence of a watch that has never been open counts from its first failure.
      if (!streams.has(`${label}/${namespace ?? ''}`)) follow(event)
      restarts.labels({ resource: label, reason: reasonOf(error) }).inc()
    },
    streamEnded({ resource, namespace }) {
      streams.delete(`${resourceLabel(resource)}/${namespace ?? ''}`)
    },
  }
}

function reasonOf(error: Error): RestartReason {
  if (error instanceof ConnectionError) return 'connection'
  if (error instanceof ApiError) {
    if (error.status === 410) return 'expired'
    return error.status === 401 || error.status === 403 ? 'forbidden' : 'rejected'
  }
  return (error instanceof KopfError ? reasonsByCode.get(error.code) : undefined) ?? 'other'
}

const reasonsByCode: ReadonlyMap<string, RestartReason> = new Map([
  ['KOPF_WATCH_SILENT', 'silent'],
  ['KOPF_WATCH_CLOSED', 'closed'],
  ['KOPF_WATCH_MALFORMED', 'malformed'],
])
