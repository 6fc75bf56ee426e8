/**
 * The actions of the dashboard on one object: retry, reconcile, release. Each needs a permission of its name, and is recorded in the journal and the log with the
 * name of the user.
 */
import { createCollectedPatch } from '../handlers/results.ts'
import { toRef } from '../journal/journal.ts'
import { hasFinalizer, isDeletionOngoing, removeFinalizer } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import { objectLogger, observedObject } from '../objects/context.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { writePatch } from '../objects/writes.ts'
import type { ReconcilingContext } from '../reconciling/context.ts'
import { reconcilerStates, requestReconcile } from '../reconciling/context.ts'
import { getObject, getString, type Json } from '../util/json/json.ts'
import { toSafeLine } from '../util/log/error-text.ts'
import { DashboardProblem, invalidRequest, notAllowed } from './problem.ts'
import type { ActionName, ActionResult, ObjectRef } from './protocol.ts'
import type { Viewer } from './viewer.ts'
import type { ViewSource } from './views/source.ts'

const actionNames: readonly ActionName[] = ['retry', 'reconcile', 'release']

/** The actions that make sense for the object now, and that the viewer may use. */
export async function actionsFor(
  source: ViewSource,
  object: WatchedObject,
  viewer: Viewer,
): Promise<readonly ActionName[]> {
  const allowed: ActionName[] = []
  for (const action of actionNames) {
    if (isApplicable(source, object, action) && (await mayAct(object, action, viewer))) allowed.push(action)
  }
  return allowed
}

function isApplicable(source: ViewSource, object: WatchedObject, action: ActionName): boolean {
  switch (action) {
    case 'retry':
      return isWaiting(source, object)
    case 'reconcile':
      return object.served.handlers.reconcile.length > 0 && reconcilerStates(object).size > 0
    case 'release':
      return isDeletionOngoing(object.body) && hasFinalizer(object.body, source.run.settings.persistence.finalizer)
  }
}

/** Whether a handler or the framework tries again later. Of two handlers, one may have failed permanently. */
function isWaiting({ facts, states }: ViewSource, object: WatchedObject): boolean {
  const observed = observedObject(object)
  if (observed.uid !== undefined && states.stateOf(observed.uid) === 'retrying') return true
  return [...(facts.of(observed)?.failing.values() ?? [])].some(({ nextAtMs }) => nextAtMs !== undefined)
}

function mayAct({ served, body }: WatchedObject, action: ActionName, viewer: Viewer): Promise<boolean> {
  const { namespace, name = '' } = body.metadata
  return viewer.may({ verb: action, resource: served.resource, namespace, name })
}

/** Reads the request of an action, and executes it. */
export async function act(
  source: ViewSource,
  body: { readonly [key: string]: Json },
  viewer: Viewer,
): Promise<ActionResult> {
  const { action, ref } = readAction(body)
  const object = source.objects.find(ref)
  const served = source.objects.servedAs(ref.resource)
  const refused = notAllowed(
    `Cannot ${action} ${ref.name}: you need the permission "${action}" on ${ref.resource}, or the operator does not know the object`,
  )
  if (served === undefined) throw refused
  // Asked for before the object is searched: a user without the permission cannot find out whether an object exists.
  const { namespace, name } = ref
  if (!(await viewer.may({ verb: action, resource: served.resource, namespace, name })) || object === undefined)
    throw refused
  checkState(source, object, action)
  const context = source.run.context()!
  const message = await execute(context, object, action)
  record(source, object, action, viewer)
  return { message }
}

function readAction(body: { readonly [key: string]: Json }): { readonly action: ActionName; readonly ref: ObjectRef } {
  const action = actionNames.find((name) => name === getString(body, 'action'))
  const object = getObject(body, 'object') ?? {}
  const [resource, name, namespace] = [
    getString(object, 'resource'),
    getString(object, 'name'),
    getString(object, 'namespace'),
  ]
  if (action === undefined || resource === undefined || name === undefined) {
    throw invalidRequest(
      400,
      'it needs an "action" of retry, reconcile or release, and an "object" with "resource" and "name"',
    )
  }
  return { action, ref: { resource, name, ...(namespace !== undefined && { namespace }) } }
}

function checkState(source: ViewSource, object: WatchedObject, action: ActionName): void {
  const { run } = source
  const { name, namespace } = object.body.metadata
  const refuse = (why: string) => {
    throw new DashboardProblem(409, 'KOPF_DASHBOARD_ACTION', `Cannot ${action} ${name}: ${why}`)
  }
  const context = run.context()
  if (context === undefined || context.stopping.aborted) refuse('the operator is stopping')
  if (context?.leadership.isCandidate) refuse('this replica is not the leader; open the dashboard of the leader')
  if (run.pause.isPausedIn(namespace)) {
    refuse(
      'the operator is paused for another one; open the dashboard of that one, or end its pause with "npx kopf resume"',
    )
  }
  if (!isApplicable(source, object, action)) refuse(inapplicable[action])
}

const inapplicable: Readonly<Record<ActionName, string>> = {
  retry: 'none of its handlers waits for a next attempt',
  reconcile: 'no reconciler matches it',
  release: 'it is not being deleted, or the finalizer of this operator is not on it',
}

async function execute(context: ReconcilingContext, object: WatchedObject, action: ActionName): Promise<string> {
  switch (action) {
    case 'retry':
      object.handled.hasten()
      object.errors.skipDelay()
      context.features.hastened(object)
      for (const [handler, state] of reconcilerStates(object)) if (state.retries > 0) requestReconcile(object, handler)
      context.queue.put(object, { type: 'wake' })
      return 'The handlers that wait for their next attempt are called now.'
    case 'reconcile':
      for (const handler of reconcilerStates(object).keys()) requestReconcile(object, handler)
      context.queue.put(object, { type: 'wake' })
      return 'The reconcilers of the object are called now.'
    case 'release':
      await release(context, object)
      return 'The finalizer of this operator is removed. Its clean-up is skipped.'
  }
}

async function release(context: ReconcilingContext, object: WatchedObject): Promise<void> {
  const { finalizer } = context.settings.persistence
  const patch = { ...createCollectedPatch(), fns: [(body: KubeObject) => removeFinalizer(body, finalizer)] }
  await writePatch(context, object, { logger: objectLogger(context, object.body), patch, purpose: 'handling' })
}

function record({ run }: ViewSource, object: WatchedObject, action: ActionName, viewer: Viewer): void {
  const user = toSafeLine(viewer.name.slice(0, 200))
  run.journal?.recordAction(toRef(observedObject(object)), action, user)
  const logger = objectLogger(run.context()!, object.body)
  logger.info(
    `The user "${user}" of the dashboard has asked for "${action}" (${formatResource(object.served.resource)}).`,
  )
}
