/**
 * Content negotiation: JSON or YAML; the object itself, a Table, or its metadata only. Called for every request that returns an
 * object. Protobuf, which kube-apiserver also supports, is skipped: clients that prefer it accept JSON too.
 */
import { quote } from './field-errors.ts'
import { badRequest, StatusError } from './status.ts'

/** The type of the requested content: `discovery` is `/api` and `/apis`, `plain` any other path that is not a resource. */
export type RequestedContent = 'object' | 'list' | 'watch' | 'discovery' | 'plain'

type ConvertedKind = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList'

export interface Negotiated {
  readonly format: 'json' | 'yaml'
  /** The value of the `Content-Type` header. */
  readonly contentType: string
  /** The type that the object is converted to; undefined for the object itself. */
  readonly as?: ConvertedKind
  /** The version of `as`. */
  readonly version?: string
  readonly isPretty: boolean
}

interface Clause {
  readonly type: string
  readonly subtype: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

const mediaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
const streamTypes = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch']

const plainJson: Negotiated = { format: 'json', contentType: 'application/json', isPretty: false }

/** Throws a StatusError with 406 if the server has no representation that the client accepts. */
export function negotiate(accept: string | undefined, subject: RequestedContent): Negotiated {
  // The values that most clients send, for every request.
  if (!accept || accept === 'application/json' || accept === '*/*') return plainJson
  const clauses = parseAccept(accept)
  if (subject === 'discovery') {
    const aggregated = findForm(clauses, subject, true)
    if (aggregated) return aggregated
  }
  const form = findForm(clauses, subject, false)
  if (!form) throw notAcceptable(mediaTypes)
  if (subject === 'watch' && form.format === 'yaml') throw notAcceptable(streamTypes)
  return form
}

function notAcceptable(accepted: readonly string[]): StatusError {
  const message = `only the following media types are accepted: ${accepted.join(', ')}`
  return new StatusError(406, 'NotAcceptable', message)
}

/**
 * kube-apiserver's router checks the header of requests to built-in kinds before their handler does: it ignores parameters and does
 * not know `application/*`. Custom resources and `/apis` have no such router.
 */
export function checkRoute(accept: string | undefined, subject: RequestedContent): void {
  const offered = subject === 'list' || subject === 'watch' ? [...mediaTypes, ...streamTypes] : mediaTypes
  checkOffered(accept, offered, mediaTypes)
}

/** The same check for documents of other types: `offered` occurs in the message, `taken` decides. */
export function checkOffered(
  accept: string | undefined,
  offered: readonly string[],
  taken: readonly string[] = offered,
): void {
  const accepted = (accept || '*/*').split(',').map((part) => part.split(';')[0]!.trim())
  if (accepted.some((type) => type === '*/*' || taken.includes(type))) return
  const message = `406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`
  throw new StatusError(406, 'NotAcceptable', message, {})
}

function findForm(
  clauses: readonly Clause[],
  subject: RequestedContent,
  isAggregated: boolean,
): Negotiated | undefined {
  for (const clause of clauses) {
    for (const format of ['json', 'yaml'] as const) {
      const isAny = clause.type === '*' && clause.subtype === '*'
      const matches = clause.type === 'application' && (clause.subtype === format || clause.subtype === '*')
      const form = (isAny || matches) && toForm(clause.parameters, format, subject, isAggregated)
      if (form) return form
    }
  }
  return undefined
}

/** Undefined if a parameter requests something that the format, or this type of request, does not support. */
function toForm(
  parameters: Clause['parameters'],
  format: Negotiated['format'],
  subject: RequestedContent,
  isAggregated: boolean,
): Negotiated | undefined {
  const isResource = subject !== 'discovery' && subject !== 'plain'
  const stream = parameters.get('stream')
  if (stream && (stream !== 'watch' || format === 'yaml')) return undefined
  const serverVersion = parameters.get('sv')
  if (serverVersion && (serverVersion !== 'v1' || !isResource)) return undefined
  const isPretty = parameters.get('pretty') === '1'
  const contentType = `application/${format}`
  const asksConversion = ['as', 'g', 'v'].some((name) => parameters.has(name))
  if (!asksConversion) return isAggregated ? undefined : { format, contentType, isPretty }
  const as = toConversion(parameters, isResource, isAggregated)
  if (as === undefined) return undefined
  const version = parameters.get('v')!
  const suffix = isAggregated ? `;g=apidiscovery.k8s.io;v=${version};as=${as}` : ''
  return { format, contentType: contentType + suffix, as, version, isPretty }
}

function toConversion(
  parameters: Clause['parameters'],
  isResource: boolean,
  isAggregated: boolean,
): ConvertedKind | undefined {
  const [as, group, version] = ['as', 'g', 'v'].map((name) => parameters.get(name) ?? '')
  if (isAggregated) {
    // v2beta1 was removed in 1.35.
    const isKnown = as === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io' && version === 'v2'
    return isKnown ? as : undefined
  }
  if (!isResource || group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined
  return as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' ? as : undefined
}

/** The clauses of an Accept header, the preferred first. */
function parseAccept(header: string): Clause[] {
  const clauses = header.split(',').flatMap((part) => parseClause(part.trim()) ?? [])
  // An insertion sort, as in kube-apiserver: the comparison is not transitive (a wildcard and a lower quality each precede the other), so
  // the algorithm affects the result.
  for (let end = 1; end < clauses.length; end++) {
    for (let at = end; at > 0 && precedes(clauses[at]!, clauses[at - 1]!); at--) {
      const later = clauses[at - 1]!
      clauses[at - 1] = clauses[at]!
      clauses[at] = later
    }
  }
  return clauses
}

function precedes(one: Clause, other: Clause): boolean {
  if (one.quality > other.quality) return true
  return (one.type !== '*' && other.type === '*') || (one.subtype !== '*' && other.subtype === '*')
}

function parseClause(text: string): Clause | undefined {
  const [range = '', ...rest] = text.split(';')
  const [type = '', subtype, ...more] = range.split('/').map((part) => part.trim())
  if (more.length > 0 || (!subtype && type !== '*')) return undefined
  const parameters = new Map<string, string>()
  for (const part of rest) {
    const [key = '', value, ...excess] = part.split('=')
    if (value && excess.length === 0) parameters.set(key.trim(), value.trim())
  }
  const quality = parameters.has('q') ? Number.parseFloat(parameters.get('q')!) || 0 : 1
  parameters.delete('q')
  return { type, subtype: subtype || '*', quality, parameters }
}

/** Indents JSON for people: `?pretty` decides if given; otherwise browsers, curl and wget are recognised by their user agent. */
export function isPrettyRequest(pretty: string | null | undefined, userAgent: string | undefined): boolean {
  if (pretty) return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(pretty)
  return /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent ?? '')
}

export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** The query parameter `includeObject`: the part of the object in each row of a Table. */
export function parseIncludeObject(value: string | null | undefined): IncludeObject {
  if (!value) return 'Metadata'
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value
  const problem = `Invalid value: ${quote(value)}: must be 'Metadata', 'Object', 'None', or empty`
  throw badRequest(`Unable to convert to Table as requested: includeObject: ${problem}`)
}
