/** Requests of the server to webhooks: their form, the trusted certificates, and the messages of failed calls. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebhookCaller, type WebhookEndpoint } from '../../../../src/server/webhooks/call.ts'
import { WebhookServer } from '../../../support/webhook-server.ts'

const never = new AbortController().signal
const message = { apiVersion: 'example.com/v1', kind: 'Question', request: { uid: 'u' } }

let server: WebhookServer
let caller: WebhookCaller

beforeAll(async () => {
  server = await WebhookServer.start(['127.0.0.1', 'localhost', 'hook.ns.svc'])
  caller = new WebhookCaller(({ name, port }) => {
    if (name !== 'hook') throw new Error(`service "${name}" not found`)
    return { host: '127.0.0.1', port }
  })
})

afterAll(async () => {
  caller.close()
  await server.stop()
})

const call = (config: WebhookEndpoint, timeoutMs = 5000, signal = never) =>
  caller.call(config, message, { timeoutMs, signal })

const failure = async (config: WebhookEndpoint, timeoutMs?: number): Promise<string> =>
  call(config, timeoutMs).then(
    () => 'no failure',
    (error: Error) => error.message.replaceAll(String(server.port), 'PORT'),
  )

describe('webhook calls', () => {
  test('a webhook is called at its URL, with a JSON body and the timeout in whole seconds', async () => {
    server.on('/plain', () => ({ body: { is: 'fine', large: 1 } }))
    expect(await call(server.at('/plain'), 9500)).toEqual({ is: 'fine', large: 1 })
    const [{ url, headers, review }] = server.asked('/plain') as [ReturnType<WebhookServer['asked']>[0]]
    expect({ url, review }).toEqual({ url: '/plain?timeout=10s', review: message })
    expect(headers).toMatchObject({ 'content-type': 'application/json', host: `127.0.0.1:${server.port}` })
  })

  test('a webhook is called by the name of its service, which its certificate must have', async () => {
    server.on('/served', () => ({ body: {} }))
    const service = { namespace: 'ns', name: 'hook', path: '/served/', port: server.port }
    expect(await call({ service, caBundle: server.caBundle })).toEqual({})
    expect(server.asked('/served')[0]!.headers['host']).toBe(`hook.ns.svc:${server.port}`)
    expect(await failure({ service: { ...service, namespace: 'other' }, caBundle: server.caBundle })).toBe(
      'Post "https://hook.other.svc:PORT/served?timeout=5s": tls: failed to verify certificate: x509: certificate is valid for localhost, hook.ns.svc, not hook.other.svc',
    )
  })

  test('integers of 64 bits in a webhook response keep their digits', async () => {
    server.on('/digits', () => ({ body: '{"n": 9007199254740993}' }))
    expect(await call(server.at('/digits'))).toEqual({ n: 9007199254740993n })
  })

  test('a webhook call is repeated when a kept-alive connection is closed', async () => {
    server.on('/again', () => ({ body: {} }))
    await call(server.at('/again'))
    let times = 0
    server.on('/again', () => ({ ...(++times === 1 ? { instead: 'break' as const } : {}), body: {} }))
    expect(await call(server.at('/again'))).toEqual({})
  })

  test('the webhook caller counts pending calls', async () => {
    server.on('/counted', () => ({ body: caller.pending }))
    expect(await call(server.at('/counted'))).toBe(1)
    expect(caller.pending).toBe(0)
  })
})

describe('failed webhook calls', () => {
  const post = (path: string) => `Post "https://127.0.0.1:PORT${path}?timeout=5s"`

  test.each([
    [
      'the status 500',
      '/500',
      { status: 500, contentType: 'text/plain', body: 'broken\n' },
      'an error on the server ("broken") has prevented the request from succeeding',
    ],
    [
      'the status 500 with JSON',
      '/json',
      { status: 500, body: {} },
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [
      'the status of a Status object',
      '/status',
      { status: 500, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'no' } },
      'no',
    ],
    ['the status 404', '/nowhere', { status: 404 }, 'the server could not find the requested resource'],
    [
      'a redirect',
      '/moved',
      { status: 302 },
      'the server responded with the status code 302 but did not return more information',
    ],
    [
      'an empty response',
      '/empty',
      { body: '' },
      '0-length response with status code: 200 and content type: application/json',
    ],
    [
      'text instead of JSON',
      '/words',
      { body: '{no' },
      "couldn't get version/kind; json parse error: invalid character 'n' looking for beginning of object key string",
    ],
  ])('a webhook call fails with a clear message: %s', async (_, path, reply, words) => {
    server.on(path, () => reply)
    expect(await failure(server.at(path))).toBe(words)
  })

  test('a webhook call fails with EOF when the connection breaks', async () => {
    const fresh = new WebhookCaller(() => ({ host: '', port: 0 }))
    server.on('/break', () => ({ instead: 'break' }))
    const calling = fresh.call(server.at('/break'), message, { timeoutMs: 5000, signal: never })
    await expect(calling).rejects.toThrow(`Post "${server.url('/break')}?timeout=5s": EOF`)
    fresh.close()
  })

  test('a webhook call fails when the response is larger than 16 MiB', async () => {
    server.on('/endless', () => ({ body: 'x'.repeat(17 * 1024 * 1024) }))
    expect(await failure(server.at('/endless'))).toBe(`${post('/endless')}: the answer is larger than 16777216 bytes`)
  })

  test('a webhook call fails when its deadline has passed', async () => {
    server.on('/hang', () => ({ instead: 'hang' }))
    expect(await failure(server.at('/hang'), 50)).toBe(
      'Post "https://127.0.0.1:PORT/hang?timeout=1s": context deadline exceeded',
    )
  })

  test('a webhook call fails when its own client has disconnected', async () => {
    const gone = new AbortController()
    server.on('/gone', () => {
      gone.abort()
      return { instead: 'hang' }
    })
    await expect(call(server.at('/gone'), 5000, gone.signal)).rejects.toThrow(/: context canceled$/)
  })

  test('a webhook call fails when the certificate authority is unknown', async () => {
    expect(await failure({ url: server.url('/x') })).toBe(
      `${post('/x')}: tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    )
  })

  test('a webhook call fails when the server has no TLS, or does not listen', async () => {
    const plain = createServer((_, response) => response.end())
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const { port } = plain.address() as AddressInfo
    const url = `https://127.0.0.1:${port}`
    expect(await failure({ url })).toBe(`Post "${url}/?timeout=5s": http: server gave HTTP response to HTTPS client`)
    await new Promise((resolve) => plain.close(resolve))
    expect(await failure({ url })).toBe(
      `Post "${url}/?timeout=5s": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    )
  })

  test('a webhook call fails when its service does not exist', async () => {
    expect(await failure({ service: { namespace: 'ns', name: 'none' } })).toBe(
      'Post "https://none.ns.svc:443/?timeout=5s": service "none" not found',
    )
  })
})
