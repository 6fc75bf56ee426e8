/** Everything that fails now, in words, with what to do. Pure apart from reading the run. */

import { toRef } from '../../journal/journal.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { ObservedObject } from '../../observer.ts'
import type { ObjectRecord } from '../object-facts.ts'
import type { ObjectState, Problem, ProblemsView } from '../protocol.ts'
import { stateOf, type ViewRequest, type ViewSource, viewQueue } from './source.ts'
import { isVisible, type Scopes, scopesOf } from './tables.ts'

const maxObjects = 20
const maxProblems = 100
const maxLagMs = 500
const maxWaitSeconds = 10
/** Servers send a bookmark about every minute, and the operator opens a silent watch again after `watching.inactivityTimeout`. */
const maxSilenceMs = 180_000
/** Contention and refused requests are shown for this long after they were last found. */
const recentMs = 600_000

export async function viewProblems(source: ViewSource, request: ViewRequest): Promise<ProblemsView> {
  return { problems: await findProblems(source, request) }
}

export async function findProblems(source: ViewSource, request: ViewRequest): Promise<readonly Problem[]> {
  const scopes = await scopesOf(source, request)
  const problems = [
    ...runProblems(source),
    ...streamProblems(source),
    ...requestProblems(source),
    ...objectProblems(source, scopes),
  ]
  return problems.sort((a, b) => rank(a) - rank(b)).slice(0, maxProblems)
}

function rank({ severity }: Problem): number {
  return severity === 'error' ? 0 : 1
}

type ProblemText = Pick<Problem, 'id' | 'severity' | 'title' | 'remedy'> & { readonly sinceMs?: number | undefined }

function toProblem({ sinceMs, ...text }: ProblemText, objects: readonly ObservedObject[] = []): Problem {
  return {
    ...text,
    ...(sinceMs !== undefined && { sinceMs }),
    objects: objects.slice(0, maxObjects).map(toRef),
    moreObjects: Math.max(0, objects.length - maxObjects),
  }
}

function runProblems(source: ViewSource): Problem[] {
  const { run, statistics } = source
  const { pausedNamespaces, leader } = statistics
  const texts: ProblemText[] = []
  const add = (id: string, severity: Problem['severity'], title: string, remedy: string) =>
    texts.push({ id, severity, title, remedy })
  const { waiting, longestWaitSeconds } = viewQueue(source)
  if (leader === 'lost') {
    add(
      'leader',
      'error',
      'This replica has lost the leadership.',
      'It stops. Look at the log of the replica for the reason, and at the Lease for the present leader.',
    )
  } else if (leader === 'awaited') {
    add(
      'leader',
      'warning',
      'This replica has no answer about the Lease yet, so it handles no objects.',
      'Check that the operator may get, create and update Leases, and that the API server can be reached.',
    )
  }
  if (run.pause.isPaused) {
    add(
      'paused',
      'warning',
      'The operator is paused: no handler is called.',
      'Another operator of the peering has a higher priority. Stop that one, or start this one with --standalone.',
    )
  } else if (pausedNamespaces.size > 0) {
    const names = [...pausedNamespaces].sort().slice(0, 5).join(', ')
    add(
      'paused',
      'warning',
      `The operator is paused in ${pausedNamespaces.size} namespaces: ${names}.`,
      'Another operator of the peering has a higher priority there. Stop that one, or start this one with --standalone.',
    )
  }
  if (run.health.webhooks === 'starting' && statistics.phase === 'running') {
    add(
      'webhooks',
      'error',
      'The webhook server does not serve yet.',
      'The API server refuses or admits requests by the failurePolicy meanwhile. Look at the log for the reason.',
    )
  }
  if (run.watchdog.lagMs > maxLagMs) {
    add(
      'event-loop',
      'warning',
      `The event loop was blocked for ${Math.round(run.watchdog.lagMs)} ms in the last ten seconds.`,
      'A handler computes for too long. Move that work into a thread with inWorker(); the log names the handler.',
    )
  }
  if (longestWaitSeconds > maxWaitSeconds && leader !== 'candidate' && !run.pause.isPaused) {
    add(
      'queue',
      'warning',
      `${waiting} objects wait for a worker, the first for ${longestWaitSeconds} seconds.`,
      'Handlers are slower than changes arrive. Look at the slowest handlers, and raise settings.queueing.workerLimit if they wait for something else.',
    )
  }
  return texts.map((text) => toProblem(text))
}

function streamProblems({ statistics, run }: ViewSource): Problem[] {
  const problems: Problem[] = []
  const nowMs = run.clock.now()
  for (const { resource, namespace, isOpen, lastError, downSinceMs, lastAtMs } of statistics.streams.values()) {
    if (isOpen ? nowMs - lastAtMs < maxSilenceMs : lastError === undefined) continue
    const name = formatResource(resource)
    const place = namespace === undefined ? '' : ` in the namespace ${namespace}`
    problems.push(
      toProblem({
        id: `stream ${name} ${namespace ?? ''}`,
        severity: isOpen ? 'warning' : 'error',
        title: isOpen
          ? `The watch of ${name}${place} has been silent for ${Math.round((nowMs - lastAtMs) / 1000)} seconds.`
          : `The watch of ${name}${place} is down: ${lastError}`,
        remedy:
          'Changes of these objects are not seen until it is open again, which is tried all the time. Check the connection, and the permissions to list and watch.',
        sinceMs: isOpen ? lastAtMs : downSinceMs,
      }),
    )
    if (problems.length >= maxProblems) break
  }
  return problems
}

function requestProblems({ statistics, run }: ViewSource): Problem[] {
  const nowMs = run.clock.now()
  const refused = [...statistics.requests.values()].filter(
    ({ code, lastAtMs }) => code === '403' && nowMs - lastAtMs < recentMs,
  )
  return refused.map(({ purpose, method, rate }) =>
    toProblem({
      id: `forbidden ${purpose} ${method}`,
      severity: 'error',
      title: `The API server has refused ${rate.count} requests of the operator (${method}, purpose "${purpose}") with 403.`,
      remedy:
        'Permissions are missing. Compare the role of the operator with what `kopf manifests` prints; the log names the requests.',
    }),
  )
}

interface FailingObjects {
  readonly text: ProblemText
  readonly objects: ObservedObject[]
}

function objectProblems(source: ViewSource, scopes: Scopes): Problem[] {
  const { facts, states, run } = source
  const groups = new Map<string, FailingObjects>()
  const add = (text: ProblemText, object: ObservedObject) => {
    const group = groups.get(text.id)
    if (group !== undefined) group.objects.push(object)
    else if (groups.size < maxProblems) groups.set(text.id, { text, objects: [object] })
  }
  for (const { object, state } of states.all()) {
    const known = facts.of(object)
    if ((state !== 'failed' && state !== 'retrying') || known === undefined || !isVisible(scopes, object)) continue
    for (const text of textsOf(known, stateOf(source, object))) add(text, object)
  }
  for (const one of facts.contended) {
    const text = toContention(one, run.clock.now())
    if (text !== undefined && isVisible(scopes, one.object)) add(text, one.object)
  }
  return Array.from(groups.values(), ({ text, objects }) => toProblem(text, objects))
}

function* textsOf(facts: ObjectRecord, state: ObjectState): Iterable<ProblemText> {
  const { object, lastFailure, failing } = facts
  const resource = formatResource(object.resource)
  const sinceMs = lastFailure?.atMs
  const error = lastFailure?.message ?? 'the log has the error'
  if (facts.isTooLarge) {
    yield {
      id: `too-large ${resource}`,
      severity: 'error',
      title: `Objects of ${resource} are too large to be handled.`,
      remedy: 'Make them smaller, or raise settings.watching.maxObjectBytes.',
    }
    return
  }
  if (facts.isThrottled) {
    yield {
      id: `throttled ${resource} ${error}`,
      severity: 'error',
      title: `The framework cannot process objects of ${resource}: ${error}`,
      remedy: 'The objects are processed again after a growing delay. The log has the whole error.',
      sinceMs,
    }
  }
  for (const [handler, { nextAtMs }] of failing) {
    if (nextAtMs === undefined && state === 'failed') {
      yield {
        id: `failed ${resource} ${handler}`,
        severity: 'error',
        title: `The handler "${handler}" has failed permanently for ${resource}: ${error}`,
        remedy:
          'It is not called again until the object changes. Correct the object or the handler, then change the object.',
        sinceMs,
      }
    } else if (nextAtMs !== undefined) {
      yield {
        id: `retrying ${resource} ${handler}`,
        severity: 'warning',
        title: `The handler "${handler}" fails for ${resource} and is called again: ${error}`,
        remedy: 'Remove the cause; the next attempt then succeeds. The action "retry" calls it at once.',
        sinceMs,
      }
    }
  }
}

function toContention({ object, contendedAtMs }: ObjectRecord, nowMs: number): ProblemText | undefined {
  if (contendedAtMs === undefined || nowMs - contendedAtMs >= recentMs) return undefined
  const resource = formatResource(object.resource)
  return {
    id: `contention ${resource}`,
    severity: 'warning',
    title: `Another field manager writes the same fields of children of ${resource} as this operator.`,
    remedy:
      'Leave the fields out of what the reconciler returns, or stop the other program; the journal of the object names the child.',
    sinceMs: contendedAtMs,
  }
}
