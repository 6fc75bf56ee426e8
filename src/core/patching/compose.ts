/** What one cycle wants to say, as requests: at most one for the object and one for its status. Pure. */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { pickTouched, toDraft } from '../../util/drafts.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { isPlainObject, type Json, setOwn } from '../../util/json.ts'
import { type JsonPatchOperation, toJsonPatch } from '../../util/json-diff.ts'
import {
  applyMergePatch,
  changesAnything,
  mergeInPlace,
  pickNamed,
  withoutIdleRemovals,
} from '../../util/merge-patch.ts'
import type { PatchFunction } from './patch.ts'

/** All that is wanted of an object: a merge patch, then edits of the result. */
export interface Wish {
  readonly merge: JsonObject
  readonly fns: readonly PatchFunction<KubeObject>[]
}

export interface PlannedPatch {
  readonly contentType: 'application/merge-patch+json' | 'application/json-patch+json'
  readonly body: Json
}

/** For resources whose status has an endpoint of its own. Undefined where nothing would change. */
export function planStatusPatch(body: KubeObject, { merge, fns }: Wish): PlannedPatch | undefined {
  if (fns.length === 0 && !Object.hasOwn(merge, 'status')) return undefined
  const draft = fns.length === 0 ? body : fulfil(body, { merge, fns })
  const before = pick(pickTouched(body, draft), isStatus)
  const merged = applyMergePatch(before, pick(merge, isStatus))
  const after = fns.length === 0 ? merged : pick(pickTouched(draft, draft), isStatus)
  const edits = toJsonPatch(before, after)
  if (edits.length === 0) return undefined
  const dependsOnState = fns.length > 0 && !isDeepEqual(merged, after)
  // The status endpoint of custom resources takes no notice of the metadata in a merge patch, so only a JSON patch can
  // make sure that the object is still the one we mean and not a successor of the same name.
  return guarded(body, edits, dependsOnState || edits.some(makesContainer))
}

/** For the object, and for its status too where that has no endpoint of its own. */
export function planObjectPatch(body: KubeObject, wish: Wish, hasStatusEndpoint: boolean): PlannedPatch | undefined {
  const isOurs = (key: string) => !(hasStatusEndpoint && isStatus(key))
  const merge = pick(wish.merge, isOurs)
  if (wish.fns.length > 0) {
    const draft = fulfil(body, wish)
    const before = pick(pickTouched(body, draft), isOurs)
    const after = pick(pickTouched(draft, draft), isOurs)
    if (!isDeepEqual(applyMergePatch(before, merge), after)) return guarded(body, toJsonPatch(before, after), true)
  }
  return changesAnything(body as unknown as Json, merge) ? mergePatch(body, merge) : undefined
}

/** Both at once, as edits of the object at hand: for who is asked about it and does not write it. */
export function planEdits(body: KubeObject, { merge: given, fns }: Wish): JsonPatchOperation[] {
  // Without functions, nothing can change but what the patch names: objects may be large, and requests many.
  const before = fns.length > 0 ? (body as unknown as JsonObject) : pickNamed(body as unknown as JsonObject, given)
  const merge = withoutIdleRemovals(before, given) as JsonObject
  return toJsonPatch(before, fulfil(before as unknown as KubeObject, { merge, fns }))
}

/** The uid in it is a guard: the API refuses to change it, so a successor of the same name is not touched. */
function mergePatch({ metadata: { uid } }: KubeObject, merge: JsonObject): PlannedPatch {
  const metadata = isPlainObject(merge['metadata']) ? merge['metadata'] : {}
  const body: JsonObject = uid === undefined ? merge : { ...merge, metadata: { ...metadata, uid } }
  return { contentType: 'application/merge-patch+json', body }
}

function guarded({ metadata }: KubeObject, edits: readonly JsonPatchOperation[], byVersion: boolean): PlannedPatch {
  const guards = [test('/metadata/uid', metadata.uid)]
  if (byVersion) guards.push(test('/metadata/resourceVersion', metadata.resourceVersion))
  return { contentType: 'application/json-patch+json', body: [...guards, ...edits] as unknown as Json }
}

function test(path: string, value: string | undefined): JsonPatchOperation {
  return { op: 'test', path, value: value ?? null }
}

/** Whether an edit writes a whole stanza: others may have written, or be writing, to fields in it. */
function makesContainer(edit: JsonPatchOperation): boolean {
  return (edit.op === 'add' || edit.op === 'replace') && isPlainObject(edit.value)
}

/** The object as it would be. */
export function fulfil(body: KubeObject, wish: Wish): JsonObject {
  const draft = toDraft(body) as unknown as JsonObject
  mergeInPlace(draft, wish.merge)
  for (const fn of wish.fns) fn(draft as unknown as KubeObject)
  return draft
}

function pick(source: object, isWanted: (key: string) => boolean): JsonObject {
  const picked: JsonObject = {}
  const fields = source as JsonObject
  for (const key of Object.keys(fields)) if (isWanted(key)) setOwn(picked, key, fields[key]!)
  return picked
}

function isStatus(key: string): boolean {
  return key === 'status'
}
