/** From the value of a body to an object of the resource's kind, or the reason why it is none. */
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import { parseBody, unreadable } from './body.ts'
import type { Call } from './call.ts'
import { quote } from './field-errors.ts'
import { decodeMetadata } from './metadata.ts'
import type { FieldValidation } from './options.ts'
import { inOrderOfFields } from './problem-order.ts'
import type { Registry } from './registry.ts'
import type { Decoded, ServedResource } from './resource.ts'
import { badRequest } from './status.ts'

/** The object of a body, its strangers refused, warned of or ignored as the client wishes. */
export async function decodeBody(call: Call, fieldValidation: FieldValidation): Promise<KubeObject> {
  const { resource } = call
  const parsed = await parseBody(call)
  const isStrict = fieldValidation !== 'Ignore'
  const { object, problems } = decodeTyped(call, parsed.value, { text: call.body, isStrict })
  const found = [...duplicates(resource, parsed.problems, problems), ...problems]
  const all = resource.isCustom ? found : inOrderOfFields(found, parsed.value)
  if (all.length > 0 && fieldValidation === 'Strict') throw decodeFailure(object, decodeProblems(all))
  if (fieldValidation === 'Warn') call.warnings.push(...all)
  const expected = formatGroupVersion(resource.group, resource.version)
  if (object.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${expected})`,
    )
  }
  return object
}

export function decodeProblems(problems: readonly string[]): string {
  return `strict decoding error: ${problems.join(', ')}`
}

/** Built-in kinds pass over what they do not know without a look at what is in it. */
function duplicates(resource: ServedResource, found: readonly string[], others: readonly string[]): readonly string[] {
  if (resource.isCustom || found.length === 0) return found
  const unknown = others.flatMap((problem) => /^unknown field "(.*)"$/.exec(problem)?.[1] ?? [])
  return found.filter((problem) => !unknown.some((path) => isInside(problem, `duplicate field "${path}`)))
}

function isInside(problem: string, prefix: string): boolean {
  return problem.startsWith(`${prefix}.`) || problem.startsWith(`${prefix}[`)
}

/** The text a value was read from, and whether strangers in it count: both show in messages. */
interface Source {
  readonly text: string
  readonly isStrict: boolean
  /** The text is not a client's, but what a patch has made. */
  readonly isPatched?: boolean
}

/** Looks at the type, reads metadata, and lets the kind's own rules read the rest. */
export function decodeTyped({ resource, registry }: Call, raw: unknown, source: Source): Decoded {
  const type = readType(resource, raw, source)
  const fields = (raw ?? {}) as Fields
  if (!resource.isCustom) {
    if (source.isPatched && type.apiVersion === '') return decodeVersionless(resource, fields)
    return decodeBy(resource, asBuiltin(resource, registry, type, fields))
  }
  const object = asCustom(resource, type, fields, source)
  // What says to be of another version is read by the rules of that one; what is of another kind, by none.
  const reader = readerOf(registry, resource, type)
  if (reader !== undefined) return decodeBy(reader, object)
  const { metadata, problems } = decodeMetadata(object.metadata, { ...type, isCustom: true }, resource.kind)
  return { object: { ...object, metadata }, problems }
}

/** Without a version, the real server takes what a patch has made for its own internal form, in which no field has a name. */
function decodeVersionless({ group, version, kind }: ServedResource, fields: Fields): Decoded {
  const unknown = Object.keys(fields).filter((name) => name !== 'apiVersion' && name !== 'kind')
  const object: KubeObject = { apiVersion: formatGroupVersion(group, version), kind, metadata: {} }
  return { object, problems: unknown.sort().map((name) => `unknown field ${quote(name)}`) }
}

function decodeBy(reader: ServedResource, typed: KubeObject): Decoded {
  const { metadata, problems } = decodeMetadata(typed.metadata, reader)
  const decoded = reader.strategy.decode({ ...typed, metadata })
  return { object: decoded.object, problems: [...problems, ...decoded.problems] }
}

function decodeFailure({ apiVersion, kind }: KubeObject, why: string): Error {
  const version = parseGroupVersion(apiVersion)?.version ?? ''
  return badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${why}`)
}

type Fields = Record<string, unknown>

interface GivenType {
  readonly apiVersion: string
  readonly group: string
  readonly version: string
  readonly kind: string
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** What a body says it is; the same first look for all kinds. */
export function readType(
  wanted: { readonly kind: string },
  raw: unknown,
  source: { readonly text: string },
): GivenType {
  const problem = (why: string): Error => unreadable(why, wanted, source.text)
  if (raw === null) return { apiVersion: '', group: '', version: '', kind: '' }
  if (typeof raw !== 'object' || Array.isArray(raw)) {
    throw problem(`couldn't get version/kind; json parse error: ${mismatch(raw, `value of type ${typeMeta}`)}`)
  }
  for (const [name, value] of Object.entries(raw)) {
    if ((name !== 'apiVersion' && name !== 'kind') || value === null || typeof value === 'string') continue
    throw problem(
      `couldn't get version/kind; json parse error: ${mismatch(value, `struct field .${name} of type string`)}`,
    )
  }
  const { apiVersion, kind } = raw as { apiVersion?: string | null; kind?: string | null }
  const parsed = apiVersion ? parseGroupVersion(apiVersion) : { group: '', version: '' }
  if (parsed === undefined) throw problem(`unexpected GroupVersion string: ${apiVersion}`)
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', ...parsed }
}

/** A value of the wrong type, in the words of Go's decoder. */
export function mismatch(value: unknown, target: string): string {
  const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  return `json: cannot unmarshal ${what} into Go ${target}`
}

/** Custom resources must say what they are. Whether it is the right thing is looked at when they are validated. */
function asCustom(resource: ServedResource, type: GivenType, fields: Fields, source: Source): KubeObject {
  const { apiVersion, kind, version } = type
  if (kind === '') throw withoutKind(resource, type, source)
  if (fields['apiVersion'] === null) {
    const why = '.apiVersion accessor error: <nil> is of the type <nil>, expected string'
    throw badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${resource.kind}: ${why}`)
  }
  return { ...fields, apiVersion, kind } as unknown as KubeObject
}

function withoutKind(resource: ServedResource, { version }: GivenType, { text, isStrict }: Source): Error {
  const why = `Object 'Kind' is missing in '${text}'`
  if (isStrict) return unreadable(why, resource, text)
  // A decoder that is not strict knows by now what it should have been.
  const { kind } = resource
  return badRequest(`${kind} in version ${quote(version || resource.version)} cannot be handled as a ${kind}: ${why}`)
}

function readerOf(registry: Registry, resource: ServedResource, given: GivenType): ServedResource | undefined {
  if (given.kind !== resource.kind || given.group !== resource.group) return undefined
  return given.version === resource.version ? resource : registry.find(given.group, given.version, resource.plural)
}

/** Built-in kinds are what the path says they are, unless they say something else. */
function asBuiltin(resource: ServedResource, registry: Registry, given: GivenType, fields: Fields): KubeObject {
  const expected = formatGroupVersion(resource.group, resource.version)
  const { apiVersion: _, kind: __, ...rest } = fields
  const apiVersion = given.apiVersion || expected
  const kind = given.kind || resource.kind
  if (apiVersion !== expected || kind !== resource.kind) throw otherKind(resource, registry, { apiVersion, kind })
  return { apiVersion, kind, ...rest } as KubeObject
}

function otherKind(resource: ServedResource, registry: Registry, given: { apiVersion: string; kind: string }): Error {
  const { apiVersion, kind } = given
  const { group = '', version = apiVersion } = parseGroupVersion(apiVersion) ?? {}
  const known = registry.all.find((one) => one.group === group && one.version === version && one.kind === kind)
  if (isOldDefinition(resource, given)) return otherVersion(apiVersion, resource)
  const target = `${goPackageOf(resource)}.${resource.kind}`
  const why =
    known === undefined || known.isCustom
      ? `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`
      : `converting (${version}.${kind}) to (${target}): unknown conversion`
  return badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${resource.kind}: ${why}`)
}

function otherVersion(given: string, { group, version }: ServedResource): Error {
  const expected = formatGroupVersion(group, version)
  return badRequest(`the API version in the data (${given}) does not match the expected API version (${expected})`)
}

/** The one kind of which the real server still knows an older version. */
function isOldDefinition({ kind }: ServedResource, given: { apiVersion: string; kind: string }): boolean {
  return (
    kind === 'CustomResourceDefinition' && given.kind === kind && given.apiVersion === 'apiextensions.k8s.io/v1beta1'
  )
}

/** The real server's name for where a kind lives in its own form; it shows in some messages. */
export function goPackageOf({ group, plural }: ServedResource): string {
  return group === '' || plural === 'events' ? 'core' : group.split('.')[0]!
}
