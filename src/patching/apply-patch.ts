/**
 * Sends the patches of a cycle and returns the object as stored by the server. The only place that writes to handled objects. Each request
 * is planned on the response to the one before, without waiting for the watch event.
 */
import { isConflict, isNotFound, isUnprocessable } from '../client/api-error.ts'
import { objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { dropManagedFields, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { RequestPurpose } from '../observer.ts'
import { isPlainObject, type Json } from '../util/json/json.ts'
import type { Logger } from '../util/log/log.ts'
import { type PendingPatch, type PlannedPatch, planObjectPatch, planStatusPatch } from './plan-patch.ts'

export interface PatchWriter {
  readonly session: Session
  readonly resource: Resource
  readonly logger: Logger
  readonly signal: AbortSignal
  /** For the metrics of requests. */
  readonly purpose: RequestPurpose
  /** Called with every response before the next request is sent, since the watch event of the write may arrive at any time. */
  readonly onResponse: (body: KubeObject, base: KubeObject | undefined) => void
  /** Called with the status fields that the server has dropped because the schema does not have them. */
  readonly onDropped: (fields: readonly string[]) => void
  /** Status fields that the server is known to drop; they are not sent. */
  readonly dropped: ReadonlySet<string>
}

/** The object after the writes; undefined if it is deleted, or replaced by another object with the same name. */
export type PatchResult = { readonly body: KubeObject | undefined; readonly requests: number }

/** Large responses are kept as text, since they become the remembered state of the object. */
const lazyObject = { form: 'object', omit: ['managedFields'] } as const

/** The number of conflicts after which the write fails and the object is retried later. */
const maxAttempts = 8

/**
 * Writes the status before the object. If the process dies in between, the handler's success is not recorded yet and the status is written
 * again. In the other order, the success would be recorded and the status lost.
 */
export async function applyPatch(writer: PatchWriter, body: KubeObject, given: PendingPatch): Promise<PatchResult> {
  const patch = withoutDropped(given, writer.dropped)
  const hasStatusEndpoint = writer.resource.subresources.includes('status')
  let current: PatchResult = { body, requests: 0 }
  if (hasStatusEndpoint) {
    current = await applyParts(writer, current, 'status', (base) => planStatusPatch(base, patch))
  }
  const written = await applyParts(writer, current, undefined, (base) =>
    planObjectPatch(base, patch, hasStatusEndpoint),
  )
  if (written.requests > 0 && written.body !== undefined) reportDropped(writer, patch, written.body)
  return written
}

function withoutDropped(patch: PendingPatch, dropped: ReadonlySet<string>): PendingPatch {
  const { status, ...others } = patch.merge
  if (dropped.size === 0 || !isPlainObject(status)) return patch
  const kept = Object.entries(status).filter(([key]) => !dropped.has(`status.${key}`))
  return {
    ...patch,
    merge: kept.length === 0 ? others : { ...others, status: Object.fromEntries(kept) as JsonObject },
  }
}

/** Limits the reported fields of one write; the fields of later writes are reported then. */
const maxDropped = 20

/** The server drops unknown fields without a warning: compares the sent status with the response. */
function reportDropped({ onDropped }: PatchWriter, { merge }: PendingPatch, body: KubeObject): void {
  const fields: string[] = []
  collectMissing(fields, {
    written: merge['status'],
    stored: (body as unknown as JsonObject)['status'],
    path: 'status',
  })
  if (fields.length > 0) onDropped(fields)
}

interface SentField {
  readonly written: Json | undefined
  readonly stored: Json | undefined
  readonly path: string
}

function collectMissing(fields: string[], { written, stored, path }: SentField): void {
  if (!isPlainObject(written)) return
  for (const [key, value] of Object.entries(written)) {
    if (fields.length >= maxDropped) return
    if (isRemoval(value)) continue
    const storedValue = isPlainObject(stored) && Object.hasOwn(stored, key) ? stored[key] : undefined
    if (storedValue === undefined) fields.push(`${path}.${key}`)
    else collectMissing(fields, { written: value, stored: storedValue, path: `${path}.${key}` })
  }
}

/** Whether the value only removes fields, so that nothing of it can be found in the response. */
function isRemoval(value: Json | undefined): boolean {
  return value === null || value === undefined || (isPlainObject(value) && Object.values(value).every(isRemoval))
}

/** Plans a patch on the newest body and sends it. After a conflict, it reads the object, plans again, and retries. */
async function applyParts(
  writer: PatchWriter,
  { body, requests }: PatchResult,
  subresource: 'status' | undefined,
  plan: (base: KubeObject) => PlannedPatch | undefined,
): Promise<PatchResult> {
  let base = body
  let sent = requests
  for (let attempt = 1; base !== undefined; attempt += 1) {
    const planned = plan(base)
    if (planned === undefined) break
    sent += 1
    const before: KubeObject = base
    try {
      base = dropManagedFields((await send(writer, before, subresource, planned)) as KubeObject)
      writer.onResponse(base, before)
      break
    } catch (error) {
      if (isNotFound(error)) {
        writer.logger.debug('Patching was skipped: the object does not exist anymore.')
        return { body: undefined, requests: sent }
      }
      if (!(isConflict(error) || isUnprocessable(error)) || attempt === maxAttempts) throw error
      base = await rereadObject(writer, base, error)
      // If only the response of the first attempt was lost, the object has the change already: no other request is sent, so report it here.
      if (base !== undefined) writer.onResponse(base, undefined)
    }
  }
  return { body: base, requests: sent }
}

function send(
  { session, resource, logger, signal, purpose }: PatchWriter,
  body: KubeObject,
  subresource: 'status' | undefined,
  planned: PlannedPatch,
): Promise<unknown> {
  logger.debug(`Patching ${subresource === undefined ? 'the object' : 'the status'}.`)
  const { name = '', namespace } = body.metadata
  const path = objectPath(resource, { name, namespace }, subresource)
  const { contentType, body: patch } = planned
  const call = { method: 'PATCH', path, contentType, body: patch, lazy: lazyObject, purpose, resource } as const
  return session.request(call, signal)
}

/**
 * After a rejected patch: reads the current object. The API responds with 422 both to a failed `test` operation and to invalid values. If the
 * object has not changed, the values are invalid, and a retry is useless: rethrows.
 */
async function rereadObject(writer: PatchWriter, base: KubeObject, error: unknown): Promise<KubeObject | undefined> {
  const current = await readObject(writer, base)
  if (current === undefined) return undefined
  if (current.metadata.resourceVersion === base.metadata.resourceVersion && !isConflict(error)) throw error
  return current
}

/** Reads the current object; undefined if it is deleted, or replaced by another object with the same name. */
export async function readObject(
  { session, resource, signal, purpose }: Pick<PatchWriter, 'session' | 'resource' | 'signal' | 'purpose'>,
  known: KubeObject,
): Promise<KubeObject | undefined> {
  const { name = '', namespace, uid } = known.metadata
  try {
    const path = objectPath(resource, { name, namespace })
    const response = await session.request({ method: 'GET', path, lazy: lazyObject, purpose, resource }, signal)
    const current = dropManagedFields(response as unknown as KubeObject)
    return current.metadata.uid === uid ? current : undefined
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
