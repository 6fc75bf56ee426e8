/**
 * An object that is larger than `watching.maxObjectBytes`: no handler is called for it, and that is reported once by the log, an
 * Event, a condition and the observer. It is handled as soon as it is smaller. Called by process.ts.
 */
import { isConflict, isForbidden, isNotFound, isUnprocessable } from '../client/api-error.ts'
import { objectPath } from '../client/requests.ts'
import { conditionsOf, findCondition, toWanted, type WantedCondition, withCondition } from '../kube/conditions.ts'
import type { KubeObject } from '../kube/objects.ts'
import { isPlainObject } from '../util/json.ts'
import { weightOf } from '../util/lazy-json.ts'
import { leaveBackground } from './background.ts'
import { writerOf } from './consistency.ts'
import { unindex } from './indexing.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'
import type { Visit } from './visit.ts'
import { inTurn } from './writing.ts'

const conditionType = 'Handled'

/** Nothing is left of earlier handling: daemons and timers are stopped, and the indices have nothing of the object. */
export async function refuseTooLarge(runtime: Runtime, memory: Memory, visit: Visit): Promise<void> {
  visit.outcome = 'failed'
  leaveBackground(runtime, memory, 'filters-mismatch')
  unindex(runtime, memory)
  const message = describe(runtime, memory.body)
  if (!memory.isTooLarge) tell(runtime, memory, visit, message)
  memory.isTooLarge = true
  await writeCondition(runtime, memory, visit, message)
}

/** The object is handled from now on: what was said of its size is taken back with the next write to it. */
export function noteFitting(runtime: Runtime, memory: Memory, visit: Visit): void {
  if (memory.isTooLarge) visit.logger.info('The object is not too large any more: it is handled again.')
  memory.isTooLarge = false
  const { body } = memory
  if (findCondition(conditionsOf(body['status']), conditionType)?.reason !== 'ObjectTooLarge') return
  const wanted = wantedOf(runtime, body, toWanted(conditionType, true, 'ObjectFits'))
  visit.fns.push((fresh) => {
    const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
    fresh['status'] = { ...status, conditions: withCondition(conditionsOf(status), wanted) }
  })
}

function describe({ settings }: Runtime, body: KubeObject): string {
  const { bytes, isCut } = weightOf(body)
  if (isCut) return `The object is not handled: it has more than 256 top-level fields; remove the unknown ones`
  const { maxObjectBytes } = settings.watching
  return (
    `The object is not handled: its JSON takes ${bytes} bytes, and the limit is ${maxObjectBytes}; ` +
    'make it smaller, or raise "settings.watching.maxObjectBytes"'
  )
}

function tell(runtime: Runtime, { body, served }: Memory, { logger }: Visit, message: string): void {
  const { name = '', namespace } = body.metadata
  logger.warn(message)
  runtime.recorderOf(body).warn('ObjectTooLarge', message)
  runtime.observer?.tooLarge?.(served.resource, { name, namespace, bytes: weightOf(body).bytes })
}

function wantedOf({ clock }: Runtime, { metadata }: KubeObject, said: ReturnType<typeof toWanted>): WantedCondition {
  return { ...said, nowMs: clock.now(), generation: metadata.generation }
}

/** By one request that names the version: should others write meanwhile, the next state of the object brings us here again. */
async function writeCondition(runtime: Runtime, memory: Memory, { logger }: Visit, message: string): Promise<void> {
  const { served } = memory
  if (served.dropsConditions) return
  await inTurn(memory, async () => {
    const { body } = memory
    const patch = toPatch(body, wantedOf(runtime, body, toWanted(conditionType, false, 'ObjectTooLarge', message)))
    if (patch === undefined) return
    try {
      const answer = await send(runtime, memory, patch)
      writerOf(runtime, memory, logger).onAnswer(answer)
      if (findCondition(conditionsOf(answer['status']), conditionType) === undefined) served.dropsConditions = true
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
function toPatch({ metadata, status }: KubeObject, wanted: WantedCondition): object[] | undefined {
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

async function send({ session, writing }: Runtime, { served, body }: Memory, patch: object[]): Promise<KubeObject> {
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
