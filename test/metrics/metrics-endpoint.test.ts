/** The metrics endpoint: where it listens, which requests it accepts, and what clients cannot do to the operator. */
import net from 'node:net'
import { Operator, PermanentError } from 'kopf'
import { expect, test } from 'vitest'
import { serveMetrics } from '../../src/metrics/serve-metrics.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'
import { useCleanLab } from '../support/handled.ts'
import { metricsAddressIn, type ScrapeOptions, scrape } from './metrics-support.ts'

const lab = useCleanLab()

function operator(metrics: Partial<Operator['settings']['metrics']> = {}): Operator {
  const kopf = new Operator({ settings: { metrics: { address: '127.0.0.1:0', ...metrics } } })
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

test('metrics are served from the end of the startup to the end of the cleanup', async () => {
  const kopf = operator({ address: null })
  const seen: Record<string, unknown> = {}
  kopf.on.startup(({ settings }) => {
    settings.metrics.address = 'localhost:0'
  })
  kopf.on.cleanup(async () => {
    seen['cleanup'] = (await scrape(metricsAddressIn(lab.logs))).status
  })
  const running = await lab.start(kopf)
  const url = metricsAddressIn(lab.logs)
  expect(url.href).toMatch(/^http:\/\/localhost:\d+\/metrics$/)
  expect((await scrape(url)).status).toBe(200)
  await lab.stop(running)
  expect(seen).toEqual({ cleanup: 200 })
  await expect(scrape(url)).rejects.toThrow('ECONNREFUSED')
})

test('an operator without an address for its metrics does not serve them', async () => {
  await lab.start(operator({ address: null }))
  expect(lab.logs.filter((line) => line.includes('Serving metrics'))).toEqual([])
})

test('the port of the metrics is not opened if a startup handler fails', async () => {
  const kopf = operator()
  kopf.on.startup(() => {
    throw new PermanentError('no database')
  })
  await expect(lab.start(kopf)).rejects.toThrow('no database')
  expect(lab.logs.join()).not.toContain('Serving metrics')
})

test('a start fails if the port of the metrics is taken, before any request to the cluster', async () => {
  const wire = lab.record()
  const taken = net.createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as net.AddressInfo
  const error = await lab
    .start(operator({ address: `127.0.0.1:${port}` }), { transport: wire })
    .catch((thrown: unknown) => thrown)
  taken.close()
  expect(error).toMatchObject({ code: 'KOPF_METRICS_ENDPOINT' })
  expect(String(error)).toContain(
    `Cannot serve metrics at http://127.0.0.1:${port}/metrics: the port is taken by another program; choose another one`,
  )
  expect(wire.requests).toEqual([])
})

test('plain HTTP is served on another address than localhost only if a setting allows it', async () => {
  const start = lab.start(operator({ address: 'http://0.0.0.0:0' }))
  await expect(start).rejects.toMatchObject({ code: 'KOPF_METRICS_ENDPOINT' })
  await expect(start).rejects.toThrow('over plain HTTP, every program that reaches the port could read them; use https')
  await lab.start(operator({ address: 'http://0.0.0.0:0', plainHttp: true }))
  const { port } = metricsAddressIn(lab.logs)
  const headers = { host: 'operator.example.com' }
  expect((await scrape(new URL(`http://127.0.0.1:${port}/metrics`), { headers })).status).toBe(200)
})

test.each(['tcp://localhost', 'localhost:metrics', '', 'operator.ts?'])('the address %j is refused', (address) => {
  expect(() => operator({ address })).toThrow('Cannot set "settings.metrics.address": expected an address such as')
})

test.each<[string, ScrapeOptions, number]>([
  ['/metrics', {}, 200],
  ['/metrics?name[]=a', {}, 200],
  ['/metrics', { method: 'HEAD' }, 200],
  ['/', {}, 404],
  ['/metrics/', {}, 404],
  ['/Metrics', {}, 404],
  ['/readyz', { method: 'POST' }, 404],
  ['/metrics', { method: 'POST' }, 405],
  ['/metrics', { method: 'OPTIONS' }, 405],
  ['/metrics', { headers: { host: 'localhost:9090' } }, 200],
  ['/metrics', { headers: { host: '[::1]' } }, 200],
  ['/metrics', { headers: { host: 'evil.example.com' } }, 403],
  ['/metrics', { headers: { host: '127.0.0.1.evil.example.com' } }, 403],
  ['/metrics', { headers: { 'content-length': 3 } }, 413],
  ['/metrics', { headers: { cookie: 'a'.repeat(10_000) } }, 431],
])('a request for %s with %j is answered with status %i', async (path, options, status) => {
  await lab.start(operator())
  const { headers, text, ...answer } = await scrape(new URL(path, metricsAddressIn(lab.logs)), options)
  expect(answer.status).toBe(status)
  if (status === 431) return
  expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  expect(headers.allow).toBe(status === 405 ? 'GET, HEAD' : undefined)
  expect(headers['content-type']).toBe(status === 200 ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json')
  expect(Object.keys(headers).filter((name) => /^access-control|^server$|powered/.test(name))).toEqual([])
  if (options.method === 'HEAD') expect([text, typeof headers['content-length']]).toEqual(['', 'string'])
})

/** Serves a registry of the test without an operator. */
async function serve(render: () => Promise<{ contentType: string; body: string }>) {
  const lines: string[] = []
  const logger = createLogger(createLogSink({ format: 'plain', write: (line) => lines.push(line.trimEnd()) }), 'test')
  const ending = new AbortController()
  const endpoint = await serveMetrics({
    settings: { address: '127.0.0.1:0', plainHttp: false, certFile: null, keyFile: null },
    metrics: { render },
    session: () => {
      throw new Error('No request is needed')
    },
    clock: systemClock,
    logger,
    signal: ending.signal,
  })
  const url = new URL(`http://127.0.0.1:${endpoint.address.port}/metrics`)
  const close = async () => {
    ending.abort()
    await endpoint.close()
  }
  return { url, lines, [Symbol.asyncDispose]: close }
}

const page = (body: string) => ({ contentType: 'text/plain', body })

test('metrics that cannot be written are answered with 500, without details, and the log has one line about it', async () => {
  await using endpoint = await serve(async () => {
    throw new Error('the password is sesame')
  })
  const answers = [await scrape(endpoint.url), await scrape(endpoint.url), await scrape(endpoint.url)]
  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500])
  expect(answers[0]!.text).toBe('{"error":"internal error"}')
  expect(endpoint.lines.filter((line) => line.includes('A request for metrics has failed'))).toHaveLength(1)
})

test('a scraper that never reads does not hold up another one, and the memory for it is limited', async () => {
  const body = 'a'.repeat(4 * 1024 * 1024)
  await using endpoint = await serve(async () => page(body))
  const { port, hostname } = endpoint.url
  const lost = Array.from({ length: 12 }, () => {
    const socket = net.connect(Number(port), hostname)
    socket.pause()
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {})
    socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
    return { socket, closed }
  })
  const seen = await scrape(endpoint.url)
  expect(seen.text.length).toBe(body.length)
  // The operator disconnects those beyond the limit; reading shows that. A body of the others is still complete.
  const sizes = await Promise.all(
    lost.map(async ({ socket, closed }) => {
      let bytes = 0
      socket.on('data', (chunk) => {
        bytes += chunk.length
        if (bytes >= body.length) socket.destroy()
      })
      socket.resume()
      await closed
      return bytes
    }),
  )
  expect(sizes.filter((bytes) => bytes >= body.length).length).toBeLessThanOrEqual(5)
})

test.each([
  ['have sent nothing', ''],
  ['send the head of a request in pieces', 'GET /metrics HTTP/1.1\r\nhost: local'],
  ['are kept alive after a request', 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'],
])('metrics are served while hundreds of connections from one address %s', async (_, text) => {
  await using endpoint = await serve(async () => page('up 1\n'))
  const { port, hostname } = endpoint.url
  const sockets = Array.from({ length: 600 }, () => net.connect(Number(port), hostname))
  await Promise.all(
    sockets.map((socket) => {
      socket.on('error', () => {})
      return new Promise<void>((resolve) => {
        socket.once('close', () => resolve())
        socket.once('connect', () => socket.write(text, () => resolve()))
      })
    }),
  )
  expect((await scrape(endpoint.url)).text).toBe('up 1\n')
  for (const socket of sockets) socket.destroy()
})
