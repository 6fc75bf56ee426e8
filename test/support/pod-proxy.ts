/**
 * A server in front of the embedded server that also serves `pods/…/proxy`, as an API server with nodes does: it checks the permissions of the user, removes the
 * `Authorization` header, and connects to the IP address of the pod. On the real control plane the API server does this itself.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { Api, type Credentials } from './api.ts'
import { failure } from './expectations.ts'

const proxyPath = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/(?:(https?):)?([^/:]+):(\d+)\/proxy(\/[^?]*)(\?.*)?$/

export interface PodProxyServer {
  readonly url: string
  stop(): Promise<void>
}

/** The embedded server; the proxy reads pods with these credentials. */
export interface ProxyTarget {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
}

export async function startPodProxyServer(target: ProxyTarget): Promise<PodProxyServer> {
  const server = http.createServer((request, response) => {
    const match = proxyPath.exec(request.url!)
    const served = match === null ? pass(target, request, response) : proxyTo(target, match, request, response)
    served.catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function pass({ url, caPem }: ProxyTarget, request: IncomingMessage, response: ServerResponse): Promise<void> {
  await exchange(new URL(request.url!, url), { ca: caPem, headers: request.headers }, request, response)
}

async function proxyTo(
  { url, caPem, admin }: ProxyTarget,
  [, namespace, scheme = 'http', name, port, path, query = '']: RegExpExecArray,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  const api = new Api({ url, caPem, credentials: token === undefined ? {} : { token } })
  try {
    const verb = request.method === 'GET' || request.method === 'HEAD' ? 'get' : 'create'
    const resourceAttributes = { namespace, name, verb, resource: 'pods', subresource: 'proxy' }
    const review = await api.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    })
    if (review.status !== 201) return fail(response, review.status, 'Unauthorized', 'Unauthorized')
    if (review.body['status']?.allowed !== true) {
      return fail(response, 403, 'Forbidden', `pods "${name}" is forbidden: cannot ${verb} resource "pods/proxy"`)
    }
    const reader = new Api({ url, caPem, credentials: admin })
    const pod = await reader.get(`/api/v1/namespaces/${namespace}/pods/${name}`)
    reader.close()
    if (pod.status !== 200) return fail(response, 404, 'NotFound', `pods "${name}" not found`)
    const address = new URL(`${scheme}://${pod.body['status'].podIP}:${port}${path}${query}`)
    const { authorization: _, ...headers } = request.headers
    await exchange(address, { rejectUnauthorized: false, headers }, request, response).catch((error: Error) =>
      fail(response, 503, 'ServiceUnavailable', `error trying to reach service: ${error.message}`),
    )
  } finally {
    api.close()
  }
}

function fail(response: ServerResponse, code: number, reason: string, message: string): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(failure(code, reason, message)))
}

/** Streams in both directions. */
function exchange(
  url: URL,
  options: https.RequestOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { request: send } = url.protocol === 'https:' ? https : http
    const outgoing = send(url, { ...options, method: request.method, agent: false }, (incoming) => {
      response.writeHead(incoming.statusCode!, incoming.headers)
      response.flushHeaders()
      incoming.pipe(response)
      incoming.once('end', resolve)
      incoming.once('error', reject)
    })
    outgoing.once('error', reject)
    response.once('close', () => outgoing.destroy())
    request.pipe(outgoing)
  })
}
