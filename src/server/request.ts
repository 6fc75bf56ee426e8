/** Parses the method and path of a request (apiserver's RequestInfo). Pure. */

import { trimEnd } from '../util/text/trim.ts'
import type { TransportRequest } from '../util/transport.ts'
import { badRequest } from './status.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** The path of a resource or a subresource. */
export interface ResourcePath {
  readonly group: string
  readonly version: string
  readonly plural: string
  /** '' for cluster-scoped resources and for requests across namespaces. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  /** The deprecated watch path: `/api/v1/watch/…`. */
  readonly isWatchPath: boolean
}

export interface ParsedRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** Undefined for paths that are not resources: discovery, health, version. */
  readonly resource: ResourcePath | undefined
}

/** Shared by requests without a query; never modified. */
const noQuery = new URLSearchParams()

export function parseRequest(request: TransportRequest): ParsedRequest {
  const mark = request.path.indexOf('?')
  const path = mark < 0 ? request.path : request.path.slice(0, mark)
  const query = mark < 0 ? noQuery : new URLSearchParams(request.path.slice(mark + 1))
  return { method: request.method, path, query, resource: parseResourcePath(path) }
}

/** Parses `/api/v1/namespaces/default/pods/web/status` and similar paths; undefined for paths without a resource. */
function parseResourcePath(path: string): ResourcePath | undefined {
  // Decoded before splitting, as in kube-apiserver: an escaped slash separates like any other. `..` is not resolved, and an empty segment
  // matches nothing, or means all namespaces.
  const decoded = trimEnd(decodePath(path), '/')
  const [root, ...rest] = (decoded.startsWith('/') ? decoded.slice(1) : decoded).split('/')
  if (root !== 'api' && root !== 'apis') return undefined
  const group = root === 'api' ? '' : rest.shift()
  const version = rest.shift()
  if (group === undefined || version === undefined || rest.length === 0) return undefined
  const isWatchPath = rest[0] === 'watch' && rest.length > 1
  if (isWatchPath) rest.shift()
  return { group, version, isWatchPath, ...parseScope(rest) }
}

function parseScope(rest: string[]): Pick<ResourcePath, 'plural' | 'namespace' | 'name' | 'subresource'> {
  // `/namespaces/x` and `/namespaces/x/status` are the namespace itself; `/namespaces/x/pods` is inside of it.
  const isInside = rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2]!)
  const namespace = isInside ? rest[1]! : ''
  const [plural = '', name = '', ...subresource] = isInside ? rest.slice(2) : rest
  return { plural, namespace, name, subresource: subresource.join('/') }
}

const namespaceSubresources = new Set(['status', 'finalize'])

function decodePath(path: string): string {
  if (!path.includes('%')) return path
  if (/%(?![0-9a-f]{2})/i.test(path)) throw badRequest(`invalid URL escape in "${path}"`)
  // Byte by byte: invalid UTF-8 is not an error, only a name that does not exist.
  const bytes = Buffer.from(path).toString('latin1')
  const decoded = bytes.replace(/%(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return Buffer.from(decoded, 'latin1').toString('utf8')
}

/** The verb as in RBAC and the audit log. Undefined for methods that the API does not support. */
export function verbOf({ method, query, resource }: ParsedRequest): Verb | undefined {
  const hasName = resource !== undefined && resource.name !== ''
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (resource?.isWatchPath || (!hasName && isTrue(query.get('watch')))) return 'watch'
      return hasName ? 'get' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return hasName ? 'delete' : 'deletecollection'
    default:
      return undefined
  }
}

/** Parses a boolean of a query: true if present and neither `false` nor `0`. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0'
}
