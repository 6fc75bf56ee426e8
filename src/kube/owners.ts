/**
 * Children of an object: who owns them, what they are called, where they live and how they are labelled. All pure: each
 * function returns a copy of what it was given, one object or an array of them. Nothing is sent anywhere.
 */
import { KopfError } from '../errors.ts'
import type { Mutable } from '../util/deep-types.ts'
import { isPlainObject, setOwn } from '../util/json.ts'
import { copyObjects, type Fields, findTemplates, flattenObjects, type TemplatePath } from './copies.ts'
import { type ObjectMeta, type ObjectReference, type OwnerReference, toObjectReference } from './objects.ts'

/** As much of an object as others can refer to. Bodies of handlers are such. */
export interface ReferableObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ReferableMeta | undefined
}

interface ReferableMeta {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

export interface OwnerOptions {
  /** Whether it is the one controller of the child; true unless told, null to leave it out. */
  readonly controller?: boolean | null
  /** Whether a deletion of the owner in the foreground waits for the child; true unless told, null to leave it out. */
  readonly blockOwnerDeletion?: boolean | null
}

export interface LabelOptions {
  /** Whether labels of the same names are overwritten. */
  readonly forced?: boolean
  /** Paths to templates in the objects, labelled as well where they exist: `spec.template`. */
  readonly nested?: string | readonly TemplatePath[]
}

export interface NamingOptions {
  /** Whether names they have already are replaced. */
  readonly forced?: boolean
  /** The very name, instead of a prefix to which the API server adds a random suffix. */
  readonly strict?: boolean
}

export interface AdoptOptions extends LabelOptions, NamingOptions {}

/** A copy of what came in, with the metadata that is there now; lists of it, too. It can be changed also where the original is read-only. */
type Described<T> = T extends readonly (infer Item)[] ? Described<Item>[] : Mutable<T> & { metadata: ObjectMeta }

/** Names the objects after their owner, puts them into its namespace, gives them its labels, and makes them its own. */
export function adopt<T extends object>(objects: T, owner: ReferableObject, options: AdoptOptions = {}): Described<T> {
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

/** Adds labels, keeping those that are there unless forced. */
export function label<T extends object>(
  objects: T,
  labels: Readonly<Record<string, string | null>>,
  { forced = false, nested = [] }: LabelOptions = {},
): Described<T> {
  return edit(objects, (object) => addLabels(object, labels, { forced, nested }))
}

/** Makes the objects go when the owner goes. An owner they have already is left as it is. */
export function appendOwnerReference<T extends object>(
  objects: T,
  owner: ReferableObject,
  options?: OwnerOptions,
): Described<T> {
  const reference = buildOwnerReference(owner, options)
  return edit(objects, (object) => addReference(object, reference))
}

/** Takes the reference to an owner off objects; the opposite of `appendOwnerReference`. */
export function removeOwnerReference<T extends object>(objects: T, owner: ReferableObject): Described<T> {
  const { uid } = buildOwnerReference(owner)
  return edit(objects, (object) => {
    const { metadata } = object
    if (!isPlainObject(metadata) || !Array.isArray(metadata['ownerReferences'])) return
    const others = metadata['ownerReferences'].filter((reference) => !hasUid(reference, uid))
    setOwn(stanzaOf(object, 'metadata'), 'ownerReferences', others)
  })
}

/** Gives a name to objects without one: a prefix, or with `strict` the very name. */
export function harmonizeNaming<T extends object>(
  objects: T,
  name: string,
  { forced = false, strict = false }: NamingOptions = {},
): Described<T> {
  if (!name) throw new KopfError('KOPF_OBJECT', 'Cannot name the objects: the name to give them is empty')
  return edit(objects, (object) => setName(object, name, { forced, strict }))
}

/** Puts objects without a namespace into this one; undefined is that of cluster-scoped owners. */
export function adjustNamespace<T extends object>(
  objects: T,
  namespace: string | null | undefined,
  { forced = false }: { readonly forced?: boolean } = {},
): Described<T> {
  return edit(objects, (object) => setNamespace(object, namespace, forced))
}

/** The entry for `metadata.ownerReferences` of a child. */
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

/** What an event says about the object it is for; what the object does not have is left out. */
export function buildObjectReference(body: ReferableObject): Partial<Record<keyof ObjectReference, string>> {
  return Object.fromEntries(Object.entries(toObjectReference(body)).filter(([, value]) => value !== null))
}

function describe(body: ReferableObject): string {
  return `"${[body?.kind, body?.metadata?.name].filter(Boolean).join(' ')}"`
}

function edit<T extends object>(objects: T, change: (object: Fields) => void): Described<T> {
  const copy = copyObjects(objects)
  for (const object of new Set(flattenObjects(copy))) change(object)
  return copy as Described<T>
}

/**
 * The object at the key, made when it is missing or null, and of this place alone: the same `metadata` or `labels` may also be those of
 * a template, or of another object, which must not be named or owned with it.
 */
function stanzaOf(fields: Fields, key: string): Fields {
  const present = Object.hasOwn(fields, key) ? fields[key] : undefined
  const own = isPlainObject(present) ? copyShallowly(present) : {}
  fields[key] = own
  return own
}

/** Keeps the class, and fields of any name. */
function copyShallowly(fields: Fields): Fields {
  return Object.defineProperties(Object.create(Object.getPrototypeOf(fields)), Object.getOwnPropertyDescriptors(fields))
}

function addReference(object: Fields, reference: OwnerReference): void {
  const metadata = stanzaOf(object, 'metadata')
  const present: unknown[] = Array.isArray(metadata['ownerReferences']) ? metadata['ownerReferences'] : []
  if (present.some((one) => hasUid(one, reference.uid))) return
  metadata['ownerReferences'] = [...present, { ...reference }]
}

function hasUid(reference: unknown, uid: string): boolean {
  return isPlainObject(reference) && reference['uid'] === uid
}

function setName(object: Fields, name: string, { forced, strict }: Required<NamingOptions>): void {
  const metadata = stanzaOf(object, 'metadata')
  if (!forced && (metadata['name'] || metadata['generateName'])) return
  delete metadata[strict ? 'generateName' : 'name']
  if (strict) metadata['name'] = name
  else metadata['generateName'] = `${name}-`
}

function setNamespace(object: Fields, namespace: string | null | undefined, forced: boolean): void {
  const metadata = stanzaOf(object, 'metadata')
  if (!forced && metadata['namespace']) return
  if (namespace) metadata['namespace'] = namespace
  else delete metadata['namespace']
}

function addLabels(
  object: Fields,
  labels: Readonly<Record<string, string | null>>,
  { forced, nested }: Required<LabelOptions>,
): void {
  if (Object.keys(labels).length === 0) return
  const paths = typeof nested === 'string' ? [nested] : nested
  for (const target of [object, ...paths.flatMap((path) => findTemplates(object, path))]) {
    const present = stanzaOf(stanzaOf(target, 'metadata'), 'labels')
    for (const [key, value] of Object.entries(labels)) {
      if (forced || !Object.hasOwn(present, key)) setOwn(present, key, value)
    }
  }
}
