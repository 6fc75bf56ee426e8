/** The objects that are there, page by page: for servers that cannot stream them. Used by reflect.ts. */
import type { ApiCall, Session } from '../../client/calls.ts'
import { toSmallerPage } from '../../client/connection-error.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { isPlainObject } from '../../util/json.ts'
import { dropManagedFields, problemOf } from './events.ts'

export interface ListOptions {
  readonly session: Session
  readonly resource: Resource
  readonly keepsManagedFields: boolean
  readonly path: string
  readonly query: NonNullable<ApiCall['query']>
  /** Another form than the whole objects. */
  readonly accept?: string
  /** How many at once; null for all. */
  readonly chunkSize: number | null
  take(object: KubeObject): void
  warn(problem: string): void
}

/** The version of the list. Rejects with 410 where it took so long that the server has forgotten where it was. */
export async function readPages(options: ListOptions, signal: AbortSignal): Promise<string> {
  let { chunkSize } = options
  let version = ''
  let token: string | undefined
  for (;;) {
    try {
      const page = await requestPage(options, { chunkSize, token }, signal)
      takePage(page, options)
      const metadata = isPlainObject(page['metadata']) ? page['metadata'] : {}
      version = textOf(metadata['resourceVersion']) || version
      token = textOf(metadata['continue']) || undefined
      if (token === undefined) return version
    } catch (error) {
      // Many large objects make a page too large to be read; a continuation may have another limit than the page before.
      const smaller = toSmallerPage(error, chunkSize)
      if (smaller === undefined) throw error
      chunkSize = smaller
    }
  }
}

interface PageRequest {
  readonly chunkSize: number | null
  /** Where the page before has ended; undefined for the first. */
  readonly token: string | undefined
}

function requestPage(
  { session, path, query, accept }: ListOptions,
  { chunkSize, token }: PageRequest,
  signal: AbortSignal,
): Promise<JsonObject> {
  // A continuation has the version of its first page in it, and servers refuse a second one.
  const { resourceVersion, resourceVersionMatch, ...rest } = query
  const from = token === undefined ? { resourceVersion, resourceVersionMatch } : { continue: token }
  const call: ApiCall = { method: 'GET', path, query: { ...rest, ...from, limit: chunkSize ?? undefined } }
  return session.request(accept === undefined ? call : { ...call, accept }, signal)
}

/** Items of built-in kinds come without a kind: it is that of the list. */
function takePage(page: Record<string, unknown>, { resource, keepsManagedFields, take, warn }: ListOptions): void {
  const apiVersion = textOf(page['apiVersion']) || formatGroupVersion(resource.group, resource.version)
  const kind = textOf(page['kind']).replace(/List$/, '') || resource.kind
  for (const object of Array.isArray(page['items']) ? page['items'] : []) {
    const whole = isPlainObject(object) ? withKind(object, apiVersion, kind) : object
    const problem = problemOf(whole, resource)
    if (problem !== undefined) warn(problem)
    else take(keepsManagedFields ? (whole as KubeObject) : dropManagedFields(whole as KubeObject))
  }
}

/** First, as people and servers write them; and there from the beginning, which engines like better. */
function withKind(object: Record<string, unknown>, apiVersion: string, kind: string): Record<string, unknown> {
  if (object['apiVersion'] !== undefined && object['kind'] !== undefined) return object
  return { apiVersion, kind, ...object }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
