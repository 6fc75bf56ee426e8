/** What goes to a server and comes back from it, in the form in which the suites read it. */
import type http from 'node:http'

export interface RequestOptions {
  /** Text and buffers go out as they are, everything else as JSON. */
  readonly body?: unknown
  /** Text goes out as it is; the values of a record are escaped, its keys are not. */
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

/** Loose on purpose: which of these are there is what the suites find out. */
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

/** Managed fields are the business of server-side apply, which these suites leave out. Changes the value it is given. */
export function withoutManagedFields(value: unknown): Body {
  if (typeof value !== 'object' || value === null) return value as Body
  const body = value as Partial<Body> & { object?: unknown }
  if (typeof body.metadata === 'object' && body.metadata !== null) delete body.metadata['managedFields']
  if (Array.isArray(body.items)) for (const each of body.items) withoutManagedFields(each)
  if (Array.isArray(body.rows)) for (const row of body.rows) withoutManagedFields(row)
  if (body.object !== undefined) withoutManagedFields(body.object)
  return value as Body
}
