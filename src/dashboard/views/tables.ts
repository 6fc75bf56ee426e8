/** The views of handlers, requests and webhooks: tables of the statistics. */

import { toRef } from '../../journal/journal.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import { allHandlers } from '../../objects/state/served-resource.ts'
import type { ObservedObject } from '../../observer.ts'
import { round } from '../durations.ts'
import type { HandlerRow, HandlersView, RequestsView, WebhooksView } from '../protocol.ts'
import type { HandlerNumbers, RecentReview } from '../statistics.ts'
import { isInScope, type Viewer, type ViewerScope } from '../viewer.ts'
import { scopeOf, type ViewRequest, type ViewSource } from './source.ts'

/** Where the viewer may list objects, by resource. */
export type Scopes = ReadonlyMap<string, ViewerScope>

export async function scopesOf({ objects }: ViewSource, { viewer }: ViewRequest): Promise<Scopes> {
  const scopes = new Map<string, ViewerScope>()
  for (const served of objects.served) scopes.set(formatResource(served.resource), await scopeOf(viewer, served))
  return scopes
}

export function isVisible(scopes: Scopes, { resource, namespace }: ObservedObject): boolean {
  return isInScope(scopes.get(formatResource(resource)), namespace)
}

export async function viewHandlers(source: ViewSource, request: ViewRequest): Promise<HandlersView> {
  const scopes = await scopesOf(source, request)
  const rows = new Map<string, HandlerRow>()
  for (const { resource, handlers } of source.objects.served) {
    for (const { id, type } of allHandlers(handlers)) {
      const name = formatResource(resource)
      rows.set(`${name} ${type} ${id}`, { id, type, resource: name, ...noCalls })
    }
  }
  for (const [key, numbers] of source.statistics.handlers) rows.set(key, toHandlerRow(numbers, scopes))
  return { handlers: [...rows.values()].sort(compareHandlers) }
}

const noCalls = { calls: 0, succeeded: 0, retrying: 0, failed: 0, running: 0, slowest: [] }

function toHandlerRow(numbers: HandlerNumbers, scopes: Scopes): HandlerRow {
  const { id, type, resource, calls, succeeded, retrying, failed, running, durations, slowest, lastError } = numbers
  const isShown = lastError !== undefined && (lastError.object === undefined || isVisible(scopes, lastError.object))
  return {
    id,
    type,
    ...(resource !== undefined && { resource: formatResource(resource) }),
    calls,
    succeeded,
    retrying,
    failed,
    running,
    ...durations.percentiles,
    slowest: slowest
      .filter(({ object }) => isVisible(scopes, object))
      .map(({ object, durationMs }) => ({ ...toRef(object), durationMs: round(durationMs) })),
    ...(isShown && { lastError: lastError.message, lastErrorAtMs: lastError.atMs }),
  }
}

function compareHandlers(a: HandlerRow, b: HandlerRow): number {
  const [left, right] = [`${a.resource ?? ''} ${a.id} ${a.type}`, `${b.resource ?? ''} ${b.id} ${b.type}`]
  return left < right ? -1 : left > right ? 1 : 0
}

export function viewRequests({ statistics, run }: ViewSource): RequestsView {
  const nowMs = run.clock.now()
  const rows = Array.from(statistics.requests.values(), ({ purpose, method, code, rate, durations }) => ({
    purpose,
    method,
    code,
    count: rate.count,
    perSecond: rate.perSecond(nowMs),
    ...durations.percentiles,
  }))
  const { allRequests } = statistics
  return {
    total: allRequests.count,
    perSecond: allRequests.perSecond(nowMs),
    rows: rows.sort((a, b) => b.count - a.count),
  }
}

export async function viewWebhooks({ run, statistics }: ViewSource, { viewer }: ViewRequest): Promise<WebhooksView> {
  const recent: Array<RecentReview['row']> = []
  // One after the other: the API server is asked for each namespace once, and only so many questions may wait.
  for (const review of statistics.recentReviews) recent.push(await toReviewRow(review, viewer))
  return {
    state: run.health.webhooks ?? 'none',
    handlers: run.registry.webhookHandlers.map(({ id, type }) => {
      const { reviews = 0, denials = 0, errors = 0, durations } = statistics.reviewsByHandler.get(id) ?? {}
      return { id, type, reviews, denials, errors, ...durations?.percentiles }
    }),
    recent,
  }
}

/** The reviewed object is shown to users who may list it. It may be of a resource that the operator does not watch. */
async function toReviewRow({ row, subject }: RecentReview, viewer: Viewer): Promise<RecentReview['row']> {
  if (subject === undefined) return row
  const { resource, namespace, ...shown } = subject
  const mayList = (where: string | undefined) => viewer.may({ verb: 'list', resource, namespace: where })
  if (!(await mayList(undefined)) && (namespace === undefined || !(await mayList(namespace)))) return row
  return { ...row, resource: formatResource(resource), ...(namespace !== undefined && { namespace }), ...shown }
}
