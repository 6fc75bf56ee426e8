/** Requests through an HTTP proxy: it opens a tunnel by CONNECT and sees no content. */
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect as connectTo, type Socket } from 'node:net'
import { ConnectionInfo, type ConnectionInfoOptions } from 'kopf'
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { readPeerCertificate } from '../../src/client/cluster-flavour.ts'
import { createHttpsTransport } from '../../src/client/http/transport.ts'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { configMaps, defer, failureOf, sessionOn } from './client-targets.ts'

afterEach(() => vi.unstubAllEnvs())

interface Proxy {
  readonly url: string
  /** The CONNECT requests: `host:port` and the proxy authorization. */
  readonly asked: Array<{ readonly authority: string; readonly authorization: string | undefined }>
  /** The headers of all CONNECT requests. */
  readonly headers: IncomingMessage['headers'][]
  readonly open: Set<Socket>
}

interface ProxyOptions {
  /** `user:password`, if the proxy requires them. */
  readonly password?: string
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Never answers. */
  readonly isSilent?: boolean
}

async function startProxy({ password, tls, isSilent }: ProxyOptions = {}): Promise<Proxy> {
  const asked: Proxy['asked'] = []
  const headers: Proxy['headers'] = []
  const open = new Set<Socket>()
  const server = tls ? createSecureServer(tls) : createServer()
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    const authorization = request.headers['proxy-authorization']
    asked.push({ authority: request.url!, authorization })
    headers.push(request.headers)
    client.on('error', () => {})
    if (isSilent) {
      open.add(client)
      client.on('close', () => open.delete(client)).on('end', () => client.end())
      client.resume()
      return
    }
    if (password !== undefined && authorization !== `Basic ${Buffer.from(password).toString('base64')}`) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const [host, port] = request.url!.split(/:(?=\d+$)/)
    const upstream = connectTo(Number(port), host)
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    }
    upstream.on('error', () => client.destroy())
    upstream.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  defer(() => {
    for (const socket of open) socket.destroy()
    return new Promise((resolve) => server.close(resolve).closeAllConnections())
  })
  const { port } = server.address() as AddressInfo
  return { url: `http${tls ? 's' : ''}://127.0.0.1:${port}`, asked, headers, open }
}

async function start(options: { readonly insecure?: boolean; readonly open?: boolean } = {}): Promise<RunningServer> {
  const server = await startServer(options)
  defer(() => server.stop())
  return server
}

function through(server: RunningServer, options: Partial<ConnectionInfoOptions>) {
  const { url, token, ca } = server
  const transport = createHttpsTransport(new ConnectionInfo({ server: url, token, caData: ca, ...options }))
  defer(() => transport.close())
  return { transport, session: sessionOn(transport, { networking: { ...sessionNetworking, errorBackoffs: [] } }) }
}

const sessionNetworking = { requestTimeout: 10, connectTimeout: null, enforceRetryAfter: false }
const list = { method: 'GET', path: configMaps } as const

describe.each([
  ['HTTPS', {}, {}],
  // Without a token, since tokens are not sent over plain HTTP through a proxy.
  ['plain HTTP', { insecure: true, open: true }, { token: undefined }],
])('proxies in front of %s servers', (_, options, credentials) => {
  test('requests go through the proxy over reused connections', async () => {
    const [server, proxy] = [await start(options), await startProxy()]
    const { session } = through(server, { proxyUrl: proxy.url, ...credentials })
    for (let index = 0; index < 5; index += 1) {
      expect(await session.request(list)).toMatchObject({ kind: 'ConfigMapList' })
    }
    expect(proxy.asked).toEqual([{ authority: new URL(server.url).host, authorization: undefined }])
    expect(JSON.stringify(proxy.headers)).not.toContain(server.token || 'authorization":"Bearer')
  })
})

test('watches go through the proxy, and their connections are closed with the transport', async () => {
  const [server, proxy] = [await start(), await startProxy()]
  const { session, transport } = through(server, { proxyUrl: proxy.url })
  const stream = await session.stream({ ...list, query: { watch: true } }, new AbortController().signal)
  const broken = failureOf(stream[Symbol.asyncIterator]().next())
  expect(proxy.open.size).toBe(2)
  await transport.close()
  await broken
  await vi.waitFor(() => expect(proxy.open.size).toBe(0))
})

test('the username and password in the proxy URL are sent to the proxy', async () => {
  const [server, proxy] = [await start(), await startProxy({ password: 'me:s3cr@t' })]
  const address = proxy.url.replace('//', '//me:s3cr%40t@')
  const { session } = through(server, { proxyUrl: address })
  expect(await session.request(list)).toMatchObject({ kind: 'ConfigMapList' })
  const { session: other } = through(server, { proxyUrl: proxy.url.replace('//', '//me:hush@') })
  const error = await failureOf(other.request(list))
  expect(String(error)).toContain(
    `Cannot connect through the proxy ${new URL(proxy.url).host}: it answered 407; put the right username and password`,
  )
  expect(error).toMatchObject({ code: 'KOPF_CONNECTION', problem: 'refused', mayHaveArrived: false })
  expect(String(error)).not.toContain('hush')
})

test('a proxy can be reached over TLS', async () => {
  const authority = await CertificateAuthority.create('proxies')
  const { certPem, keyPem } = await authority.issue({ commonName: 'proxy', hosts: ['127.0.0.1'] })
  const [server, proxy] = [await start(), await startProxy({ tls: { cert: certPem, key: keyPem } })]
  // The proxy is verified by the CAs of the system; the CA of the cluster does not apply to it.
  const error = await failureOf(through(server, { proxyUrl: proxy.url }).session.request(list))
  expect(error).toMatchObject({ problem: 'certificate' })
  expect(proxy.asked).toEqual([])
})

test('a proxy that cannot be reached is named in the error', async () => {
  const server = await start()
  const error = await failureOf(through(server, { proxyUrl: 'http://127.0.0.1:1' }).session.request(list))
  expect(error).toMatchObject({ problem: 'refused' })
  expect(String(error)).toContain('nothing listens at 127.0.0.1:1')
})

test('a server that is not a proxy fails the request with a connection error', async () => {
  const [server, plain] = [await start(), await start({ insecure: true })]
  const error = await failureOf(through(server, { proxyUrl: plain.url }).session.request(list))
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ code: 'KOPF_CONNECTION' })
})

test('aborting a request does not wait for a silent proxy, and closes the connection to it', async () => {
  const [server, proxy] = [await start(), await startProxy({ isSilent: true })]
  const { session, transport } = through(server, { proxyUrl: proxy.url })
  const leaving = new AbortController()
  const asking = failureOf(session.request(list, leaving.signal))
  await vi.waitFor(() => expect(proxy.asked).toHaveLength(1))
  leaving.abort(new Error('enough'))
  expect(await asking).toMatchObject({ message: 'enough' })
  await transport.close()
  await vi.waitFor(() => expect(proxy.open.size).toBe(0))
})

test('the proxy variables of the environment are used only with trustEnv', async () => {
  const [server, proxy] = [await start(), await startProxy()]
  vi.stubEnv('HTTPS_PROXY', proxy.url)
  vi.stubEnv('NO_PROXY', undefined)
  await through(server, {}).session.request(list)
  expect(proxy.asked).toEqual([])
  await through(server, { trustEnv: true }).session.request(list)
  expect(proxy.asked).toHaveLength(1)
  vi.stubEnv('NO_PROXY', '127.0.0.0/8')
  await through(server, { trustEnv: true }).session.request(list)
  expect(proxy.asked).toHaveLength(1)
})

test('the server certificate is read through the proxy', async () => {
  const [server, proxy] = [await start(), await startProxy()]
  const connection = new ConnectionInfo({ server: server.url, caData: server.ca, proxyUrl: proxy.url })
  const certificate = await readPeerCertificate(connection, new AbortController().signal)
  expect(certificate?.subject).toContain('kopf-embedded-server')
  expect(proxy.asked).toHaveLength(1)
})

test('tlsServerName is verified through the proxy', async () => {
  const [server, proxy] = [await start(), await startProxy()]
  const good = through(server, { proxyUrl: proxy.url, tlsServerName: 'kubernetes.default.svc' })
  expect(await good.session.request(list)).toMatchObject({ kind: 'ConfigMapList' })
  const bad = through(server, { proxyUrl: proxy.url, tlsServerName: 'elsewhere.example.com' })
  expect(await failureOf(bad.session.request(list))).toMatchObject({ problem: 'certificate' })
})
