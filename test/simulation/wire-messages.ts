/** Requests and responses of a simulation: the type of a request, and the objects in a response. */
import type { TransportRequest, TransportResponse } from '../../src/util/transport.ts'

export interface ShownObject {
  readonly metadata: {
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: Readonly<Record<string, unknown>>
}

export interface WrittenObject extends ShownObject {
  readonly metadata: ShownObject['metadata'] & {
    readonly name: string
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
}

export interface Request extends TransportRequest {
  readonly kind: 'watch' | 'list' | 'read' | 'write'
}

export function kindOf({ method, path }: TransportRequest): Request['kind'] {
  if (method !== 'GET') return 'write'
  if (path.includes('watch=')) return 'watch'
  return /\/(widgets|\w+webhookconfigurations)(\?|$)/.test(path) ? 'list' : 'read'
}

/** The widgets in a response; none for other resources. */
export function objectsIn({ path }: Request, body: Buffer): readonly ShownObject[] {
  if (!path.includes('/widgets')) return []
  const answer = JSON.parse(body.toString('utf8')) as { items?: readonly ShownObject[] } & ShownObject
  return answer.items ?? [answer]
}

/** The uid that a patch is guarded by. */
export function uidOf(body: string): string | undefined {
  try {
    const patch = JSON.parse(body)
    if (!Array.isArray(patch)) return patch.metadata?.uid
    return patch.find(({ op, path }) => op === 'test' && path === '/metadata/uid')?.value
  } catch {
    return undefined
  }
}

export function status(
  code: number,
  reason: string,
  message: string,
  { details = {}, retryAfter }: { readonly details?: object; readonly retryAfter?: number } = {},
): TransportResponse {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code }
  const headers = {
    'content-type': 'application/json',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  }
  return { status: code, headers, body: once(Buffer.from(JSON.stringify(body))) }
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
