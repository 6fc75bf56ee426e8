/** Lists objects page by page, for servers that cannot stream the initial objects in a watch. Used by reflector.ts. */

import { toSmallerPage } from '../client/connection-error.ts'
import type { ApiCall, Session } from '../client/session.ts'
import { dropManagedFields, formatGroupVersion, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { nextTurn } from '../util/async/clock.ts'
import { isPlainObject } from '../util/json/json.ts'
import { copyWith, weightOf } from '../util/json/lazy-json.ts'
import { problemOf, withoutManagedFields } from './watch-events.ts'

export interface ListPagesOptions {
  readonly session: Session
  readonly resource: Resource
  readonly keepsManagedFields: boolean
  readonly path: string
  readonly query: NonNullable<ApiCall['query']>
  /** The `Accept` header for another representation than whole objects. */
  readonly accept?: string
  /** Objects per page; null or 0 for one page with all objects. */
  readonly chunkSize: number | null
  take(object: KubeObject): void
  warn(problem: string): void
}

/** The assumed page size when a list without a limit is too large. */
const maxPageSize = 500

/** A larger page is requested again with fewer objects. Ordinary pages of 500 objects have a tenth of this size. */
const maxPageBytes = 16 * 1024 * 1024

/** Lists all objects and returns the version of the list. Rejects with status 410 if the continue token has expired. */
export async function readPages(options: ListPagesOptions, signal: AbortSignal): Promise<string> {
  let { chunkSize } = options
  let version = ''
  let token: string | undefined
  for (;;) {
    try {
      const page = await requestPage(options, { chunkSize, token }, signal)
      await takePage(page, options)
      const metadata = isPlainObject(page['metadata']) ? page['metadata'] : {}
      version = textOf(metadata['resourceVersion']) || version
      token = textOf(metadata['continue']) || undefined
      if (token === undefined) return version
    } catch (error) {
      // Many large objects can make a page too large to be read. A continuation may have another limit than the page before.
      const smaller = toSmallerPage(error, chunkSize || maxPageSize)
      if (smaller === undefined) throw error
      chunkSize = smaller
    }
  }
}

interface PageRequest {
  readonly chunkSize: number | null
  /** The continue token of the previous page; undefined for the first page. */
  readonly token: string | undefined
}

function requestPage(
  { session, resource, path, query, accept, keepsManagedFields }: ListPagesOptions,
  { chunkSize, token }: PageRequest,
  signal: AbortSignal,
): Promise<JsonObject> {
  // A continue token contains the version of its first page, and servers reject another version beside it.
  const { resourceVersion, resourceVersionMatch, ...rest } = query
  const from = token === undefined ? { resourceVersion, resourceVersionMatch } : { continue: token }
  const call: ApiCall = {
    method: 'GET',
    path,
    purpose: 'list',
    resource,
    query: { ...rest, ...from, limit: chunkSize ?? undefined },
    lazy: { form: 'list', ...(keepsManagedFields ? {} : withoutManagedFields) },
    ...(accept === undefined ? {} : { accept }),
    // A page of one object cannot be made smaller.
    ...(chunkSize === 1 ? {} : { maxAnswerBytes: maxPageBytes }),
  }
  return session.request(call, signal)
}

/** Passes the objects of a page to `take`. Items of built-in kinds have no `kind` and `apiVersion`: these come from the list. */
async function takePage(
  page: Record<string, unknown>,
  { resource, keepsManagedFields, take, warn }: ListPagesOptions,
): Promise<void> {
  const apiVersion = textOf(page['apiVersion']) || formatGroupVersion(resource.group, resource.version)
  const kind = textOf(page['kind']).replace(/List$/, '') || resource.kind
  for (const object of Array.isArray(page['items']) ? page['items'] : []) {
    const whole = isPlainObject(object) ? withKind(object, apiVersion, kind) : object
    const problem = problemOf(whole, resource)
    if (problem !== undefined) warn(problem)
    else take(keepsManagedFields ? (whole as KubeObject) : dropManagedFields(whole as KubeObject))
    // The parsed parts of a large object can be garbage-collected only after the next turn of the event loop.
    if (isPlainObject(whole) && weightOf(whole).bytes > 0) await nextTurn()
  }
}

/**
 * Adds `apiVersion` and `kind` as the first fields, as in manifests. Building the object with them is faster in V8 than adding
 * them later.
 */
function withKind(object: Record<string, unknown>, apiVersion: string, kind: string): Record<string, unknown> {
  if (object['apiVersion'] !== undefined && object['kind'] !== undefined) return object
  return copyWith(object, {}, { apiVersion, kind })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
