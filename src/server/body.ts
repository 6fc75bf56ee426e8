/** The body of a request as a value, in whichever of the API's formats it came. decode.ts makes an object of it. */
import { formatGroupVersion, parseGroupVersion } from '../kube/objects.ts'
import { parseYaml, YamlError } from '../util/yaml.ts'
import type { Call } from './call.ts'
import { findDuplicateFields, parseJsonText } from './json-text.ts'
import { type BodyType, ProtobufError } from './protobuf/wire.ts'
import type { ServedResource } from './resource.ts'
import { badRequest, unsupportedMediaType } from './status.ts'

interface ParsedBody {
  readonly value: unknown
  /** Keys that are there twice: only the last counts, and the client is told. */
  readonly problems: readonly string[]
}

/** Every resource reads these for delete options and scales; for the rest, custom resources have no protobuf. */
const textTypes = 'application/json, application/yaml'
const allTypes = `${textTypes}, application/vnd.kubernetes.protobuf`

/** JSON as most clients send it; YAML as the API also takes it; protobuf as the Go clients send what is built in. */
export async function parseBody(call: Call, type: BodyType = typeOf(call.resource)): Promise<ParsedBody> {
  const { headers, body } = call
  const contentType = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  switch (contentType) {
    case '':
    case 'application/json':
      return parseJson(body, type, call.resource.isCustom === true && type.kind === call.resource.kind)
    case 'application/yaml':
      return { value: parseYamlObject(body, type), problems: [] }
    case 'application/vnd.kubernetes.protobuf':
      return { value: await parseProtobuf(call, type), problems: [] }
    default:
      throw unknownFormat(allTypes)
  }
}

function typeOf({ group, version, kind }: ServedResource): BodyType {
  return { apiVersion: formatGroupVersion(group, version), kind }
}

function unknownFormat(accepted: string): Error {
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  )
}

async function parseProtobuf({ resource, sent }: Call, type: BodyType): Promise<unknown> {
  // The real server has no message for them either; it breaks off the connection.
  if (resource.isCustom && type.kind === resource.kind) throw unknownFormat(textTypes)
  const { decodeProtobuf } = await import('./protobuf/decode.ts')
  const bytes = typeof sent === 'string' ? Buffer.from(sent) : sent
  try {
    return decodeProtobuf(bytes, type)
  } catch (error) {
    throw error instanceof ProtobufError ? protobufFailure(error, type, bytes) : error
  }
}

function protobufFailure({ message, type }: ProtobufError, wanted: BodyType, bytes: Uint8Array): Error {
  if (type === undefined || wanted.kind === 'DeleteOptions') return unreadable(message, wanted, bytes)
  const version = parseGroupVersion(type.apiVersion)?.version ?? ''
  return badRequest(`${type.kind} in version "${version}" cannot be handled as a ${wanted.kind}: ${message}`)
}

/** Nothing is known of the body but its first bytes. */
export function unreadable(why: string, { kind }: { readonly kind: string }, body: string | Uint8Array): Error {
  if (kind === 'DeleteOptions') return badRequest(why)
  const summary = summarize(typeof body === 'string' ? Buffer.from(body) : body)
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary})`)
}

/** The first thirty bytes, for a message: as text where it seems to be JSON, in hexadecimal digits where not. */
function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>'
  const text = Buffer.from(bytes.subarray(0, 30)).toString(bytes[0] === 0x7b ? 'utf8' : 'hex')
  return bytes.length > 30 ? `${text} ...` : text
}

function parseJson(text: string, type: BodyType, exact: boolean): ParsedBody {
  try {
    const value = parseJsonText(text, { exact })
    return { value, problems: findDuplicateFields(text, value).map((path) => `duplicate field "${path}"`) }
  } catch (error) {
    throw unreadable(`couldn't get version/kind; json parse error: ${(error as Error).message}`, type, text)
  }
}

/** Most YAML that is deep is JSON: read as such, it may have as many levels as JSON. */
function parseYamlObject(text: string, type: BodyType): unknown {
  try {
    const json = text.startsWith('{') ? parseWholeJson(text) : undefined
    if (json !== undefined) return json
    const [value = null] = parseYaml(text)
    return value
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw unreadable(`error converting YAML to JSON: yaml: ${error.message}`, type, text)
  }
}

/** Undefined for a text that is not JSON without duplicate keys. */
export function parseWholeJson(text: string): unknown {
  try {
    const value = parseJsonText(text)
    return findDuplicateFields(text, value).length === 0 ? value : undefined
  } catch {
    return undefined
  }
}
