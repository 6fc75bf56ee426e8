/** DELETE of one object, and of a collection or a selection of it. */
import { admitDeletion } from '../admission.ts'
import { parseBody } from '../body.ts'
import { type ApiResponse, jsonAnswer, type ResourceCall } from '../call.ts'
import { readType } from '../decode.ts'
import { type DeleteRequestOptions, parseDeleteOptions, parseListOptions } from '../options.ts'
import { presentObject } from '../present.ts'
import { listAnswer, objectAnswer } from '../representation.ts'
import type { ApiResource } from '../resource.ts'
import { selectionOf } from '../selection.ts'
import { StatusError } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import { toDeleteOptions } from '../webhooks/options.ts'
import { createReviewer } from '../webhooks/reviewer.ts'
import { presentLeft } from './converted.ts'
import { readPage } from './list.ts'
import { deleteObject, type Removed } from './remove.ts'
import { deleteReviewed } from './reviewed.ts'
import { currentOf } from './write.ts'

export async function remove(call: ResourceCall): Promise<ApiResponse> {
  const options = await deleteOptions(call)
  const current = currentOf(call, call.resource, call.path)
  admitDeletion(call, call.path.name)
  const removing = removeOne(call, current, { options, name: call.path.name })
  const removed = removing instanceof Promise ? await removing : removing
  const status = !removed.isGone && options.orphanDependents === false ? 202 : 200
  const { converter, strategy } = call.resource
  if (removed.isGone && !strategy.returnsDeletedObject) return successAnswer(call, status, removed)
  const object = converter === undefined ? removed.object : await presentLeft(call, converter, removed, options)
  return objectAnswer(call, status, object)
}

/** Returns a promise only if webhooks must be called. Webhooks do not get the names when a collection is deleted. */
function removeOne(
  call: ResourceCall,
  current: Stored,
  { options, name }: { readonly options: DeleteRequestOptions; readonly name: string },
): Removed | Promise<Removed> {
  const { resource } = call
  const reviewer = createReviewer(call, () => ({
    operation: 'DELETE',
    name,
    options: toDeleteOptions({ ...options, gracePeriodSeconds: graceOf(resource, current, options) }),
    dryRun: options.dryRun,
  }))
  if (reviewer === undefined && resource.converter === undefined) return deleteObject(call, resource, current, options)
  return deleteReviewed(call, current, { options, reviewer })
}

/** Kinds with graceful deletion determine the grace period themselves. */
function graceOf(
  resource: ApiResource,
  current: Stored,
  { gracePeriodSeconds }: DeleteRequestOptions,
): number | undefined {
  const { strategy } = resource
  if (strategy.gracePeriodSeconds === undefined) return gracePeriodSeconds
  return strategy.gracePeriodSeconds(presentObject(resource, current), gracePeriodSeconds)
}

async function deleteOptions(call: ResourceCall): Promise<DeleteRequestOptions> {
  if (call.body === '') return parseDeleteOptions(call.query, undefined)
  const type = { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' }
  const { value } = await parseBody(call, type)
  readType(type, value, { text: call.body })
  return parseDeleteOptions(call.query, value ?? {})
}

/** The response contains the uid, so that clients can tell which object was deleted. */
function successAnswer({ resource }: ResourceCall, status: number, { object }: Removed): ApiResponse {
  const { group, plural } = resource
  const { name, uid } = object.metadata
  return jsonAnswer(status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group === '' ? {} : { group }), kind: plural, uid },
  })
}

function unlessGone(error: unknown): void {
  if (!(error instanceof StatusError && error.code === 404)) throw error
}

export async function removeCollection(call: ResourceCall): Promise<ApiResponse> {
  const listOptions = parseListOptions(call.query, false)
  const selection = selectionOf(call)
  const options = await deleteOptions(call)
  const page = await readPage(call, listOptions, selection)
  for (const stored of page.items) {
    const current = call.store.collection(stored.collection).get(stored.key)
    const removing = current && removeOne(call, current, { options, name: '' })
    if (removing instanceof Promise) await removing.catch(unlessGone)
  }
  return listAnswer(call, page)
}
