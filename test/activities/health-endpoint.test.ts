/** The health endpoint: which requests it accepts, and how readiness reflects the state of the operator. */
import type http from 'node:http'
import net from 'node:net'
import { Operator, PermanentError } from 'kopf'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/util/async/clock.ts'
import { useCleanLab } from '../support/handled.ts'
import { cutBy, gate, type Recording, refusal } from '../support/recording.ts'
import { addressIn, anywhere, ask, askLab, useStage } from './activity-support.ts'

const lab = useCleanLab()
const stage = useStage()

function operator(): Operator {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

const start = (kopf: Operator = operator(), transport?: Recording) =>
  lab.start(kopf, { livenessEndpoint: anywhere, ...(transport && { transport }) })

const isRefused = (url: URL) =>
  ask(url, '/healthz').then(
    () => false,
    () => true,
  )

test('the health endpoint listens from the end of the startup to the end of the cleanup', async () => {
  const kopf = operator()
  const seen: Record<string, unknown> = {}
  kopf.on.startup(() => {
    seen['startup'] = lab.logs.some((line) => line.includes('Serving health status'))
  })
  kopf.on.cleanup(async () => {
    seen['cleanup'] = (await askLab(lab)).status
    seen['ready'] = (await askLab(lab, '/readyz')).body
  })
  const running = await start(kopf)
  const url = addressIn(lab.logs)
  expect(url.href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/healthz$/)
  expect((await ask(url, '/healthz')).status).toBe(200)
  await lab.stop(running)
  expect(seen).toMatchObject({
    startup: false,
    cleanup: 200,
    ready: { ready: false, checks: { streams: { state: 'stopping', total: 0 } } },
  })
  expect(await isRefused(url)).toBe(true)
})

test('the health endpoint never listens if a startup handler fails', async () => {
  const kopf = operator()
  kopf.on.startup(() => {
    throw new PermanentError('no database')
  })
  await expect(start(kopf)).rejects.toThrow('no database')
  expect(lab.logs.join()).not.toContain('Serving health status')
})

test('a start fails if the port of the health endpoint is taken, before any request to the cluster', async () => {
  const wire = lab.record()
  const taken = net.createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as net.AddressInfo
  const livenessEndpoint = `http://127.0.0.1:${port}/healthz`
  const error = await lab.start(operator(), { livenessEndpoint, transport: wire }).catch((thrown: unknown) => thrown)
  taken.close()
  expect(error).toMatchObject({ code: 'KOPF_LIVENESS' })
  expect(String(error)).toContain(`Cannot serve health probes at ${livenessEndpoint}: the port is taken`)
  expect(wire.requests).toEqual([])
})

test.each([
  ['https://127.0.0.1:0/healthz', 'only http is served'],
  ['http://127.0.0.1:0/readyz', 'choose another path'],
])('the liveness endpoint %s is refused before any startup handler runs', async (livenessEndpoint, why) => {
  const kopf = operator()
  const calls: string[] = []
  kopf.on.startup(() => void calls.push('startup'))
  await expect(lab.start(kopf, { livenessEndpoint })).rejects.toThrow(why)
  expect(calls).toEqual([])
})

test.each<[string, http.RequestOptions, number]>([
  ['/healthz', {}, 200],
  ['/healthz?verbose', {}, 200],
  ['/healthz', { method: 'HEAD' }, 200],
  ['/readyz', { method: 'HEAD' }, 200],
  ['/', {}, 404],
  ['/healthz/', {}, 404],
  ['/HEALTHZ', {}, 404],
  ['/metrics', { method: 'POST' }, 404],
  ['/healthz', { method: 'POST' }, 405],
  ['/readyz', { method: 'DELETE' }, 405],
  ['/healthz', { method: 'OPTIONS' }, 405],
  ['/healthz', { headers: { host: 'localhost:8080' } }, 200],
  ['/healthz', { headers: { host: '127.0.0.1' } }, 200],
  ['/healthz', { headers: { host: '[::1]:8080' } }, 200],
  ['/healthz', { headers: { host: 'evil.example.com' } }, 403],
  ['/readyz', { headers: { host: '127.0.0.1.evil.example.com:80' } }, 403],
  ['/nothing', { headers: { host: 'evil.example.com' } }, 403],
  ['/healthz', { headers: { 'content-length': 3 } }, 413],
])('a health request for %s with %j is answered with status %i', async (path, options, status) => {
  await start()
  const answer = await askLab(lab, path, options)
  expect(answer.status).toBe(status)
  const { headers, text } = answer
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' })
  expect(headers.allow).toBe(status === 405 ? 'GET, HEAD' : undefined)
  expect(Object.keys(headers).filter((name) => /^access-control|^server$|powered/.test(name))).toEqual([])
  if (options.method === 'HEAD') expect(text).toBe('')
})

test('a health endpoint on a public address accepts any Host header', async () => {
  await lab.start(operator(), { livenessEndpoint: 'http://0.0.0.0:0/healthz' })
  const { port } = addressIn(lab.logs)
  const url = new URL(`http://127.0.0.1:${port}`)
  expect((await ask(url, '/healthz', { headers: { host: 'operator.example.com' } })).status).toBe(200)
})

test.skipIf(lab.isReal)('the health endpoint answers an incomplete request with 408', { timeout: 20_000 }, async () => {
  await start()
  const { port, hostname } = addressIn(lab.logs)
  const said = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () =>
      socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n'),
    )
    let text = ''
    socket.on('data', (chunk) => (text += chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
  expect(said).toMatch(/^HTTP\/1\.1 408 /)
})

test.each([
  ['have sent nothing', ''],
  ['send the head of a request in pieces', 'GET /healthz HTTP/1.1\r\nhost: local'],
  ['are kept alive after a request', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'],
])('probes are answered while hundreds of connections from one address %s', async (_name, text) => {
  await start()
  const { port, hostname } = addressIn(lab.logs)
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
  for (const path of ['/healthz', '/readyz', '/healthz']) expect((await askLab(lab, path)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})

test('the operator is ready once it watches its resources', async () => {
  await lab.create('secret-name', { spec: { password: 'sesame' } })
  await start()
  const { status, body, text } = await askLab(lab, '/readyz')
  expect(status).toBe(200)
  expect(body).toEqual({
    ready: true,
    checks: {
      streams: { ok: true, state: 'watching', total: 1, watching: 1, down: [] },
      credentials: { ok: true, state: 'accepted' },
      queue: expect.objectContaining({ ok: true, waiting: 0 }),
      loop: { ok: true, lagSeconds: expect.any(Number) },
    },
  })
  expect(text).not.toMatch(/secret-name|sesame/)
})

test('the operator is not ready until it has seen all existing objects', async () => {
  const wire = lab.record()
  const { opened, open } = gate()
  wire.meddle = async ({ path }, send) => {
    if (path.endsWith('/widgets')) await opened
    return send()
  }
  const running = await stage.start(operator(), {
    namespaces: [lab.namespace],
    transport: wire,
    clock: lab.clock,
    livenessEndpoint: anywhere,
  })
  const url = addressIn(stage.logs)
  await expect.poll(() => wire.requests.some(({ path }) => path.endsWith('/widgets'))).toBe(true)
  const scope = `widgets.v1.${lab.group} in "${lab.namespace}"`
  expect(await ask(url, '/readyz')).toMatchObject({
    status: 503,
    body: {
      ready: false,
      checks: { streams: { ok: false, state: 'starting', total: 1, watching: 0, down: [{ scope }] } },
    },
  })
  expect((await ask(url, '/healthz')).status).toBe(200)
  open()
  await running.ready
  expect((await ask(url, '/readyz')).status).toBe(200)
})

test('an operator that is stopped before it was ready does not report ready', async () => {
  const wire = lab.record()
  wire.meddle = async ({ path }, send) => (path.endsWith('/widgets') ? refusal(500) : send())
  const kopf = operator()
  const seen: unknown[] = []
  kopf.on.cleanup(async () => {
    seen.push((await ask(addressIn(stage.logs), '/readyz')).body.checks.streams)
  })
  const running = await stage.start(kopf, {
    namespaces: [lab.namespace],
    transport: wire,
    clock: lab.clock,
    livenessEndpoint: anywhere,
  })
  await expect.poll(() => wire.requests.some(({ path }) => path.endsWith('/widgets'))).toBe(true)
  await running.stop()
  expect(seen).toMatchObject([{ ok: false, state: 'stopping' }])
})

/** Lets a test cut the watch streams and refuse new ones. */
function cuttable(wire: Recording, part: string = '') {
  const { opened, open } = gate()
  let answer: number | undefined
  wire.meddle = async ({ path, query }, send) => {
    if (query.get('watch') !== 'true' || !path.includes(part)) return send()
    if (answer !== undefined) return refusal(answer)
    const response = await send()
    return { ...response, body: cutBy(response.body, opened) }
  }
  return {
    cut: (code: number) => {
      answer = code
      open()
    },
    mend: () => {
      answer = undefined
      wire.meddle = (_, send) => send()
    },
  }
}

test.skipIf(lab.isReal)('the operator is not ready while a watch stream has been down for a minute', async () => {
  const wire = lab.record()
  const streams = cuttable(wire)
  await start(operator(), wire)
  streams.cut(503)
  await lab.elapse(55)
  expect(await askLab(lab, '/readyz')).toMatchObject({
    status: 200,
    body: { checks: { streams: { ok: true, watching: 0, down: [{ scope: expect.stringContaining('widgets') }] } } },
  })
  await lab.elapse(10)
  const { status, body } = await askLab(lab, '/readyz')
  expect(status).toBe(503)
  expect(body.checks.streams).toMatchObject({ ok: false, state: 'down', total: 1, watching: 0 })
  expect(body.checks.streams.down[0].downSeconds).toBeGreaterThanOrEqual(60)
  // Liveness is not affected: a restart would not help.
  expect((await askLab(lab)).status).toBe(200)
  streams.mend()
  await lab.elapse(60)
  expect((await askLab(lab, '/readyz')).status).toBe(200)
})

test('the operator is not ready as soon as its credentials are refused', async () => {
  const wire = lab.record()
  const streams = cuttable(wire)
  await start(operator(), wire)
  streams.cut(401)
  const readiness = async () => (await askLab(lab, '/readyz')).body
  await lab.untilLogged('has failed and reconnects')
  expect(await readiness()).toMatchObject({ ready: false, checks: { credentials: { ok: false, state: 'refused' } } })
  streams.mend()
  await lab.until(async () => (await readiness()).ready)
})

test('the stream of a deleted namespace does not count for readiness', async () => {
  const name = `${lab.namespace}-more`
  const path = '/api/v1/namespaces'
  await lab.call('POST', path, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await lab.start(operator(), { namespaces: [`${lab.namespace}*`], livenessEndpoint: anywhere })
  const streams = async () => (await askLab(lab, '/readyz')).body.checks.streams
  expect(await streams()).toMatchObject({ total: 2, watching: 2 })
  await lab.call('DELETE', `${path}/${name}`)
  await lab.until(async () => (await streams()).total === 1)
  expect(await streams()).toMatchObject({ ok: true, watching: 1 })
})

test.skipIf(lab.isReal)('the operator is not ready while objects have waited for a worker for a minute', async () => {
  const kopf = new Operator({ settings: { queueing: { workerLimit: 1, slowAfter: null } } })
  const { opened, open } = gate()
  let handled = 0
  kopf.on.create(lab.widgets, { id: 'slow' }, async ({ signal }) => {
    handled += 1
    await Promise.race([opened, lab.clock.sleep(50_000, signal)])
  })
  await start(kopf)
  await lab.create('first')
  await lab.until(() => handled === 1)
  await lab.create('second')
  await lab.create('third')
  await lab.elapse(20)
  const queue = async () => (await askLab(lab, '/readyz')).body.checks.queue
  expect(await queue()).toEqual({ ok: true, objects: 3, waiting: 2, longestWaitSeconds: 20 })
  await lab.elapse(45)
  expect(await queue()).toEqual({ ok: false, objects: 2, waiting: 1, longestWaitSeconds: 65 })
  expect((await askLab(lab, '/readyz')).status).toBe(503)
  open()
  await lab.elapse(1)
  expect(await queue()).toEqual({ ok: true, objects: 0, waiting: 0, longestWaitSeconds: 0 })
})

test('the operator is not ready for a while after the event loop was blocked', async () => {
  const running = await stage.start(operator(), {
    namespaces: [lab.namespace],
    transport: lab.record(),
    clock: systemClock,
    livenessEndpoint: anywhere,
  })
  await running.ready
  const url = addressIn(stage.logs)
  expect((await ask(url, '/readyz')).body.checks.loop.ok).toBe(true)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1800)
  const { status, body } = await ask(url, '/readyz')
  expect(status).toBe(503)
  expect(body.checks.loop.ok).toBe(false)
  expect(body.checks.loop.lagSeconds).toBeGreaterThan(1)
})
