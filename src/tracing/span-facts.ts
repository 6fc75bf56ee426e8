/** The names and attributes of spans for handlers, objects and requests. Pure. */
import { nameError } from '../util/log/describe-error.ts'
import type { SpanHandler, SpanRequest, SpanSubject } from '../util/tracing/spans.ts'
import { attributes } from './attributes.ts'
import type { PartialAttributes, SpanEnd, SpanStart } from './span-recorder.ts'

/** `databases.example.com`: without the version, so that a new version of a resource does not change the names of spans. */
export function nameResource({ plural, group }: SpanSubject['resource']): string {
  return group === '' ? plural : `${plural}.${group}`
}

export function subjectAttributes({
  resource,
  namespace,
  name,
  uid,
}: Omit<SpanSubject, 'traceparent'>): PartialAttributes {
  return {
    [attributes.resource]: `${resource.plural}.${resource.version}${resource.group === '' ? '' : `.${resource.group}`}`,
    [attributes.namespace]: namespace,
    [attributes.objectName]: name === '' ? undefined : name,
    [attributes.objectUid]: uid,
  }
}

export function handlerAttributes({ id, type, retry }: SpanHandler): PartialAttributes {
  return { [attributes.handlerId]: id, [attributes.handlerType]: type, [attributes.retry]: retry }
}

/** `server` is the address of the API server, if it is known. */
export function requestSpan({ method, path, attempt }: SpanRequest, server: string | undefined): SpanStart {
  const template = toUrlTemplate(path)
  return {
    name: `${method} ${template}`,
    kind: 'client',
    attributes: {
      [attributes.method]: method,
      [attributes.urlTemplate]: template,
      [attributes.resendCount]: attempt > 1 ? attempt - 1 : undefined,
      ...addressOf(path, server),
    },
  }
}

/** Without the query, which may contain selectors with values of objects, and without credentials in the address. */
function addressOf(path: string, server: string | undefined): PartialAttributes {
  if (server === undefined || !URL.canParse(server)) return { [attributes.urlPath]: path }
  const { protocol, hostname, port, host, pathname } = new URL(server)
  return {
    [attributes.serverAddress]: hostname.replace(/^\[|\]$/g, ''),
    [attributes.serverPort]: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    [attributes.urlFull]: `${protocol}//${host}${pathname.replace(/\/$/, '')}${path}`,
  }
}

/**
 * As in the conventions for HTTP clients, a status of 400 or more is an error of the span, and its type. The text of the error is left out: the message of
 * the server may repeat a value that was sent.
 */
export function endOfRequest(code: number | undefined, error: unknown): SpanEnd {
  const isRefused = code !== undefined && code >= 400
  const isFailed = isRefused || error !== undefined
  const type = isRefused ? String(code) : isFailed ? problemOf(error) : undefined
  return { attributes: { [attributes.statusCode]: code, [attributes.errorType]: type }, isFailed }
}

/** The `problem` of a `ConnectionError`, such as `refused`; for other errors their class. */
function problemOf(error: unknown): string {
  const { problem } = (error ?? {}) as { readonly problem?: unknown }
  return typeof problem === 'string' ? problem : nameError(error)
}

/** Headers that control the request itself are not left to a propagator. */
export function isTraceHeader(key: string): boolean {
  return !/^(accept|authorization|content-.*|cookie|host|impersonate-.*|user-agent)$/i.test(key)
}

/** Subresources of the Namespace itself: `/api/v1/namespaces/default/status` has no plural after the namespace. */
const namespaceSubresources: readonly (string | undefined)[] = [undefined, 'status', 'finalize']

/**
 * The `url.template` of a path: names and namespaces are replaced, so that the names of spans have a low cardinality.
 * `/apis/apps/v1/namespaces/prod/deployments/web/scale` becomes `/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale`.
 */
export function toUrlTemplate(path: string): string {
  const [empty, root, ...segments] = path.split('/')
  if (empty !== '' || root === undefined) return '{path}'
  const groupVersionLength = root === 'api' ? 1 : root === 'apis' ? 2 : undefined
  if (groupVersionLength === undefined) return `/${root}${segments.length > 0 ? '/{path}' : ''}`
  const groupVersion = segments.slice(0, groupVersionLength)
  return ['', root, ...groupVersion, ...templateOf(segments.slice(groupVersionLength))].join('/')
}

function templateOf(segments: readonly string[]): readonly string[] {
  const [first, , third] = segments
  if (first === 'namespaces' && !namespaceSubresources.includes(third)) {
    return ['namespaces', '{namespace}', ...objectTemplate(segments.slice(2))]
  }
  return objectTemplate(segments)
}

/** A path below a subresource, such as `/proxy/metrics`, is not part of the template. */
function objectTemplate([plural, name, subresource, ...rest]: readonly string[]): readonly string[] {
  return [
    ...(plural === undefined ? [] : [plural]),
    ...(name === undefined ? [] : ['{name}']),
    ...(subresource === undefined ? [] : [subresource]),
    ...(rest.length === 0 ? [] : ['{path}']),
  ]
}
