/** Decodes the value of a request body into an object of the resource's kind, or throws the reason why it cannot. */
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import { parseBody, unreadable } from './body.ts'
import type { ResourceCall } from './call.ts'
import { quote } from './field-errors.ts'
import { decodeMetadata } from './metadata.ts'
import type { FieldValidation } from './options.ts'
import { inOrderOfFields } from './problem-order.ts'
import type { ResourceRegistry } from './registry.ts'
import type { ApiResource, Decoded } from './resource.ts'
import { badRequest } from './status.ts'

/** Decodes the body. Unknown fields are rejected, reported as warnings, or ignored, as `fieldValidation` says. */
export async function decodeBody(call: ResourceCall, fieldValidation: FieldValidation): Promise<KubeObject> {
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

/** Built-in kinds ignore the content of unknown fields, so duplicates inside of them are not reported. */
function duplicates(resource: ApiResource, found: readonly string[], others: readonly string[]): readonly string[] {
  if (resource.isCustom || found.length === 0) return found
  const unknown = others.flatMap((problem) => /^unknown field "(.*)"$/.exec(problem)?.[1] ?? [])
  return found.filter((problem) => !unknown.some((path) => isInside(problem, `duplicate field "${path}`)))
}

function isInside(problem: string, prefix: string): boolean {
  return problem.startsWith(`${prefix}.`) || problem.startsWith(`${prefix}[`)
}

/** The text that a value was parsed from, and whether unknown fields count. Both occur in messages. */
interface Source {
  readonly text: string
  readonly isStrict: boolean
  /** The value is the result of a patch, not a client's body. */
  readonly isPatched?: boolean
}

/** Checks the type, decodes the metadata, and lets the kind's strategy decode all other fields. */
export function decodeTyped({ resource, registry }: ResourceCall, raw: unknown, source: Source): Decoded {
  const type = readType(resource, raw, source)
  const fields = (raw ?? {}) as BodyFields
  if (!resource.isCustom) {
    if (source.isPatched && type.apiVersion === '') return decodeVersionless(resource, fields)
    return decodeBy(resource, asBuiltin(resource, registry, type, fields))
  }
  const object = asCustom(resource, type, fields, source)
  // An object of another version is decoded by that version's strategy; an object of another kind only gets its metadata decoded.
  const reader = readerOf(registry, resource, type)
  if (reader !== undefined) return decodeBy(reader, object)
  const { metadata, problems } = decodeMetadata(object.metadata, { ...type, isCustom: true }, resource.kind)
  return { object: { ...object, metadata }, problems }
}

/**
 * kube-apiserver decodes a patched object without apiVersion into its internal type, whose fields have no JSON names: all of them are
 * unknown.
 */
function decodeVersionless({ group, version, kind }: ApiResource, fields: BodyFields): Decoded {
  const unknown = Object.keys(fields).filter((name) => name !== 'apiVersion' && name !== 'kind')
  const object: KubeObject = { apiVersion: formatGroupVersion(group, version), kind, metadata: {} }
  return { object, problems: unknown.sort().map((name) => `unknown field ${quote(name)}`) }
}

function decodeBy(reader: ApiResource, typed: KubeObject): Decoded {
  const { metadata, problems } = decodeMetadata(typed.metadata, reader)
  const decoded = reader.strategy.decode({ ...typed, metadata })
  return { object: decoded.object, problems: [...problems, ...decoded.problems] }
}

function decodeFailure({ apiVersion, kind }: KubeObject, why: string): Error {
  const version = parseGroupVersion(apiVersion)?.version ?? ''
  return badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${kind}: ${why}`)
}

type BodyFields = Record<string, unknown>

interface GivenType {
  readonly apiVersion: string
  readonly group: string
  readonly version: string
  readonly kind: string
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** Reads apiVersion and kind of a body; the same for all kinds. */
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

/** Custom resources must have a kind. Validation checks later that it is the right one. */
function asCustom(resource: ApiResource, type: GivenType, fields: BodyFields, source: Source): KubeObject {
  const { apiVersion, kind, version } = type
  if (kind === '') throw withoutKind(resource, type, source)
  if (fields['apiVersion'] === null) {
    const why = '.apiVersion accessor error: <nil> is of the type <nil>, expected string'
    throw badRequest(`${kind} in version ${quote(version)} cannot be handled as a ${resource.kind}: ${why}`)
  }
  return { ...fields, apiVersion, kind } as unknown as KubeObject
}

function withoutKind(resource: ApiResource, { version }: GivenType, { text, isStrict }: Source): Error {
  const why = `Object 'Kind' is missing in '${text}'`
  if (isStrict) return unreadable(why, resource, text)
  // A decoder that is not strict already knows the expected kind.
  const { kind } = resource
  return badRequest(`${kind} in version ${quote(version || resource.version)} cannot be handled as a ${kind}: ${why}`)
}

function readerOf(registry: ResourceRegistry, resource: ApiResource, given: GivenType): ApiResource | undefined {
  if (given.kind !== resource.kind || given.group !== resource.group) return undefined
  return given.version === resource.version ? resource : registry.find(given.group, given.version, resource.plural)
}

/** Built-in kinds default apiVersion and kind from the path; other values are rejected. */
function asBuiltin(
  resource: ApiResource,
  registry: ResourceRegistry,
  given: GivenType,
  fields: BodyFields,
): KubeObject {
  const expected = formatGroupVersion(resource.group, resource.version)
  const { apiVersion: _, kind: __, ...rest } = fields
  const apiVersion = given.apiVersion || expected
  const kind = given.kind || resource.kind
  if (apiVersion !== expected || kind !== resource.kind) throw otherKind(resource, registry, { apiVersion, kind })
  return { apiVersion, kind, ...rest } as KubeObject
}

function otherKind(
  resource: ApiResource,
  registry: ResourceRegistry,
  given: { apiVersion: string; kind: string },
): Error {
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

function otherVersion(given: string, { group, version }: ApiResource): Error {
  const expected = formatGroupVersion(group, version)
  return badRequest(`the API version in the data (${given}) does not match the expected API version (${expected})`)
}

/** CustomResourceDefinition is the only kind of which kube-apiserver still knows an older version. */
function isOldDefinition({ kind }: ApiResource, given: { apiVersion: string; kind: string }): boolean {
  return (
    kind === 'CustomResourceDefinition' && given.kind === kind && given.apiVersion === 'apiextensions.k8s.io/v1beta1'
  )
}

/** The Go package of kube-apiserver's internal type; it occurs in some messages. */
export function goPackageOf({ group, plural }: ApiResource): string {
  return group === '' || plural === 'events' ? 'core' : group.split('.')[0]!
}
