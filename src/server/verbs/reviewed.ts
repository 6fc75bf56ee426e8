/**
 * Writes that webhooks have a say in, or have to convert. The same steps as in write.ts and remove.ts, with waiting between
 * them: so the present state may be another by the time of the commit. Then everything is done again from that one, and the
 * webhooks are asked again, as the real server does. Called by the verbs and by the controllers where a request concerns
 * webhooks; what the controllers change stays in the version that it is in.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { cloneJson } from '../../util/equality.ts'
import { admitCreation } from '../admission.ts'
import { refuseEscalation } from '../authorization/escalation.ts'
import type { Call } from '../call.ts'
import { generateName } from '../names.ts'
import type { DeleteOptions } from '../options.ts'
import { parseManagers } from '../ownership/managers.ts'
import { presentObject } from '../present.ts'
import type { ServedResource } from '../resource.ts'
import { pathNotFound } from '../status.ts'
import type { Stored } from '../storage/stored.ts'
import type { Reviewer } from '../webhooks/reviewer.ts'
import { checkIdentity, finishUpdate, own, settleWish, type Update, type Wish } from './change.ts'
import { commitConverted, deleteStored, finishConverted } from './converted.ts'
import { commitCreation, generateAttempts, nameTaken, prepareCreation } from './creation.ts'
import { dropDuplicateOwners, matchNamespace } from './place.ts'
import { checkPreconditions, deleteObject, isAlreadyDeleting, type Removed } from './remove.ts'
import { currentOf, type Written } from './write.ts'

export async function createReviewed(call: Call, given: KubeObject, reviewing: Reviewing): Promise<Written> {
  const { resource, warnings } = call
  const { reviewer = nobody, dryRun } = reviewing
  const wished = await reviewer.mutate(withoutSystemFields(given))
  keepOwners(call, wished, given)
  keepInPlace(call, wished)
  refuseEscalation(call, wished)
  const { metadata } = wished
  const isGenerated = !metadata.name && !!metadata.generateName
  for (let attempt = 1; ; attempt += 1) {
    if (isGenerated) metadata.name = generateName(metadata.generateName!)
    const prepared = prepareCreation(call, resource, wished, { dryRun, warnings })
    await reviewer.validate(prepared)
    checkStillServed(call, prepared)
    const object = withoutStrangers(resource, prepared, reviewer)
    const written = await commit(call, { object, given: wished }, dryRun)
    if (written !== undefined) return written
    if (!isGenerated || attempt === generateAttempts) throw nameTaken(call, resource, metadata, isGenerated)
  }
}

type Reviews = Pick<Reviewer, 'mutate' | 'validate' | 'reviewDeletion' | 'isChanged'>

interface Reviewing {
  /** Undefined where webhooks have only to convert. */
  readonly reviewer: Reviews | undefined
  readonly dryRun: boolean
}

const nobody: Reviews = {
  isChanged: false,
  mutate: async (object) => object,
  validate: async () => {},
  reviewDeletion: async () => {},
}

type Creation = Parameters<typeof commitCreation>[2]

async function commit(call: Call, creation: Creation, dryRun: boolean): Promise<Written | undefined> {
  const { resource } = call
  const { converter } = resource
  if (converter === undefined) return commitCreation(call, resource, creation, dryRun)
  const form = await converter.toStorage(creation.object)
  checkStillServed(call, creation.object)
  return commitConverted(call, converter, { ...creation, form }, dryRun)
}

async function finish(call: Call, wish: Wish, dryRun: boolean): Promise<Written | undefined> {
  const { resource } = call
  const { converter } = resource
  if (converter === undefined) return finishUpdate(call, resource, wish, dryRun)
  return finishConverted(call, converter, wish, dryRun)
}

/** What the server gives an object is not there yet when mutating webhooks see it, whatever the client has sent. */
function withoutSystemFields(given: KubeObject): KubeObject {
  const { uid, creationTimestamp, selfLink, ...metadata } = given.metadata
  return { ...given, metadata }
}

/** A webhook may change who owns what, but not to what makes no sense: then that is as it was, and the client is told. */
function keepOwners({ warnings }: Call, object: KubeObject, before: KubeObject): void {
  const { managedFields = [] } = object.metadata
  if (managedFields === before.metadata.managedFields) return
  try {
    parseManagers(managedFields)
  } catch (error) {
    warnings.push(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${(error as Error).message}`,
    )
    if (before.metadata.managedFields === undefined) delete object.metadata.managedFields
    else object.metadata.managedFields = before.metadata.managedFields
  }
}

function keepInPlace(call: Call, object: KubeObject): void {
  matchNamespace(call, object)
  dropDuplicateOwners(object, call.warnings, true)
}

/** Meanwhile the namespace or the definition may have gone: what nobody could find or delete is not created. */
function checkStillServed(call: Call, object: KubeObject): void {
  const { registry, resource } = call
  const now = registry.find(resource.group, resource.version, resource.plural)
  if (now === undefined) throw pathNotFound()
  admitCreation({ ...call, resource: now }, object)
}

/** Fields that a webhook has added to a custom resource, and the schema does not know, are seen by webhooks but not kept. */
function withoutStrangers({ isCustom, strategy }: ServedResource, object: KubeObject, reviewer: Reviews): KubeObject {
  return isCustom && reviewer.isChanged ? strategy.decode(object).object : object
}

/** Where the client names a version, that of the new state is another: then it is a conflict after all. */
export async function updateReviewed(call: Call, update: Update, reviewer: Reviews = nobody): Promise<Written> {
  const { resource, path, warnings } = call
  const { show = (object: KubeObject) => object } = update.lens ?? {}
  const told = warnings.length
  for (;;) {
    // What the client was told of the last time comes again.
    warnings.length = told
    const wished = await reviewWish(call, currentOf(call, resource, path), { update, reviewer })
    const { current, object, old } = settleWish(call, resource, wished, update)
    await reviewer.validate(show(object), show(old))
    const settled = { current, old, object: withoutStrangers(resource, object, reviewer) }
    const written = await finish(call, settled, update.dryRun)
    if (written !== undefined) return written
  }
}

async function reviewWish(
  call: Call,
  current: Stored,
  { update, reviewer }: { readonly update: Update; readonly reviewer: Reviews },
): Promise<Wish> {
  const { resource } = call
  const { lens, change, uid } = update
  checkIdentity(resource, current, uid)
  await resource.converter?.prepare([current])
  const [old, base] = [presentObject(resource, current), presentObject(resource, current)]
  // The body of a request is the same each time, and is changed on its way.
  const wished = copyOf(change(lens === undefined ? base : lens.show(base)))
  own(call, resource, { current, old, object: wished }, update)
  const object = await reviewer.mutate(wished, lens === undefined ? old : lens.show(old))
  keepOwners(call, object, wished)
  if (lens !== undefined) return { current, old, object: lens.put(base, object) }
  keepInPlace(call, object)
  update.guard?.(object, old)
  return { current, old, object }
}

function copyOf(object: KubeObject): KubeObject {
  return cloneJson(object as unknown as JsonObject) as unknown as KubeObject
}

/**
 * Asked once, even where the real server asks twice: when what can be deleted gracefully, such as a pod on no node, is marked
 * and removed in one go.
 */
export async function deleteReviewed(
  call: Call,
  key: { readonly namespace: string; readonly name: string },
  { options, reviewer = nobody }: { readonly options: DeleteOptions; readonly reviewer: Reviews | undefined },
): Promise<Removed> {
  const { resource, store } = call
  for (;;) {
    const current = currentOf(call, resource, key)
    await resource.converter?.prepare([current])
    const object = presentObject(resource, current)
    checkPreconditions(resource, object, options)
    // What changes nothing is nobody's business.
    if (!isAlreadyDeleting(resource, object, options)) await reviewer.reviewDeletion(object)
    const isPresent = store.collection(current.collection).get(current.key) === current
    if (!isPresent) continue
    return resource.converter ? deleteStored(call, current, options) : deleteObject(call, resource, current, options)
  }
}
