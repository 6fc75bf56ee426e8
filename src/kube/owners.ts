/**
 * Owner references, names, namespaces and labels of child objects. All functions are pure: each returns an edited copy of one
 * object or of an array of objects. Nothing is sent to the API server.
 */
import { KopfError } from '../errors.ts'
import type { Mutable } from '../util/json/deep-types.ts'
import { isPlainObject, setOwn } from '../util/json/json.ts'
import { type CopiedFields, copyObjects, findTemplates, flattenObjects, type TemplatePath } from './copies.ts'
import { type ObjectMeta, type ObjectReference, type OwnerReference, toObjectReference } from './objects.ts'

/** The fields of an object that references need. The `body` of a handler has them. */
export interface ReferableObject {
  /** The group and version of the object. */
  readonly apiVersion?: string | undefined
  /** The kind of the object. */
  readonly kind?: string | undefined
  /** The metadata of the object. */
  readonly metadata?: ReferableMeta | undefined
}

interface ReferableMeta {
  /** The name of the object. */
  readonly name?: string | undefined
  /** The namespace of the object. */
  readonly namespace?: string | undefined
  /** The uid of the object. */
  readonly uid?: string | undefined
  /** The labels of the object. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** The options of `appendOwnerReference` and `buildOwnerReference`. */
export interface OwnerOptions {
  /** Whether the owner is the managing controller of the child; null omits the field. Default: true. */
  readonly controller?: boolean | null
  /** Whether a foreground deletion of the owner waits for the child; null omits the field. Default: true. */
  readonly blockOwnerDeletion?: boolean | null
}

/** The options of `label`. */
export interface LabelOptions {
  /** Whether existing labels are overwritten. Default: false. */
  readonly forced?: boolean
  /** Paths of templates in the objects that are labelled too if they exist: `spec.template`. Default: none. */
  readonly nested?: string | readonly TemplatePath[]
}

/** The options of `harmonizeNaming`. */
export interface NamingOptions {
  /** Whether existing names are replaced. Default: false. */
  readonly forced?: boolean
  /** Whether the exact name is set, instead of `generateName`, to which the API server appends a random suffix. Default: false. */
  readonly strict?: boolean
}

/** The options of `adopt`. */
export interface AdoptOptions extends LabelOptions, NamingOptions {}

/** A mutable copy of an object or a list of objects, with `metadata`. */
type EditedObjects<T> = T extends readonly (infer Item)[]
  ? EditedObjects<Item>[]
  : Mutable<T> & { metadata: ObjectMeta }

/**
 * Prepares child objects of an owner: adds the owner reference, and where they are missing a name (`generateName`), the namespace and
 * the labels of the owner. Returns copies; the children are deleted when the owner is deleted.
 *
 * @example
 * ```ts
 * kopf.on.create(Database, async ({ body, client }) => {
 *   const pod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'main', image: 'postgres' }] } }
 *   await client.create(adopt(pod, body))
 * })
 * ```
 */
export function adopt<T extends object>(
  objects: T,
  owner: ReferableObject,
  options: AdoptOptions = {},
): EditedObjects<T> {
  const reference = buildOwnerReference(owner)
  const { namespace, labels } = owner.metadata ?? {}
  const { forced = false, strict = false, nested = [] } = options
  return edit(objects, (object) => {
    addReference(object, reference)
    setName(object, reference.name, { forced, strict })
    setNamespace(object, namespace, forced)
    addLabels(object, labels ?? {}, { forced, nested })
  })
}

/**
 * Adds labels to one object or an array of objects. Returns copies. Existing labels are kept, unless `forced` is set.
 *
 * @example
 * ```ts
 * const labelled = label(deployment, { app: name }, { nested: 'spec.template' })
 * ```
 */
export function label<T extends object>(
  objects: T,
  labels: Readonly<Record<string, string | null>>,
  { forced = false, nested = [] }: LabelOptions = {},
): EditedObjects<T> {
  return edit(objects, (object) => addLabels(object, labels, { forced, nested }))
}

/**
 * Adds an owner reference to one object or an array of objects. Returns copies: the garbage collector deletes them when the owner is
 * deleted. An existing reference to the owner is kept.
 *
 * @example
 * ```ts
 * await client.create(appendOwnerReference(configMap, body))
 * ```
 */
export function appendOwnerReference<T extends object>(
  objects: T,
  owner: ReferableObject,
  options?: OwnerOptions,
): EditedObjects<T> {
  const reference = buildOwnerReference(owner, options)
  return edit(objects, (object) => addReference(object, reference))
}

/** Removes the owner reference from one object or an array of objects. Returns copies. The opposite of `appendOwnerReference`. */
export function removeOwnerReference<T extends object>(objects: T, owner: ReferableObject): EditedObjects<T> {
  const { uid } = buildOwnerReference(owner)
  return edit(objects, (object) => {
    const { metadata } = object
    if (!isPlainObject(metadata) || !Array.isArray(metadata['ownerReferences'])) return
    const others = metadata['ownerReferences'].filter((reference) => !hasUid(reference, uid))
    setOwn(ownStanza(object, 'metadata'), 'ownerReferences', others)
  })
}

/**
 * Sets the name of objects that have none: as the prefix `generateName`, or with `strict` as the exact `name`. Takes one object or an
 * array, and returns copies. Existing names are kept, unless `forced` is set.
 */
export function harmonizeNaming<T extends object>(
  objects: T,
  name: string,
  { forced = false, strict = false }: NamingOptions = {},
): EditedObjects<T> {
  if (!name) throw new KopfError('KOPF_OBJECT', 'Cannot name the objects: the name to give them is empty')
  return edit(objects, (object) => setName(object, name, { forced, strict }))
}

/**
 * Sets the namespace of objects that have none. Takes one object or an array, and returns copies. Existing namespaces are kept, unless
 * `forced` is set; `forced` with a null or undefined namespace, as of a cluster-scoped owner, removes them.
 */
export function adjustNamespace<T extends object>(
  objects: T,
  namespace: string | null | undefined,
  { forced = false }: { readonly forced?: boolean } = {},
): EditedObjects<T> {
  return edit(objects, (object) => setNamespace(object, namespace, forced))
}

/**
 * Builds the entry of `metadata.ownerReferences` for children of an object. Throws a `KopfError` (`KOPF_OWNER`) if the object has no uid,
 * name, kind or apiVersion.
 */
export function buildOwnerReference(body: ReferableObject, options: OwnerOptions = {}): OwnerReference {
  const { controller = true, blockOwnerDeletion = true } = options
  const { name, uid } = body?.metadata ?? {}
  const { apiVersion, kind } = body ?? {}
  if (!apiVersion || !kind || !name || !uid) {
    const missing = Object.entries({ apiVersion, kind, 'metadata.name': name, 'metadata.uid': uid })
    const list = missing.filter(([, value]) => !value).map(([field]) => field)
    throw new KopfError(
      'KOPF_OWNER',
      `Cannot refer to the owner ${describe(body)}: it has no ${list.join(', no ')}; ` +
        'an owner is an object as the API server returned it, such as the body in a handler',
    )
  }
  return {
    ...(controller === null ? {} : { controller }),
    ...(blockOwnerDeletion === null ? {} : { blockOwnerDeletion }),
    apiVersion,
    kind,
    name,
    uid,
  }
}

/** Builds a reference to an object, as in `involvedObject` of a Kubernetes event. Fields that the object does not have are omitted. */
export function buildObjectReference(body: ReferableObject): Partial<Record<keyof ObjectReference, string>> {
  return Object.fromEntries(Object.entries(toObjectReference(body)).filter(([, value]) => value !== null))
}

function describe(body: ReferableObject): string {
  return `"${[body?.kind, body?.metadata?.name].filter(Boolean).join(' ')}"`
}

function edit<T extends object>(objects: T, change: (object: CopiedFields) => void): EditedObjects<T> {
  const copy = copyObjects(objects)
  for (const object of new Set(flattenObjects(copy))) change(object)
  return copy as EditedObjects<T>
}

/**
 * The object at the key, created if it is missing or null, and copied: the same `metadata` or `labels` object may also be used in
 * a template or another object, which must not change.
 */
function ownStanza(fields: CopiedFields, key: string): CopiedFields {
  const present = Object.hasOwn(fields, key) ? fields[key] : undefined
  const own = isPlainObject(present) ? copyShallowly(present) : {}
  fields[key] = own
  return own
}

/** Keeps the class and all own properties, also one named `__proto__`. */
function copyShallowly(fields: CopiedFields): CopiedFields {
  return Object.defineProperties(Object.create(Object.getPrototypeOf(fields)), Object.getOwnPropertyDescriptors(fields))
}

function addReference(object: CopiedFields, reference: OwnerReference): void {
  const metadata = ownStanza(object, 'metadata')
  const present: unknown[] = Array.isArray(metadata['ownerReferences']) ? metadata['ownerReferences'] : []
  if (present.some((one) => hasUid(one, reference.uid))) return
  metadata['ownerReferences'] = [...present, { ...reference }]
}

function hasUid(reference: unknown, uid: string): boolean {
  return isPlainObject(reference) && reference['uid'] === uid
}

function setName(object: CopiedFields, name: string, { forced, strict }: Required<NamingOptions>): void {
  const metadata = ownStanza(object, 'metadata')
  if (!forced && (metadata['name'] || metadata['generateName'])) return
  delete metadata[strict ? 'generateName' : 'name']
  if (strict) metadata['name'] = name
  else metadata['generateName'] = `${name}-`
}

function setNamespace(object: CopiedFields, namespace: string | null | undefined, forced: boolean): void {
  const metadata = ownStanza(object, 'metadata')
  if (!forced && metadata['namespace']) return
  if (namespace) metadata['namespace'] = namespace
  else delete metadata['namespace']
}

function addLabels(
  object: CopiedFields,
  labels: Readonly<Record<string, string | null>>,
  { forced, nested }: Required<LabelOptions>,
): void {
  if (Object.keys(labels).length === 0) return
  const paths = typeof nested === 'string' ? [nested] : nested
  for (const target of [object, ...paths.flatMap((path) => findTemplates(object, path))]) {
    const present = ownStanza(ownStanza(target, 'metadata'), 'labels')
    for (const [key, value] of Object.entries(labels)) {
      if (forced || !Object.hasOwn(present, key)) setOwn(present, key, value)
    }
  }
}
