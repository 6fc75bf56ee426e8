/** POST to a collection. */
import { admitCreation } from '../admission.ts'
import { refuseEscalation } from '../authorization/escalation.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { decodeBody } from '../decode.ts'
import { parseWriteOptions } from '../options.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { toWriteOptions } from '../webhooks/options.ts'
import { createReviewer } from '../webhooks/reviewer.ts'
import { createObject } from './creation.ts'
import { managerOf, ownCreation } from './owning.ts'
import { dropDuplicateOwners, matchNamespace } from './place.ts'
import { createReviewed } from './reviewed.ts'

export async function create(call: ResourceCall): Promise<ApiResponse> {
  checkAcceptable(call)
  const { dryRun, fieldValidation } = parseWriteOptions(call.query, 'CreateOptions')
  const object = await decodeBody(call, fieldValidation)
  matchNamespace(call, object)
  dropDuplicateOwners(object, call.warnings)
  admitCreation(call, object)
  // Only for POST: kube-apiserver, too, accepts a deletionTimestamp when an update creates the object.
  delete object.metadata.deletionTimestamp
  delete object.metadata.deletionGracePeriodSeconds
  ownCreation(call, call.resource, object, managerOf(call))
  const reviewer = createReviewer(call, () => ({
    operation: 'CREATE',
    name: object.metadata.name ?? '',
    options: toWriteOptions('CreateOptions', call.query),
    dryRun,
  }))
  if (reviewer !== undefined || call.resource.converter !== undefined) {
    return writtenAnswer(call, 201, await createReviewed(call, object, { reviewer, dryRun }))
  }
  refuseEscalation(call, object)
  return writtenAnswer(call, 201, createObject(call, call.resource, object, dryRun, call.warnings))
}
