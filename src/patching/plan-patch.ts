/** Plans the requests of one cycle: at most one for the object and one for its status. Pure. */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { pickTouched, toDraft } from '../util/json/drafts.ts'
import { isPlainObject, type Json, setOwn } from '../util/json/json.ts'
import { type JsonPatchOperation, toJsonPatch } from '../util/json/json-patch.ts'
import {
  applyMergePatch,
  changesAnything,
  mergeInPlace,
  pickNamed,
  withoutIdleRemovals,
} from '../util/json/merge-patch.ts'
import type { PatchFunction } from './patch.ts'

/** The changes of one cycle to an object: a merge patch, then functions that edit the result. */
export interface PendingPatch {
  readonly merge: JsonObject
  readonly fns: readonly PatchFunction<KubeObject>[]
}

export interface PlannedPatch {
  readonly contentType: 'application/merge-patch+json' | 'application/json-patch+json'
  readonly body: Json
}

/** The request for the status subresource. Undefined if nothing would change. */
export function planStatusPatch(body: KubeObject, { merge, fns }: PendingPatch): PlannedPatch | undefined {
  if (fns.length === 0 && !Object.hasOwn(merge, 'status')) return undefined
  const draft = fns.length === 0 ? body : runFunctions(body, { merge, fns })
  const before = pick(pickTouched(body, draft), isStatus)
  const merged = applyMergePatch(before, pick(merge, isStatus))
  const after = fns.length === 0 ? merged : pick(pickTouched(draft, draft), isStatus)
  const edits = toJsonPatch(before, after)
  if (edits.length === 0) return undefined
  const dependsOnState = fns.length > 0 && !isDeepEqual(merged, after)
  // The status endpoint of custom resources ignores the metadata in a merge patch, so only a JSON patch can guarantee that
  // the object is still the same and not a new one with the same name.
  return toGuardedPatch(body, edits, dependsOnState || edits.some(writesContainer))
}

/** The request for the object, including its status if that is not a subresource. Undefined if nothing would change. */
export function planObjectPatch(
  body: KubeObject,
  patch: PendingPatch,
  hasStatusEndpoint: boolean,
): PlannedPatch | undefined {
  const isInRequest = (key: string) => !(hasStatusEndpoint && isStatus(key))
  const merge = pick(patch.merge, isInRequest)
  if (patch.fns.length > 0) {
    const draft = runFunctions(body, patch)
    const before = pick(pickTouched(body, draft), isInRequest)
    const after = pick(pickTouched(draft, draft), isInRequest)
    if (!isDeepEqual(applyMergePatch(before, merge), after))
      return toGuardedPatch(body, toJsonPatch(before, after), true)
  }
  return changesAnything(body as unknown as Json, merge) ? toMergePatch(body, merge) : undefined
}

/** The merge patch and the functions as JSON patch operations on the given object. For mutating webhooks, which respond with a JSON patch. */
export function planEdits(body: KubeObject, { merge: given, fns }: PendingPatch): JsonPatchOperation[] {
  // Without functions, only fields in the patch can change. Comparing only these fields saves time: objects may be large, requests many.
  const before = fns.length > 0 ? (body as unknown as JsonObject) : pickNamed(body as unknown as JsonObject, given)
  const merge = withoutIdleRemovals(before, given) as JsonObject
  return toJsonPatch(before, runFunctions(before as unknown as KubeObject, { merge, fns }))
}

/** Contains the uid as a guard: the API rejects a change of the uid, so that a new object with the same name is not patched. */
function toMergePatch({ metadata: { uid } }: KubeObject, merge: JsonObject): PlannedPatch {
  const metadata = isPlainObject(merge['metadata']) ? merge['metadata'] : {}
  const body: JsonObject = uid === undefined ? merge : { ...merge, metadata: { ...metadata, uid } }
  return { contentType: 'application/merge-patch+json', body }
}

function toGuardedPatch(
  { metadata }: KubeObject,
  edits: readonly JsonPatchOperation[],
  byVersion: boolean,
): PlannedPatch {
  const guards = [toTestOperation('/metadata/uid', metadata.uid)]
  if (byVersion) guards.push(toTestOperation('/metadata/resourceVersion', metadata.resourceVersion))
  return { contentType: 'application/json-patch+json', body: [...guards, ...edits] as unknown as Json }
}

function toTestOperation(path: string, value: string | undefined): JsonPatchOperation {
  return { op: 'test', path, value: value ?? null }
}

/** Whether an edit writes a whole object: it could overwrite fields that another client has written meanwhile. */
function writesContainer(edit: JsonPatchOperation): boolean {
  return (edit.op === 'add' || edit.op === 'replace') && isPlainObject(edit.value)
}

/** Applies the merge patch and the functions to a copy of the object. */
export function runFunctions(body: KubeObject, patch: PendingPatch): JsonObject {
  const draft = toDraft(body) as unknown as JsonObject
  mergeInPlace(draft, patch.merge)
  for (const fn of patch.fns) fn(draft as unknown as KubeObject)
  return draft
}

function pick(source: object, isIncluded: (key: string) => boolean): JsonObject {
  const picked: JsonObject = {}
  const fields = source as JsonObject
  for (const key of Object.keys(fields)) if (isIncluded(key)) setOwn(picked, key, fields[key]!)
  return picked
}

function isStatus(key: string): boolean {
  return key === 'status'
}
