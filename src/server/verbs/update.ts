/** PUT of an object or of its status. */
import type { KubeObject } from '../../kube/objects.ts'
import { admitCreation } from '../admission.ts'
import type { Answer, Call } from '../call.ts'
import { decodeBody } from '../decode.ts'
import { parseWriteOptions } from '../options.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { badRequest } from '../status.ts'
import { keyOf } from '../storage/stored.ts'
import { matchNamespace } from './create.ts'
import { createObject, currentOf, dropDuplicateOwners, type Part, updateObject } from './write.ts'

export async function update(call: Call): Promise<Answer> {
  checkAcceptable(call)
  const options = parseWriteOptions(call.query, 'UpdateOptions')
  const object = await decodeBody(call, options.fieldValidation)
  matchNamespace(call, object)
  matchName(call, object)
  dropDuplicateOwners(object, call.warnings)
  const { resource, path } = call
  const isThere = call.store.collection(resource.collection).get(keyOf(path.namespace, path.name)) !== undefined
  if (!isThere && resource.strategy.allowsCreateOnUpdate && path.subresource === '') {
    admitCreation(call, object)
    return writtenAnswer(call, 201, createObject(call, resource, object, options.dryRun))
  }
  const part = path.subresource as Part
  const change = () => object
  const written = updateObject(call, resource, currentOf(call, resource, path), {
    change,
    isFresh: true,
    part,
    uid: object.metadata.uid,
    warnings: call.warnings,
    ...options,
  })
  return writtenAnswer(call, 200, written)
}

export function matchName({ path }: Call, { metadata }: KubeObject): void {
  if (!metadata.name)
    throw badRequest(`the name of the object (${path.name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name === path.name) return
  throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${path.name})`)
}
