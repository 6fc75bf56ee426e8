/** PUT of an object or of its status. */
import type { KubeObject } from '../../kube/objects.ts'
import { admitCreation } from '../admission.ts'
import { demandCreation } from '../authorization/creation.ts'
import { isGuarded, refuseEscalation } from '../authorization/escalation.ts'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { decodeBody } from '../decode.ts'
import { parseWriteOptions } from '../options.ts'
import { checkAcceptable, writtenAnswer } from '../representation.ts'
import { keyOf } from '../storage/stored.ts'
import { toWriteOptions } from '../webhooks/options.ts'
import { createReviewer, type Reviewer } from '../webhooks/reviewer.ts'
import { parsedVersion, type Update, type UpdatePart, uidConflict, updateObject } from './change.ts'
import { createObject } from './creation.ts'
import { managerOf, ownCreation } from './owning.ts'
import { dropDuplicateOwners, matchName, matchNamespace } from './place.ts'
import { createReviewed, updateReviewed } from './reviewed.ts'
import { currentOf, type Written } from './write.ts'

export async function update(call: ResourceCall): Promise<ApiResponse> {
  checkAcceptable(call)
  const options = parseWriteOptions(call.query, 'UpdateOptions')
  const object = await decodeBody(call, options.fieldValidation)
  matchNamespace(call, object)
  matchName(call, object)
  dropDuplicateOwners(object, call.warnings)
  const { resource, path } = call
  const isThere = call.store.collection(resource.collection).get(keyOf(path.namespace, path.name)) !== undefined
  if (!isThere && resource.strategy.allowsCreateOnUpdate && path.subresource === '') {
    return writtenAnswer(call, 201, await createByUpdate(call, object, options.dryRun))
  }
  const written = applyUpdate(call, {
    change: () => object,
    returnsNewObject: true,
    part: path.subresource as UpdatePart,
    uid: object.metadata.uid,
    warnings: call.warnings,
    manager: managerOf(call),
    ...options,
  })
  return writtenAnswer(call, 200, written instanceof Promise ? await written : written)
}

async function createByUpdate(call: ResourceCall, object: KubeObject, dryRun: boolean): Promise<Written> {
  demandCreation(call)
  admitCreation(call, object)
  const { resource, path } = call
  const { uid } = object.metadata
  if (uid) throw uidConflict(resource, path, { uid, found: '' })
  parsedVersion(object)
  // The resourceVersion of a missing object does not prevent its creation; a dry run still shows it.
  if (!dryRun) delete object.metadata.resourceVersion
  ownCreation(call, resource, object, managerOf(call))
  const reviewer = reviewerFor(call, 'CREATE', dryRun)
  if (reviewer !== undefined) return createReviewed(call, object, { reviewer, dryRun })
  refuseEscalation(call, object)
  return createObject(call, resource, object, dryRun)
}

/** Used by all verbs that change an existing object. Returns a promise only if webhooks must be called. */
export function applyUpdate(call: ResourceCall, wanted: Update): Written | Promise<Written> {
  const { resource, path } = call
  const change = isGuarded(resource) ? { ...wanted, guard: guardOf(call) } : wanted
  const current = currentOf(call, resource, path)
  const reviewer = reviewerFor(call, 'UPDATE', change.dryRun)
  const isAtOnce = reviewer === undefined && resource.converter === undefined
  return isAtOnce ? updateObject(call, resource, current, change) : updateReviewed(call, change, reviewer)
}

function guardOf(call: ResourceCall): NonNullable<Update['guard']> {
  return (desired, old) => refuseEscalation(call, desired, old)
}

export function reviewerFor(call: ResourceCall, operation: 'CREATE' | 'UPDATE', dryRun: boolean): Reviewer | undefined {
  const kind = operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions'
  return createReviewer(call, () => ({
    operation,
    name: call.path.name,
    options: toWriteOptions(kind, call.query),
    dryRun,
  }))
}
