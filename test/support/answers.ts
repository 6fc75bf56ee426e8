/** Types of requests to and responses from an API server, as the suites use them. */
import type http from 'node:http'

export interface RequestOptions {
  /** Strings and buffers are sent unchanged, all other values as JSON. */
  readonly body?: unknown
  /** A string is sent unchanged; the values of a record are escaped, its keys are not. */
  readonly query?: string | Readonly<Record<string, string | number | boolean>>
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType?: string
  readonly accept?: string
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly body: Body
}

/** Loosely typed on purpose: the suites check which of these fields a response has. */
export interface Body {
  apiVersion: string
  kind: string
  metadata: Metadata
  spec: Tree
  status: Tree
  items: Body[]
  rows: Row[]
  columnDefinitions: Tree[]
  [field: string]: unknown
}

export type Tree = { [field: string]: unknown }

interface Row {
  cells: unknown[]
  object: Body
}

interface Metadata {
  name: string
  namespace: string
  uid: string
  resourceVersion: string
  generation: number
  creationTimestamp: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: Tree[]
  continue?: string
  remainingItemCount?: number
  [field: string]: unknown
}

/** Removes managed fields, in place: only the suites about server-side apply compare them. */
export function withoutManagedFields(value: unknown): Body {
  if (typeof value !== 'object' || value === null) return value as Body
  const body = value as Partial<Body> & { object?: unknown }
  if (typeof body.metadata === 'object' && body.metadata !== null) delete body.metadata['managedFields']
  if (Array.isArray(body.items)) for (const each of body.items) withoutManagedFields(each)
  if (Array.isArray(body.rows)) for (const row of body.rows) withoutManagedFields(row)
  if (body.object !== undefined) withoutManagedFields(body.object)
  return value as Body
}
