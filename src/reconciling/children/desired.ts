/**
 * Parses and checks the result of a reconciler: the desired children in their groups, each in the form in which it is applied. An
 * invalid result is a bug of the operator, so it is a PermanentError: the reconciler is called again only after a change. Pure.
 */
import { digestEssence } from '../../causation/essence.ts'
import { PermanentError } from '../../errors.ts'
import type { ChildGroup, Reconciled } from '../../handlers/args/args.ts'
import type { ExistingPolicy } from '../../handlers/options.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { buildOwnerReference } from '../../kube/owners.ts'
import { toPlainJson } from '../../patching/patch.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { describeError } from '../../util/log/describe-error.ts'
import { type Duration, toMs } from '../../util/text/duration.ts'
import { isExistingPolicy } from '../reconcile-definition.ts'
import { childKey, describeChild, desiredAnnotation, reconcilerLabel, toFingerprint } from './labels.ts'
import { findKind, type OwnedKind, placeChild } from './owned-kinds.ts'

export interface DesiredChild {
  /** API group, kind, namespace and name; see `childKey`. */
  readonly key: string
  readonly kind: OwnedKind
  /** The object to apply, without the annotation `kopf.dev/wanted`. */
  readonly object: JsonObject
  /** The value of the annotation `kopf.dev/wanted` for this desired state. */
  readonly fingerprint: string
  /** How to treat an existing object of that name that the operator has not created. */
  readonly existing: ExistingPolicy
}

export interface DesiredGroup {
  readonly children: readonly DesiredChild[]
  readonly ready: ChildGroup['ready']
}

export interface ReconcileResult {
  readonly requeueMs: number | undefined
  /** Undefined if the reconciler returned no `children`: existing children then stay as they are. */
  readonly groups: readonly DesiredGroup[] | undefined
}

/** The owner of the desired children, and the options of its reconciler. */
export interface ReconcilerParent {
  readonly owner: KubeObject
  readonly kinds: readonly OwnedKind[]
  /** The value of the label `kopf.dev/reconciler`. */
  readonly label: string
  /** The option `existing` of the reconciler, used where the result has none. */
  readonly existing: ExistingPolicy
}

export function readReconciled(result: unknown, parent: ReconcilerParent): ReconcileResult {
  if (result === undefined || result === null) return { requeueMs: undefined, groups: undefined }
  if (!isPlainObject(result)) throwDesiredError('a reconciler must return { children, requeueAfter }, or nothing')
  const unknown = Object.keys(result).filter((name) => !resultFields.includes(name))
  if (unknown.length > 0)
    throwDesiredError(`it has an unknown field "${unknown[0]}"; use "children", "existing" and "requeueAfter"`)
  const { requeueAfter, children, existing } = result as Reconciled
  return {
    requeueMs: requeueAfter === undefined || requeueAfter === null ? undefined : readDelay(requeueAfter),
    groups:
      children === undefined || children === null
        ? undefined
        : readGroups(children, { ...parent, existing: readPolicy(existing) ?? parent.existing }),
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

function readGroups(children: unknown, parent: ReconcilerParent): readonly DesiredGroup[] {
  if (!Array.isArray(children))
    throwDesiredError('"children" must be a list of objects, or a list of groups of objects')
  const areGroups = children.map((one) => Array.isArray(one) || isGroup(one))
  if (areGroups.includes(true) && areGroups.includes(false)) {
    throwDesiredError('"children" has objects and groups: put each object into a group, [[first], [second, third]]')
  }
  const groups: readonly ChildGroup[] = areGroups.includes(true) ? children.map(toGroup) : [{ children }]
  const keys = new Set<string>()
  return groups.map(({ children: members, ready, existing }, position) => ({
    ready,
    children: members.map((child) => {
      const desired = readChild(child, position, { ...parent, existing: readPolicy(existing) ?? parent.existing })
      if (keys.has(desired.key)) throwDesiredError(`"children" has ${describeChild(desired.object)} twice`)
      keys.add(desired.key)
      return desired
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
    throwDesiredError('"ready" of a group must be a function that returns true or false')
  return value as ChildGroup
}

/** Fields of metadata that the API server sets. They are dropped, so that a reconciler may return a modified copy of an existing child. */
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

function readChild(child: unknown, group: number, parent: ReconcilerParent): DesiredChild {
  const { status: _, metadata: given, ...rest } = toJson(child)
  const meta = isPlainObject(given) ? given : {}
  const { apiVersion, kind: name } = rest
  if (typeof apiVersion !== 'string' || typeof name !== 'string') {
    throwDesiredError('each of "children" has an "apiVersion" and a "kind", as in a manifest')
  }
  if (typeof meta['name'] !== 'string' || meta['name'] === '') {
    throwDesiredError(`a ${name} in "children" has no "metadata.name": children are identified by their names`)
  }
  const what = describeChild({ kind: name, metadata: meta })
  const kind = findKind(parent.kinds, { apiVersion, kind: name })
  if (typeof kind === 'string') throwDesiredError(`${what} ${kind}`)
  const place = placeChild(kind, meta['namespace'], parent.owner)
  if ('problem' in place) throwDesiredError(`${what} ${place.problem}`)
  const object: JsonObject = { ...rest, metadata: toMetadata(meta, place.namespace, parent, what) }
  const fingerprint = toFingerprint(group, digestEssence(object as never))
  return { key: childKey(object), kind, object, fingerprint, existing: parent.existing }
}

/** Fields of metadata that combine the values of the reconciler with those of the framework. */
const ownFields = new Set(['namespace', 'labels', 'annotations', 'ownerReferences'])

function toMetadata(
  meta: JsonObject,
  namespace: string | undefined,
  parent: ReconcilerParent,
  what: string,
): JsonObject {
  const rest = Object.entries(meta).filter(([key]) => !serverFields.has(key) && !ownFields.has(key))
  const references = Array.isArray(meta['ownerReferences']) ? meta['ownerReferences'].filter(isPlainObject) : []
  const ours = buildOwnerReference(parent.owner)
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
    labels: { ...labels, [reconcilerLabel]: parent.label },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ownerReferences: [...others, { ...ours }],
  }
}

/** The object as it is applied: with the annotation that later shows which desired state was applied. */
export function withFingerprint({ object, fingerprint }: DesiredChild): JsonObject {
  const metadata = object['metadata'] as JsonObject
  const annotations = isPlainObject(metadata['annotations']) ? metadata['annotations'] : {}
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [desiredAnnotation]: fingerprint } } }
}

function toJson(child: unknown): JsonObject {
  if (!isPlainObject(child)) throwDesiredError('"children" has an entry that is not an object')
  try {
    return toPlainJson(child) as JsonObject
  } catch (error) {
    return throwDesiredError(`a child is not plain data: ${describeError(error)}`)
  }
}

function throwDesiredError(problem: string): never {
  throw new PermanentError(`Cannot use the result of the reconciler: ${problem}`, { code: 'KOPF_CHILD' })
}
