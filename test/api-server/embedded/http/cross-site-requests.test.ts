/** A server without credentials refuses requests of web pages in a browser on the same machine, before it reads their body. */
import { connect } from 'node:net'
import { startServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'

const configMaps = '/api/v1/namespaces/default/configmaps'

/** One request with exactly these header lines; resolves with the status code. */
async function statusOf(port: number, head: readonly string[], body = ''): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  socket.write([...head, ...length, 'Connection: close', '', body].join('\r\n'))
  await closed
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
}

const get = (port: number, ...lines: string[]) => statusOf(port, [`GET ${configMaps} HTTP/1.1`, ...lines])
const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
const post = (port: number, ...lines: string[]) => statusOf(port, [`POST ${configMaps} HTTP/1.1`, ...lines], body)

async function start() {
  const server = await startServer({ open: true, insecure: true })
  return { port: Number(new URL(server.url).port), [Symbol.asyncDispose]: () => server.stop() }
}

describe('open servers', () => {
  test.each([
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '0.0.0.0',
    '10.0.0.1',
    '[::2]',
  ])('an open server refuses a request to the host %s (DNS rebinding)', async (host) => {
    await using server = await start()
    expect(await get(server.port, `Host: ${host}`)).toBe(403)
    expect(await post(server.port, `Host: ${host}`)).toBe(403)
  })

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST', 'api.localhost', '127.1.2.3', '[::1]'])(
    'an open server answers to the loopback name %s, with its own port or that of a port forwarding',
    async (host) => {
      await using server = await start()
      for (const port of ['', `:${server.port}`, ':9000'])
        expect(await get(server.port, `Host: ${host}${port}`)).toBe(200)
    },
  )

  test.each(['https://evil.example', 'http://localhost:3000', 'null', 'http://127.0.0.1:1'])(
    'an open server refuses a request from a page of the origin %s (cross-site request forgery)',
    async (origin) => {
      await using server = await start()
      const host = `Host: 127.0.0.1:${server.port}`
      expect(await post(server.port, host, `Origin: ${origin}`)).toBe(403)
      expect(await statusOf(server.port, [`OPTIONS ${configMaps} HTTP/1.1`, host, `Origin: ${origin}`])).toBe(403)
    },
  )

  test.each(['cross-site', 'same-site'])('an open server refuses a request with Sec-Fetch-Site %s', async (site) => {
    await using server = await start()
    expect(await get(server.port, `Host: 127.0.0.1:${server.port}`, `Sec-Fetch-Site: ${site}`)).toBe(403)
  })

  test('an open server answers requests without a page, and from pages of its own origin', async () => {
    await using server = await start()
    const host = `Host: localhost:${server.port}`
    expect(await get(server.port, host, 'Sec-Fetch-Site: none')).toBe(200)
    expect(
      await post(server.port, host, `Origin: http://localhost:${server.port}`, 'Sec-Fetch-Site: same-origin'),
    ).toBe(201)
  })

  test('the refusal of a cross-site request says what to do', async () => {
    await using server = await start()
    const answer = await fetch(`http://127.0.0.1:${server.port}${configMaps}`, {
      headers: { origin: 'https://evil.example' },
    })
    expect(await answer.json()).toMatchObject({
      kind: 'Status',
      reason: 'Forbidden',
      message:
        'Cannot serve this request without credentials: the request comes from a web page of the origin "https://evil.example"; start the server without "--open" (in code: without "open" and "insecure") and use the credentials of its kubeconfig',
    })
  })
})

test('a server with TLS and credentials can be reached by any name', async () => {
  await using server = await startServer()
  const { get: getOver } = await import('node:https')
  const status = await new Promise((resolve, reject) => {
    const headers = {
      host: 'cluster.example',
      authorization: `Bearer ${server.token}`,
      origin: 'https://console.example',
    }
    getOver(
      `${server.url}${configMaps}`,
      { ca: server.ca, headers, agent: false, servername: 'localhost' },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      },
    ).on('error', reject)
  })
  expect(status).toBe(200)
})

test.each(['0.0.0.0', '::', '192.0.2.1'])('plain HTTP on %s is refused, with or without credentials', async (host) => {
  await expect(startServer({ insecure: true, host })).rejects.toMatchObject({
    code: 'KOPF_SERVER_INSECURE',
    message: expect.stringContaining('listen on 127.0.0.1'),
  })
})
