/** Parses a request body in any of the API's formats into a value. decode.ts turns the value into an object. */
import { formatGroupVersion, parseGroupVersion } from '../kube/objects.ts'
import { parseYaml, YamlError } from '../util/yaml.ts'
import type { ResourceCall } from './call.ts'
import { findDuplicateFields, parseJsonText } from './json-text.ts'
import { type BodyType, ProtobufError } from './protobuf/wire.ts'
import type { ApiResource } from './resource.ts'
import { badRequest, unsupportedMediaType } from './status.ts'

interface ParsedBody {
  readonly value: unknown
  /** Duplicate keys: the last one wins, and the client gets a warning or an error. */
  readonly problems: readonly string[]
}

/** Used in messages. Custom resources accept protobuf for delete options and scales only. */
const textTypes = 'application/json, application/yaml'
const allTypes = `${textTypes}, application/vnd.kubernetes.protobuf`

/** Most clients send JSON, kubectl may send YAML, and Go clients send protobuf for built-in kinds. */
export async function parseBody(call: ResourceCall, type: BodyType = typeOf(call.resource)): Promise<ParsedBody> {
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

function typeOf({ group, version, kind }: ApiResource): BodyType {
  return { apiVersion: formatGroupVersion(group, version), kind }
}

function unknownFormat(accepted: string): Error {
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  )
}

async function parseProtobuf({ resource, sent }: ResourceCall, type: BodyType): Promise<unknown> {
  // kube-apiserver has no protobuf message for custom resources either; it closes the connection.
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

/** The error for a body whose type is unknown; it shows the first bytes. */
export function unreadable(why: string, { kind }: { readonly kind: string }, body: string | Uint8Array): Error {
  if (kind === 'DeleteOptions') return badRequest(why)
  const summary = summarize(typeof body === 'string' ? Buffer.from(body) : body)
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary})`)
}

/** The first thirty bytes for a message: text if it looks like JSON, otherwise hexadecimal. */
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

/** Text that starts like JSON is parsed as JSON first, since deeply nested JSON exceeds the YAML parser's depth limit. */
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

/** Undefined if the text is not JSON or has duplicate keys. */
export function parseWholeJson(text: string): unknown {
  try {
    const value = parseJsonText(text)
    return findDuplicateFields(text, value).length === 0 ? value : undefined
  } catch {
    return undefined
  }
}
