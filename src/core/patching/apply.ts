/**
 * Sends what a cycle wants to say, and gives back the object as the server has it then. The only place that writes to
 * handled objects. Goes on from each answer: nobody waits for an echo.
 */
import { isConflict, isNotFound, isUnprocessable } from '../../client/api-error.ts'
import type { Session } from '../../client/calls.ts'
import { objectPath } from '../../client/requests.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { isPlainObject, type Json } from '../../util/json.ts'
import type { Logger } from '../../util/log.ts'
import { type PlannedPatch, planObjectPatch, planStatusPatch, type Wish } from './compose.ts'

export interface Writer {
  readonly session: Session
  readonly resource: Resource
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Told of every answer, before the next request is sent: its echo may be on its way already. */
  readonly onAnswer: (body: KubeObject) => void
  /** Told of a field of the status that was written and is not there: the schema has no place for it. */
  readonly onDropped: (field: string) => void
  /** Fields of the status that are known to come to nothing, and are not sent. */
  readonly dropped: ReadonlySet<string>
}

/** The object after the writes, or undefined when it is gone (or replaced by a successor of the same name). */
export type Written = { readonly body: KubeObject | undefined; readonly requests: number }

/** Large answers are kept as text: they become the state that is remembered of the object. */
const lazyObject = { form: 'object', omit: ['managedFields'] } as const

/** So often somebody else may come first before we let the object rest for a while. */
const attemptsUnderContention = 8

/**
 * The status goes first: a success that is recorded before the status it belongs to would be lost with us in between,
 * while a status without its record is only written again.
 */
export async function applyWish(writer: Writer, body: KubeObject, given: Wish): Promise<Written> {
  const wish = withoutDropped(given, writer.dropped)
  const hasStatusEndpoint = writer.resource.subresources.includes('status')
  let current: Written = { body, requests: 0 }
  if (hasStatusEndpoint) {
    current = await settle(writer, current, 'status', (base) => planStatusPatch(base, wish))
  }
  const written = await settle(writer, current, undefined, (base) => planObjectPatch(base, wish, hasStatusEndpoint))
  if (written.requests > 0 && written.body !== undefined) tellDropped(writer, wish, written.body)
  return written
}

function withoutDropped(wish: Wish, dropped: ReadonlySet<string>): Wish {
  const { status, ...others } = wish.merge
  if (dropped.size === 0 || !isPlainObject(status)) return wish
  const kept = Object.entries(status).filter(([key]) => !dropped.has(`status.${key}`))
  return { ...wish, merge: kept.length === 0 ? others : { ...others, status: Object.fromEntries(kept) as JsonObject } }
}

/** The server says nothing of it. One field is enough: the others are missing for the same reason. */
function tellDropped({ onDropped }: Writer, { merge }: Wish, body: KubeObject): void {
  const field = findMissing(merge['status'], (body as unknown as JsonObject)['status'], 'status')
  if (field !== undefined) onDropped(field)
}

function findMissing(wanted: Json | undefined, kept: Json | undefined, path: string): string | undefined {
  if (!isPlainObject(wanted)) return undefined
  for (const [key, value] of Object.entries(wanted)) {
    if (isNothing(value)) continue
    const there = isPlainObject(kept) && Object.hasOwn(kept, key) ? kept[key] : undefined
    const missing = there === undefined ? `${path}.${key}` : findMissing(value, there, `${path}.${key}`)
    if (missing !== undefined) return missing
  }
  return undefined
}

/** What removes something leaves nothing to look for. */
function isNothing(value: Json | undefined): boolean {
  return value === null || value === undefined || (isPlainObject(value) && Object.values(value).every(isNothing))
}

/** Plans on the freshest body and sends, anew as often as somebody else was faster. */
async function settle(
  writer: Writer,
  { body, requests }: Written,
  subresource: 'status' | undefined,
  plan: (base: KubeObject) => PlannedPatch | undefined,
): Promise<Written> {
  let base = body
  let sent = requests
  for (let attempt = 1; base !== undefined; attempt += 1) {
    const planned = plan(base)
    if (planned === undefined) break
    sent += 1
    try {
      base = dropManagedFields(await send(writer, base, subresource, planned))
      writer.onAnswer(base)
      break
    } catch (error) {
      if (isNotFound(error)) {
        writer.logger.debug('Patching was skipped: the object does not exist anymore.')
        return { body: undefined, requests: sent }
      }
      if (!(isConflict(error) || isUnprocessable(error)) || attempt === attemptsUnderContention) throw error
      base = await lookAgain(writer, base, error)
      // What was wanted may be there already, when only the answer got lost: then nothing more is sent, nor answered.
      if (base !== undefined) writer.onAnswer(base)
    }
  }
  return { body: base, requests: sent }
}

function send(
  { session, resource, logger, signal }: Writer,
  body: KubeObject,
  subresource: 'status' | undefined,
  planned: PlannedPatch,
): Promise<unknown> {
  logger.debug(`Patching ${subresource === undefined ? 'the object' : 'the status'}.`)
  const { name = '', namespace } = body.metadata
  const path = objectPath(resource, { name, namespace }, subresource)
  const { contentType, body: patch } = planned
  return session.request({ method: 'PATCH', path, contentType, body: patch, lazy: lazyObject }, signal)
}

/**
 * After a refusal: the object as it is now, if it has changed meanwhile. The API answers 422 both to a guard that does
 * not hold and to values it does not like; with the object unchanged it must be the latter, and trying again is no use.
 */
async function lookAgain(writer: Writer, base: KubeObject, refusal: unknown): Promise<KubeObject | undefined> {
  const fresh = await readObject(writer, base)
  if (fresh === undefined) return undefined
  if (fresh.metadata.resourceVersion === base.metadata.resourceVersion && !isConflict(refusal)) throw refusal
  return fresh
}

/** The object as it is now; undefined when it is gone, or another one has taken its name. */
export async function readObject(
  writer: Pick<Writer, 'session' | 'resource' | 'signal'>,
  known: KubeObject,
): Promise<KubeObject | undefined> {
  const { name = '', namespace, uid } = known.metadata
  try {
    const path = objectPath(writer.resource, { name, namespace })
    const fresh = dropManagedFields(
      await writer.session.request({ method: 'GET', path, lazy: lazyObject }, writer.signal),
    )
    return fresh.metadata.uid === uid ? fresh : undefined
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Nobody here looks at them, and they can be the larger part of an object. */
function dropManagedFields(answer: unknown): KubeObject {
  const object = answer as KubeObject
  // Large objects come without them, and copying their metadata would parse it.
  if (object.metadata.managedFields === undefined) return object
  // A copy, since deleting a key would make the engine keep the object as a slow and large dictionary.
  const { managedFields: _, ...metadata } = object.metadata
  object.metadata = metadata
  return object
}
