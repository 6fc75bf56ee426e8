/** DELETE of one object, and of a whole collection or a selection of it. */
import { admitDeletion } from '../admission.ts'
import { parseBody } from '../body.ts'
import type { Answer, Call } from '../call.ts'
import { jsonAnswer } from '../call.ts'
import { readType } from '../decode.ts'
import { type DeleteOptions, parseDeleteOptions, parseListOptions } from '../options.ts'
import { listAnswer, objectAnswer } from '../representation.ts'
import { selectionOf } from '../selection.ts'
import { readPage } from './list.ts'
import { deleteObject, type Removed } from './remove.ts'
import { currentOf } from './write.ts'

export async function remove(call: Call): Promise<Answer> {
  const options = await deleteOptions(call)
  const current = currentOf(call, call.resource, call.path)
  admitDeletion(call, call.path.name)
  const removed = deleteObject(call, call.resource, current, options)
  const status = !removed.isGone && options.orphanDependents === false ? 202 : 200
  const showsObject = !removed.isGone || call.resource.strategy.returnsDeletedObject
  return showsObject ? objectAnswer(call, status, removed.object) : successAnswer(call, status, removed)
}

async function deleteOptions(call: Call): Promise<DeleteOptions> {
  if (call.body === '') return parseDeleteOptions(call.query, undefined)
  const type = { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' }
  const { value } = await parseBody(call, type)
  readType(type, value, { text: call.body })
  return parseDeleteOptions(call.query, value ?? {})
}

/** Tells what was deleted by its uid, so that a client can be sure it was the one it meant. */
function successAnswer({ resource }: Call, status: number, { object }: Removed): Answer {
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

export async function removeCollection(call: Call): Promise<Answer> {
  const listOptions = parseListOptions(call.query, false)
  const selection = selectionOf(call)
  const options = await deleteOptions(call)
  const page = readPage(call, listOptions, selection)
  for (const stored of page.items) {
    const current = call.store.collection(stored.collection).get(stored.key)
    if (current !== undefined) deleteObject(call, call.resource, current, options)
  }
  return listAnswer(call, page)
}
