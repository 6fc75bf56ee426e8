/** The objects that are there, page by page: for servers that cannot stream them. Used by reflector.ts. */

import { toSmallerPage } from '../client/connection-error.ts'
import type { ApiCall, Session } from '../client/session.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { nextTurn } from '../util/async/clock.ts'
import { isPlainObject } from '../util/json/json.ts'
import { copyWith, weightOf } from '../util/json/lazy-json.ts'
import { dropManagedFields, problemOf, withoutManagedFields } from './watch-events.ts'

export interface ListPagesOptions {
  readonly session: Session
  readonly resource: Resource
  readonly keepsManagedFields: boolean
  readonly path: string
  readonly query: NonNullable<ApiCall['query']>
  /** Another form than the whole objects. */
  readonly accept?: string
  /** How many at once; null or 0 for all. */
  readonly chunkSize: number | null
  take(object: KubeObject): void
  warn(problem: string): void
}

/** Where all were to come at once. */
const maxPageSize = 500

/** A longer page is asked for again with fewer objects: ordinary pages of 500 objects are a tenth of it. */
const maxPageBytes = 16 * 1024 * 1024

/** The version of the list. Rejects with 410 where it took so long that the server has forgotten where it was. */
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
      // Many large objects make a page too large to be read; a continuation may have another limit than the page before.
      const smaller = toSmallerPage(error, chunkSize || maxPageSize)
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
  { session, path, query, accept, keepsManagedFields }: ListPagesOptions,
  { chunkSize, token }: PageRequest,
  signal: AbortSignal,
): Promise<JsonObject> {
  // A continuation has the version of its first page in it, and servers refuse a second one.
  const { resourceVersion, resourceVersionMatch, ...rest } = query
  const from = token === undefined ? { resourceVersion, resourceVersionMatch } : { continue: token }
  const call: ApiCall = {
    method: 'GET',
    path,
    query: { ...rest, ...from, limit: chunkSize ?? undefined },
    lazy: { form: 'list', ...(keepsManagedFields ? {} : withoutManagedFields) },
    ...(accept === undefined ? {} : { accept }),
    // A page of one object cannot be made smaller.
    ...(chunkSize === 1 ? {} : { maxAnswerBytes: maxPageBytes }),
  }
  return session.request(call, signal)
}

/** Items of built-in kinds come without a kind: it is that of the list. */
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
    // What was parsed of a large object cannot be collected before the next turn of the event loop.
    if (isPlainObject(whole) && weightOf(whole).bytes > 0) await nextTurn()
  }
}

/** First, as people and servers write them; and there from the beginning, which engines like better. */
function withKind(object: Record<string, unknown>, apiVersion: string, kind: string): Record<string, unknown> {
  if (object['apiVersion'] !== undefined && object['kind'] !== undefined) return object
  return copyWith(object, {}, { apiVersion, kind })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
