/**
 * What a reconciler returned, read and checked: the children in their groups, each as it is sent. Whatever is wrong with it is a
 * mistake in the program, and told as one: it is not tried again before something changes. Pure.
 */
import { digestEssence } from '../../causation/essence.ts'
import { PermanentError } from '../../errors.ts'
import type { ChildGroup, Reconciled } from '../../handlers/args/args.ts'
import type { ExistingPolicy } from '../../handlers/handler.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { buildOwnerReference } from '../../kube/owners.ts'
import { toPlainJson } from '../../patching/patch.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { describeError } from '../../util/log/describe-error.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { isExistingPolicy } from '../reconcile-definition.ts'
import { childKey, describeChild, desiredAnnotation, reconcilerLabel, toLabelValue } from './labels.ts'
import { findKind, type OwnedKind, placeChild } from './owned-kinds.ts'

export interface DesiredChild {
  /** Kind, namespace and name: what tells children apart. */
  readonly key: string
  readonly kind: OwnedKind
  /** As it is applied, but for the mark. */
  readonly object: JsonObject
  /** What its annotation says when it is as wanted. */
  readonly mark: string
  /** What to do with an object of that name that is not the operator's. */
  readonly existing: ExistingPolicy
}

export interface DesiredGroup {
  readonly children: readonly DesiredChild[]
  readonly ready: ChildGroup['ready']
}

export interface ReconcileResult {
  readonly requeueMs: number | undefined
  /** Undefined where nothing was said of them. */
  readonly groups: readonly DesiredGroup[] | undefined
}

/** Whose children they are. */
export interface ReconcilerParent {
  readonly owner: KubeObject
  readonly kinds: readonly OwnedKind[]
  /** The value of the label. */
  readonly label: string
  /** What the reconciler is registered with. */
  readonly existing: ExistingPolicy
}

export function readReconciled(result: unknown, family: ReconcilerParent): ReconcileResult {
  if (result === undefined || result === null) return { requeueMs: undefined, groups: undefined }
  if (!isPlainObject(result)) throwDesiredError('a reconciler returns { children, requeueAfter }, or nothing')
  const unknown = Object.keys(result).filter((name) => !resultFields.includes(name))
  if (unknown.length > 0)
    throwDesiredError(`there is no "${unknown[0]}" in it, only "children", "existing" and "requeueAfter"`)
  const { requeueAfter, children, existing } = result as Reconciled
  return {
    requeueMs: requeueAfter === undefined || requeueAfter === null ? undefined : readDelay(requeueAfter),
    groups:
      children === undefined || children === null
        ? undefined
        : readGroups(children, { ...family, existing: readPolicy(existing) ?? family.existing }),
  }
}

const resultFields: readonly string[] = ['children', 'existing', 'requeueAfter'] satisfies ReadonlyArray<
  keyof Reconciled
>

function readPolicy(value: unknown): ExistingPolicy | undefined {
  if (value === undefined) return undefined
  if (isExistingPolicy(value)) return value
  return throwDesiredError(`"existing" is 'refuse', 'leave' or 'adopt'`)
}

function readDelay(delay: Duration): number {
  try {
    return toMs(delay, '"requeueAfter"')
  } catch (error) {
    return throwDesiredError(describeError(error))
  }
}

function readGroups(children: unknown, family: ReconcilerParent): readonly DesiredGroup[] {
  if (!Array.isArray(children)) throwDesiredError('"children" is a list of objects, or of groups of them')
  const areGroups = children.map((one) => Array.isArray(one) || isGroup(one))
  if (areGroups.includes(true) && areGroups.includes(false)) {
    throwDesiredError('"children" has objects and groups: put each object into a group, [[first], [second, third]]')
  }
  const groups: readonly ChildGroup[] = areGroups.includes(true) ? children.map(toGroup) : [{ children }]
  const keys = new Set<string>()
  return groups.map(({ children: members, ready, existing }, position) => ({
    ready,
    children: members.map((child) => {
      const wanted = readChild(child, position, { ...family, existing: readPolicy(existing) ?? family.existing })
      if (keys.has(wanted.key)) throwDesiredError(`"children" has ${describeChild(wanted.object)} twice`)
      keys.add(wanted.key)
      return wanted
    }),
  }))
}

function isGroup(value: unknown): boolean {
  return isPlainObject(value) && Array.isArray(value['children']) && !('kind' in value)
}

function toGroup(value: unknown): ChildGroup {
  if (Array.isArray(value)) return { children: value }
  const { ready } = value as ChildGroup
  if (ready !== undefined && typeof ready !== 'function')
    throwDesiredError('"ready" of a group is a function that says true or false')
  return value as ChildGroup
}

/** What the server fills in, or is the business of others: whoever makes a child of one that is there need not take it out. */
const serverFields = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
  'generateName',
])

function readChild(child: unknown, group: number, family: ReconcilerParent): DesiredChild {
  const { status: _, metadata: given, ...rest } = toJson(child)
  const meta = isPlainObject(given) ? given : {}
  const { apiVersion, kind: name } = rest
  if (typeof apiVersion !== 'string' || typeof name !== 'string') {
    throwDesiredError('each of "children" has an "apiVersion" and a "kind", as in a manifest')
  }
  if (typeof meta['name'] !== 'string' || meta['name'] === '') {
    throwDesiredError(`a ${name} in "children" has no "metadata.name": children are told apart by their names`)
  }
  const what = describeChild({ kind: name, metadata: meta })
  const kind = findKind(family.kinds, { apiVersion, kind: name })
  if (typeof kind === 'string') throwDesiredError(`${what} ${kind}`)
  const place = placeChild(kind, meta['namespace'], family.owner)
  if ('problem' in place) throwDesiredError(`${what} ${place.problem}`)
  const object: JsonObject = { ...rest, metadata: toMetadata(meta, place.namespace, family, what) }
  const mark = toLabelValue(group, digestEssence(object as never))
  return { key: childKey(object), kind, object, mark, existing: family.existing }
}

/** Those that are made up of what is given and what is ours. */
const ownFields = new Set(['namespace', 'labels', 'annotations', 'ownerReferences'])

function toMetadata(
  meta: JsonObject,
  namespace: string | undefined,
  family: ReconcilerParent,
  what: string,
): JsonObject {
  const rest = Object.entries(meta).filter(([key]) => !serverFields.has(key) && !ownFields.has(key))
  const references = Array.isArray(meta['ownerReferences']) ? meta['ownerReferences'].filter(isPlainObject) : []
  const ours = buildOwnerReference(family.owner)
  const others = references.filter(({ uid }) => uid !== ours.uid)
  if (others.some(({ controller }) => controller === true)) {
    throwDesiredError(
      `${what} names another controller among its owners: there can be only one, and that is the object itself`,
    )
  }
  const labels = isPlainObject(meta['labels']) ? meta['labels'] : {}
  const { [desiredAnnotation]: _, ...annotations } = isPlainObject(meta['annotations']) ? meta['annotations'] : {}
  return {
    ...Object.fromEntries(rest),
    ...(namespace === undefined ? {} : { namespace }),
    labels: { ...labels, [reconcilerLabel]: family.label },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ownerReferences: [...others, { ...ours }],
  }
}

/** As it is sent: with the mark, without which nobody could tell later what was wanted. */
export function withLabels({ object, mark }: DesiredChild): JsonObject {
  const metadata = object['metadata'] as JsonObject
  const annotations = isPlainObject(metadata['annotations']) ? metadata['annotations'] : {}
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [desiredAnnotation]: mark } } }
}

function toJson(child: unknown): JsonObject {
  if (!isPlainObject(child)) throwDesiredError('"children" has something that is no object')
  try {
    return toPlainJson(child) as JsonObject
  } catch (error) {
    return throwDesiredError(`a child is not plain data: ${describeError(error)}`)
  }
}

function throwDesiredError(problem: string): never {
  throw new PermanentError(`Cannot use what the reconciler returned: ${problem}`, { code: 'KOPF_CHILD' })
}
