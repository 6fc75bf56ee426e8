/**
 * An object that is larger than `watching.maxObjectBytes`: no handler is called for it, and that is reported once by the log, an
 * Event, a condition and the observer. It is handled as soon as it is smaller. Called by worker.ts.
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

/** Nothing is left of earlier handling: daemons and timers are stopped, and the indices have nothing of the object. */
export async function rejectTooLarge(context: Context, object: WatchedObject, run: ProcessingRun): Promise<void> {
  run.outcome = 'failed'
  context.features.released(object, 'filters-mismatch')
  context.features.forgotten(object)
  const message = describe(context, object.body)
  if (!reported.get(object)) logTooLarge(context, object, run, message)
  reported.set(object, true)
  await writeCondition(context, object, run, message)
}

/** The object is handled from now on: what was said of its size is taken back with the next write to it. */
export function clearTooLarge(context: Context, object: WatchedObject, run: ProcessingRun): void {
  if (reported.get(object)) {
    run.logger.info('The object is not too large any more: it is handled again.')
    reported.set(object, false)
  }
  const { body } = object
  if (findCondition(conditionsOf(body['status']), conditionType)?.reason !== 'ObjectTooLarge') return
  const wanted = desiredCondition(context, body, checkCondition(conditionType, true, 'ObjectFits'))
  run.fns.push((fresh) => {
    const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
    fresh['status'] = { ...status, conditions: withCondition(conditionsOf(status), wanted) }
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
  said: ReturnType<typeof checkCondition>,
): DesiredCondition {
  return { ...said, nowMs: clock.now(), generation: metadata.generation }
}

/** By one request that names the version: should others write meanwhile, the next state of the object brings us here again. */
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
      const answer = await send(context, object, patch)
      acceptState(context, object, answer, 'write')
      if (findCondition(conditionsOf(answer['status']), conditionType) === undefined) stopConditions(served)
    } catch (error) {
      if (!isTolerable(error)) throw error
      logger.debug('The condition of a too large object could not be written.')
    }
  })
}

/** Others were faster, the object is gone, or its schema or our permissions do not let us write to its status: the log has said it. */
function isTolerable(error: unknown): boolean {
  return isConflict(error) || isNotFound(error) || isUnprocessable(error) || isForbidden(error)
}

/** Undefined where the object says so already. Only the status of the object is parsed for it. */
function toPatch({ metadata, status }: KubeObject, wanted: DesiredCondition): object[] | undefined {
  const before = conditionsOf(status)
  // The size changes with each write, this one included: the same reason is enough.
  if (findCondition(before, wanted.type)?.reason === wanted.reason) return undefined
  const conditions = withCondition(before, wanted)
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
    { method: 'PATCH', path, contentType, body: patch, lazy },
    writing,
  )) as unknown as KubeObject
}
