/** POST to a collection. */
import type { KubeObject } from '../../kube/objects.ts'
import { admitCreation } from '../admission.ts'
import type { Answer, Call } from '../call.ts'
import { decodeBody } from '../decode.ts'
import { parseWriteOptions } from '../options.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { badRequest } from '../status.ts'
import { createObject, dropDuplicateOwners } from './write.ts'

export async function create(call: Call): Promise<Answer> {
  checkAcceptable(call)
  const options = parseWriteOptions(call.query, 'CreateOptions')
  const object = await decodeBody(call, options.fieldValidation)
  matchNamespace(call, object)
  dropDuplicateOwners(object, call.warnings)
  admitCreation(call, object)
  return writtenAnswer(call, 201, createObject(call, call.resource, object, options.dryRun, call.warnings))
}

/** The namespace of the path goes into the object; another one in the object is an error. */
export function matchNamespace({ path, resource }: Call, { metadata }: KubeObject): void {
  if (!resource.namespaced) {
    delete metadata.namespace
    return
  }
  if (path.namespace === '') throw badRequest('an empty namespace may not be set during creation')
  if (metadata.namespace && metadata.namespace !== path.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  metadata.namespace = path.namespace
}
