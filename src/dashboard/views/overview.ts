/** The first view: the operator, its resources with the states of their objects, its queue and its health. */
import { formatResource } from '../../kube/resources/selectors.ts'
import { observedObject } from '../../objects/context.ts'
import { allHandlers, type ServedResource } from '../../objects/state/served-resource.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import { round } from '../durations.ts'
import type { ObjectState, OverviewView, ResourceSummary } from '../protocol.ts'
import { isInScope, type ViewerScope } from '../viewer.ts'
import { findProblems } from './problems-view.ts'
import { Slices, scopeOf, stateOf, type ViewRequest, type ViewSource, viewQueue } from './source.ts'

export async function viewOverview(source: ViewSource, request: ViewRequest): Promise<OverviewView> {
  const { run, statistics, startedAtMs, history } = source
  const { phase, leader, server, pausedNamespaces, daemons } = statistics
  const resources: ResourceSummary[] = []
  for (const served of source.objects.served) resources.push(await summarize(source, served, request))
  const { ready, checks } = run.health.readiness()
  const { rss, heapUsed } = process.memoryUsage()
  const { webhooks } = run.health
  const problems = await findProblems(source, request)
  return {
    operator: {
      ...(run.name !== undefined && { name: run.name }),
      version: packageVersion(),
      node: process.version,
      ...(server !== undefined && { server }),
      startedAtMs,
      phase,
      leader,
      isPaused: run.pause.isPaused,
      pausedNamespaces: [...pausedNamespaces].sort(),
    },
    readiness: { ready, checks: Object.fromEntries(Object.entries(checks).map(([name, { ok }]) => [name, { ok }])) },
    resources,
    queue: viewQueue(source),
    eventLoop: { lagMs: round(run.watchdog.lagMs) },
    // To megabytes: the view changes only if the memory does.
    memory: { rssBytes: toMegabytes(rss), heapBytes: toMegabytes(heapUsed) },
    daemons,
    ...(webhooks !== undefined && {
      webhooks: { state: webhooks, reviews: statistics.reviews.count, denials: statistics.reviews.denials },
    }),
    problems: problems.length,
    history: history(),
  }
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20) * 2 ** 20
}

async function summarize(
  source: ViewSource,
  served: ServedResource,
  { viewer }: ViewRequest,
): Promise<ResourceSummary> {
  const { resource, handlers } = served
  const scope = await scopeOf(viewer, served)
  const isVisible = scope === 'all' || scope.size > 0
  return {
    resource: formatResource(resource),
    kind: resource.kind,
    ...(isVisible && { states: await countStates(source, served, scope) }),
    handlers: allHandlers(handlers).map(({ id, type }) => ({ id, type })),
    streams: countStreams(source, served),
  }
}

async function countStates(
  source: ViewSource,
  served: ServedResource,
  scope: ViewerScope,
): Promise<Record<ObjectState, number>> {
  const counts: Record<ObjectState, number> = {
    failed: 0,
    retrying: 0,
    handling: 0,
    waiting: 0,
    deleting: 0,
    handled: 0,
  }
  if (scope === 'all') {
    const unhandled = source.states.countsOf(served.resource)
    const sum = Object.values(unhandled).reduce((total, count) => total + count, 0)
    return { ...unhandled, handled: Math.max(0, served.objects.size - sum) }
  }
  const slices = new Slices()
  for (const object of served.objects.values()) {
    const turn = slices.next()
    if (turn !== undefined) await turn
    if (isInScope(scope, object.body.metadata.namespace)) counts[stateOf(source, observedObject(object))] += 1
  }
  return counts
}

function countStreams({ statistics, run }: ViewSource, { resource }: ServedResource): ResourceSummary['streams'] {
  const name = formatResource(resource)
  let [open, down, restarts] = [0, 0, 0]
  let lastMs = Infinity
  for (const stream of statistics.streams.values()) {
    if (formatResource(stream.resource) !== name) continue
    if (stream.isOpen) open += 1
    else down += 1
    restarts += stream.restarts
    lastMs = Math.min(lastMs, stream.lastAtMs)
  }
  // To five seconds: the view changes only if the number does.
  const silenceSeconds = Math.max(0, Math.floor((run.clock.now() - lastMs) / 5000) * 5)
  return { open, down, restarts, ...(open + down > 0 && { silenceSeconds }) }
}
