/**
 * Reports objects that are larger than `watching.maxObjectBytes`: no handler is called for them, which is reported once in the log, as an Event, as a condition
 * and to the observer. They are handled as soon as they are smaller. Called by worker.ts.
 */
import { isConflict, isForbidden, isNotFound, isUnprocessable } from '../client/api-error.ts'
import { objectPath } from '../client/paths.ts'
import {
  checkCondition,
  conditionsOf,
  type DesiredCondition,
  findCondition,
  withCondition,
} from '../kube/conditions.ts'
import type { KubeObject } from '../kube/objects.ts'
import { isPlainObject } from '../util/json/json.ts'
import { weightOf } from '../util/json/lazy-json.ts'
import { type Context, observedObject } from './context.ts'
import type { ProcessingRun } from './processing-run.ts'
import { FeatureState } from './state/feature-state.ts'
import { stopConditions } from './state/served-resource.ts'
import type { WatchedObject } from './state/watched-object.ts'
import { acceptState } from './writes.ts'

const conditionType = 'Handled'

/** Whether the size of an object was reported. */
const reported = new FeatureState<boolean>()

/** Reports the object, stops its daemons and timers, and removes it from the indices. */
export async function rejectTooLarge(context: Context, object: WatchedObject, run: ProcessingRun): Promise<void> {
  run.outcome = 'failed'
  context.features.released(object, 'filters-mismatch')
  context.features.forgotten(object)
  const message = describe(context, object.body)
  if (!reported.get(object)) logTooLarge(context, object, run, message)
  reported.set(object, true)
  await writeCondition(context, object, run, message)
}

/** Called when the object can be handled: the next write to the object updates the condition. */
export function clearTooLarge(context: Context, object: WatchedObject, run: ProcessingRun): void {
  if (reported.get(object)) {
    run.logger.info('The object is not too large any more: it is handled again.')
    reported.set(object, false)
  }
  const { body } = object
  if (findCondition(conditionsOf(body['status']), conditionType)?.reason !== 'ObjectTooLarge') return
  const desired = desiredCondition(context, body, checkCondition(conditionType, true, 'ObjectFits'))
  run.fns.push((fresh) => {
    const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
    fresh['status'] = { ...status, conditions: withCondition(conditionsOf(status), desired) }
  })
}

function describe({ settings }: Context, body: KubeObject): string {
  const { bytes, isCut } = weightOf(body)
  if (isCut) return `The object is not handled: it has more than 256 top-level fields; remove the unknown ones`
  const { maxObjectBytes } = settings.watching
  return (
    `The object is not handled: its JSON takes ${bytes} bytes, and the limit is ${maxObjectBytes}; ` +
    'make it smaller, or raise "settings.watching.maxObjectBytes"'
  )
}

function logTooLarge(context: Context, object: WatchedObject, { logger }: ProcessingRun, message: string): void {
  const { body } = object
  logger.warn(message)
  context.recorderFor(body).warn('ObjectTooLarge', message)
  context.observer?.objectTooLarge?.({ object: observedObject(object), bytes: weightOf(body).bytes })
}

function desiredCondition(
  { clock }: Context,
  { metadata }: KubeObject,
  condition: ReturnType<typeof checkCondition>,
): DesiredCondition {
  return { ...condition, nowMs: clock.now(), generation: metadata.generation }
}

/** Sends one request with the known resourceVersion. On a conflict the condition is written when the watch delivers the next state. */
async function writeCondition(
  context: Context,
  object: WatchedObject,
  { logger }: ProcessingRun,
  message: string,
): Promise<void> {
  const { served } = object
  if (served.dropsConditions) return
  await object.writes.run(async () => {
    const { body } = object
    const patch = toPatch(
      body,
      desiredCondition(context, body, checkCondition(conditionType, false, 'ObjectTooLarge', message)),
    )
    if (patch === undefined) return
    try {
      const response = await send(context, object, patch)
      acceptState(context, object, response, { from: 'write', isOwn: true })
      if (findCondition(conditionsOf(response['status']), conditionType) === undefined) stopConditions(served)
    } catch (error) {
      if (!isTolerable(error)) throw error
      logger.debug('The condition of a too large object could not be written.')
    }
  })
}

/** Errors after which the log line is report enough: a conflict, a deleted object, a schema without conditions, or missing permissions. */
function isTolerable(error: unknown): boolean {
  return isConflict(error) || isNotFound(error) || isUnprocessable(error) || isForbidden(error)
}

/** Returns undefined if the object has the condition already. Parses only the status of the object. */
function toPatch({ metadata, status }: KubeObject, desired: DesiredCondition): object[] | undefined {
  const before = conditionsOf(status)
  // Only the reason is compared: the size in the message changes with each write, including this one.
  if (findCondition(before, desired.type)?.reason === desired.reason) return undefined
  const conditions = withCondition(before, desired)
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid ?? null },
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion ?? null },
    isPlainObject(status)
      ? { op: 'add', path: '/status/conditions', value: conditions }
      : { op: 'add', path: '/status', value: { conditions } },
  ]
}

async function send(
  { session, writesSignal: writing }: Context,
  { served, body }: WatchedObject,
  patch: object[],
): Promise<KubeObject> {
  const { resource } = served
  const { name = '', namespace } = body.metadata
  const subresource = resource.subresources.includes('status') ? 'status' : undefined
  const path = objectPath(resource, { name, namespace }, subresource)
  const contentType = 'application/json-patch+json'
  const lazy = { form: 'object', omit: ['managedFields'] } as const
  return (await session.request(
    { method: 'PATCH', path, contentType, body: patch, lazy, purpose: 'handling', resource },
    writing,
  )) as unknown as KubeObject
}
