/**
 * The finalizer that keeps an object until its operator has cleaned up. Pure questions about a body, and the two edits on
 * a mutable copy; how they travel, as a JSON patch guarded by the version, is the matter of core/patching.
 */
import { isPlainObject } from '../util/json.ts'

interface Body {
  readonly metadata?: unknown
}

/** The timestamp is null in some clients' bodies, which means the same as no timestamp. */
export function isDeletionOngoing(body: Body): boolean {
  const timestamp = fieldOf(metadataOf(body), 'deletionTimestamp')
  return timestamp !== undefined && timestamp !== null
}

export function isDeletionBlocked(body: Body, finalizer: string): boolean {
  return finalizersOf(body)?.includes(finalizer) ?? false
}

/** Appends ours unless it is there. The others' are theirs: the list is never written anew. */
export function blockDeletion(body: { metadata?: unknown }, finalizer: string): void {
  if (isDeletionBlocked(body, finalizer)) return
  const finalizers = finalizersOf(body)
  if (finalizers !== undefined) {
    finalizers.push(finalizer)
    return
  }
  const metadata = metadataOf(body)
  if (metadata === undefined) body.metadata = { finalizers: [finalizer] }
  else metadata['finalizers'] = [finalizer]
}

/** Removes every occurrence of ours, and what was left empty by it, as the API server would. */
export function allowDeletion(body: { metadata?: unknown }, finalizer: string): void {
  const metadata = metadataOf(body)
  const finalizers = finalizersOf(body)
  if (metadata === undefined || finalizers === undefined) return
  const others = finalizers.filter((one) => one !== finalizer)
  if (others.length > 0) metadata['finalizers'] = others
  else delete metadata['finalizers']
  if (Object.keys(metadata).length === 0) delete body.metadata
}

type Fields = Record<string, unknown>

function metadataOf(body: Body): Fields | undefined {
  const metadata = fieldOf(body as Fields, 'metadata')
  return isPlainObject(metadata) ? metadata : undefined
}

function finalizersOf(body: Body): unknown[] | undefined {
  const finalizers = fieldOf(metadataOf(body), 'finalizers')
  return Array.isArray(finalizers) ? finalizers : undefined
}

function fieldOf(fields: Fields | undefined, key: string): unknown {
  return fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : undefined
}
