/**
 * Reads and edits `metadata.finalizers` of a body. The edits need a mutable copy; patching/ sends them as a JSON patch with a test of the
 * resource version. When a finalizer is needed is decided in objects/.
 */
import { getObject, getOwn } from '../util/json/json.ts'

interface FinalizedObject {
  readonly metadata?: unknown
}

/** Some clients write null for a missing timestamp. */
export function isDeletionOngoing(body: FinalizedObject): boolean {
  const timestamp = getOwn(metadataOf(body) ?? {}, 'deletionTimestamp')
  return timestamp !== undefined && timestamp !== null
}

export function hasFinalizer(body: FinalizedObject, finalizer: string): boolean {
  return finalizersOf(body)?.includes(finalizer) ?? false
}

/** Appends the finalizer unless it is present. Keeps the other finalizers and their order. */
export function addFinalizer(body: { metadata?: unknown }, finalizer: string): void {
  if (hasFinalizer(body, finalizer)) return
  const finalizers = finalizersOf(body)
  if (finalizers !== undefined) {
    finalizers.push(finalizer)
    return
  }
  const metadata = metadataOf(body)
  if (metadata === undefined) body.metadata = { finalizers: [finalizer] }
  else metadata['finalizers'] = [finalizer]
}

/** Removes every occurrence of the finalizer, and lists and metadata that become empty, as the API server does. */
export function removeFinalizer(body: { metadata?: unknown }, finalizer: string): void {
  const metadata = metadataOf(body)
  const finalizers = finalizersOf(body)
  if (metadata === undefined || finalizers === undefined) return
  const others = finalizers.filter((one) => one !== finalizer)
  if (others.length > 0) metadata['finalizers'] = others
  else delete metadata['finalizers']
  if (Object.keys(metadata).length === 0) delete body.metadata
}

type MetadataFields = Record<string, unknown>

function metadataOf(body: FinalizedObject): MetadataFields | undefined {
  return getObject(body as MetadataFields, 'metadata')
}

function finalizersOf(body: FinalizedObject): unknown[] | undefined {
  const finalizers = getOwn(metadataOf(body) ?? {}, 'finalizers')
  return Array.isArray(finalizers) ? finalizers : undefined
}
