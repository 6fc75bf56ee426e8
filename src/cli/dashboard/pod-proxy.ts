/**
 * Requests to the pod of an operator through the API server: `/api/v1/namespaces/…/pods/https:…/proxy/…`, with the credentials of the kubeconfig. When the
 * pod is replaced, the next request finds the new one; when the credentials have expired, the kubeconfig is read again. Used by `kopf dashboard` and `kopf top`.
 */
import { toConnectionError } from '../../client/connection-error.ts'
import { objectPath } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import { KopfError } from '../../errors.ts'
import { getString, isPlainObject } from '../../util/json/json.ts'
import { tryParseJsonText } from '../../util/json/json-text.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../util/transport.ts'
import type { OperatorPod } from './operator-pod.ts'

/** The access to the API server with one set of credentials. */
export interface ProxyCluster extends AsyncDisposable {
  readonly transport: Transport
  readonly session: Session
}

export interface PodProxyOptions {
  /** Opens the cluster with the current credentials of the kubeconfig. */
  readonly open: () => Promise<ProxyCluster>
  readonly findPod: (session: Session) => Promise<OperatorPod>
  /** Called with each pod that is used, the first one included. */
  readonly onPod?: (pod: OperatorPod) => void
}

/** Errors are read up to this size: they may come from the pod as well. */
const maxErrorBytes = 64 * 1024
/** Statuses of the API server that mean that the pod is gone, or that nothing listens on its port. */
const unreachable: ReadonlySet<number> = new Set([404, 503])
/** Statuses after which the pod may have received the request. */
const broken: ReadonlySet<number> = new Set([500, 502, 504])

export class PodProxy implements Transport, AsyncDisposable {
  readonly #options: PodProxyOptions
  #cluster: Promise<ProxyCluster> | undefined
  #pod: Promise<OperatorPod> | undefined
  #usedPod: string | undefined

  constructor(options: PodProxyOptions) {
    this.#options = options
  }

  /** The pod that the next request goes to. */
  async pod(): Promise<OperatorPod> {
    const { findPod, onPod } = this.#options
    this.#pod ??= this.session().then((session) => findPod(session))
    const finding = this.#pod
    const pod = await finding.catch((error) => {
      if (this.#pod === finding) this.#pod = undefined
      throw error
    })
    const name = `${pod.name}:${pod.port}`
    if (this.#usedPod !== name) {
      this.#usedPod = name
      onPod?.(pod)
    }
    return pod
  }

  async session(): Promise<Session> {
    return (await this.#open()).session
  }

  /**
   * The response of the pod. Rejects with an error for the user if the API server refuses. A request that did not reach the pod is sent again once, to the
   * pod that has replaced the first one.
   */
  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const cluster = await this.#open()
      const pod = await this.pod()
      const proxied = { ...request, path: toProxyPath(pod, request.path) }
      const response = await cluster.transport.send(proxied, signal).catch((error) => {
        signal?.throwIfAborted()
        throw toConnectionError(proxied, error)
      })
      const answer = await readStatus(response)
      if (answer.status === undefined) return answer.response
      const { code } = answer.status
      if (code === 401) this.#forgetCluster(cluster)
      else if (unreachable.has(code) || broken.has(code)) this.#pod = undefined
      else throw toRefusal(pod, request, answer.status)
      if (attempt > 1 || (broken.has(code) && request.method !== 'GET')) throw toUnreachable(pod, answer.status)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#cluster?.catch(() => undefined))?.[Symbol.asyncDispose]()
  }

  #open(): Promise<ProxyCluster> {
    this.#cluster ??= this.#options.open()
    const opening = this.#cluster
    return opening.catch((error) => {
      if (this.#cluster === opening) this.#cluster = undefined
      throw error
    })
  }

  /** Streams that use the old connections end, and are opened again by their readers. */
  #forgetCluster(cluster: ProxyCluster): void {
    this.#cluster = undefined
    void cluster[Symbol.asyncDispose]()
  }
}

function toProxyPath({ namespace, name, scheme, port }: OperatorPod, path: string): string {
  const resource = { group: '', version: 'v1', plural: 'pods', namespaced: true }
  const pod = objectPath(resource, { namespace, name })
  return `${pod.replace(/[^/]+$/, (encoded) => `${scheme}:${encoded}:${port}`)}/proxy${path}`
}

/** A `Status` of the API server itself; a response of the pod otherwise. */
interface ProxyAnswer {
  readonly response: TransportResponse
  readonly status: { readonly code: number; readonly message: string } | undefined
}

async function readStatus(response: TransportResponse): Promise<ProxyAnswer> {
  const { status, headers, body } = response
  if (status < 400 || !String(headers['content-type']).startsWith('application/json'))
    return { response, status: undefined }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxErrorBytes) break
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  const parsed = tryParseJsonText(bytes.toString('utf8'))
  const again = { ...response, body: toBody(bytes) }
  if (!isPlainObject(parsed) || getString(parsed, 'kind') !== 'Status') return { response: again, status: undefined }
  return { response: again, status: { code: status, message: getString(parsed, 'message') ?? '' } }
}

async function* toBody(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}

type RefusedStatus = NonNullable<ProxyAnswer['status']>

function toRefusal(
  { namespace, name }: OperatorPod,
  { method }: TransportRequest,
  { code, message }: RefusedStatus,
): KopfError {
  if (code !== 403) {
    return new KopfError(
      'KOPF_DASHBOARD_UNREACHABLE',
      `Cannot reach the operator through the API server: status ${code}: ${message}`,
    )
  }
  const verb = method === 'GET' ? 'get' : 'create'
  const rule = JSON.stringify({ apiGroups: [''], resources: ['pods/proxy'], verbs: ['get', 'create'] })
  return new KopfError(
    'KOPF_FORBIDDEN',
    `Cannot reach the pod "${name}" in the namespace "${namespace}": this user may not "${verb}" pods/proxy; a role needs the rule ${rule}`,
  )
}

function toUnreachable({ namespace, name, port }: OperatorPod, { code, message }: RefusedStatus): KopfError {
  if (code === 401) {
    return new KopfError(
      'KOPF_LOGIN',
      `Cannot log in to the cluster: ${message}; renew the credentials of the kubeconfig`,
    )
  }
  return new KopfError(
    'KOPF_DASHBOARD_UNREACHABLE',
    `Cannot reach the port ${port} of the pod "${name}" in the namespace "${namespace}" through the API server: ${message}; check that the ` +
      'operator runs with --dashboard, that the scheme is right, and that its NetworkPolicy allows the port',
  )
}
