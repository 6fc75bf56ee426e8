/** The HTTP of the dashboard: logins with a code, foreign and malformed requests, headers, paths. */
import net from 'node:net'
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { dashboardOf } from '../../src/run/options.ts'
import { useCleanLab } from '../support/handled.ts'
import { anywhere, Browser, browserOf, codeOf, openDashboard } from './dashboard-support.ts'

const lab = useCleanLab()

function operator(dashboard: object = { address: anywhere }): Operator {
  const kopf = new Operator({ settings: { dashboard } })
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

const start = (kopf: Operator = operator()) => lab.start(kopf)

test('at the start, the log has an address on loopback that logs in once', async () => {
  await start()
  const line = lab.logs.find((one) => one.includes('Serving the dashboard at'))!
  const url = new URL(line.slice(line.indexOf('http')))
  expect(url.hostname).toBe('127.0.0.1')
  const browser = new Browser(url.origin)
  const code = url.hash.slice('#code='.length)
  const first = await browser.login({ code })
  expect(first.body).toMatchObject({ user: 'developer' })
  expect(first.headers['set-cookie']![0]).toMatch(/^kopf-dashboard-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  const second = await new Browser(url.origin).login({ code })
  expect([second.status, second.body.code]).toEqual([401, 'KOPF_DASHBOARD_LOGIN'])
})

test('after ten wrong codes, the right one is not accepted any more', async () => {
  const running = await start()
  const code = codeOf(running)
  const browser = browserOf(running)
  for (let wrong = 0; wrong < 10; wrong += 1) expect((await browser.login({ code: `wrong-${wrong}` })).status).toBe(401)
  expect((await browser.login({ code })).status).toBe(401)
})

test('many attempts to log in from one address have to wait', async () => {
  const browser = browserOf(await start())
  const statuses = new Set<number>()
  for (let attempt = 0; attempt < 25; attempt += 1) statuses.add((await browser.login({ code: 'wrong' })).status)
  expect([...statuses]).toEqual([401, 429])
})

test('the session ends with a logout, and the cookie is deleted', async () => {
  const browser = await openDashboard(await start())
  expect((await browser.send('api/session')).body).toMatchObject({ user: 'developer', csrf: browser.csrf })
  const reply = await browser.post('api/logout', {})
  expect([reply.status, reply.headers['set-cookie']![0]]).toEqual([204, expect.stringContaining('Max-Age=0')])
  expect((await browser.send('api/session')).status).toBe(401)
})

test('every answer has the headers that keep other pages and sites out', async () => {
  const browser = await openDashboard(await start())
  for (const path of ['', 'dashboard.js', 'api/session', 'api/views/overview', 'nothing', 'api/nothing']) {
    const { headers } = await browser.send(path)
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    if (path.startsWith('api')) expect(headers['cache-control']).toBe('no-store')
    expect(headers['access-control-allow-origin']).toBeUndefined()
  }
})

const json = { 'content-type': 'application/json' }

test.each<[string, Record<string, string>, number]>([
  ['another Host', { ...json, host: 'evil.example.com' }, 403],
  ['another Origin', { ...json, origin: 'https://evil.example.com' }, 403],
  ['an opaque Origin', { ...json, origin: 'null' }, 403],
  ['Sec-Fetch-Site: cross-site', { ...json, 'sec-fetch-site': 'cross-site' }, 403],
  ['Sec-Fetch-Site: same-site', { ...json, 'sec-fetch-site': 'same-site' }, 403],
  ['another content type', { 'content-type': 'text/plain' }, 415],
  ['no content type', {}, 415],
])('a login with %s is refused, and does not use up the code', async (_, headers, status) => {
  const running = await start()
  const code = codeOf(running)
  const browser = browserOf(running)
  const reply = await browser.send('api/login', { method: 'POST', body: { code }, headers })
  expect(reply.status).toBe(status)
  expect(reply.headers['set-cookie']).toBeUndefined()
  expect((await browser.login({ code })).status).toBe(200)
})

test('a request of the page itself, through a proxy that tells its host, is accepted', async () => {
  const running = await start()
  const headers = { ...json, origin: 'https://proxy.example.com', 'x-forwarded-host': 'proxy.example.com' }
  const reply = await browserOf(running).send('api/login', { method: 'POST', body: { code: codeOf(running) }, headers })
  expect(reply.status).toBe(200)
})

test('an action without the CSRF token of the session is refused', async () => {
  const browser = await openDashboard(await start())
  const request = { action: 'retry', object: { resource: 'x', name: 'y' } }
  const own = browser.csrf!
  for (const csrf of [undefined, '', 'wrong', own.slice(0, -1), `${own}x`]) {
    browser.csrf = csrf
    const reply = await browser.post('api/actions', request)
    expect([reply.status, reply.body.code]).toEqual([403, 'KOPF_DASHBOARD_REQUEST'])
  }
})

test.each<[string, string, string | undefined, number]>([
  ['a body that is no JSON', 'api/login', '{', 400],
  ['a body that is a list', 'api/login', '[]', 400],
  ['a body with neither a token nor a code', 'api/login', '{}', 400],
  ['a body with thirty thousand levels', 'api/login', '['.repeat(30_000), 400],
  ['a body of more than 64 KiB', 'api/login', JSON.stringify({ code: 'x'.repeat(70_000) }), 413],
  ['a view that does not exist', 'api/views/constructor', undefined, 404],
  ['a stream of a view that does not exist', 'api/stream?view=__proto__', undefined, 404],
  ['an object without a name', 'api/views/object?resource=widgets', undefined, 400],
  ['an object of an unknown resource', 'api/views/object?resource=widgets&name=x', undefined, 403],
  ['a wrong state', 'api/views/objects?state=fine', undefined, 400],
  ['a wrong order', 'api/views/objects?order=up', undefined, 400],
  ['a wrong sort key', 'api/views/objects?sort=toString', undefined, 400],
  ['a negative offset', 'api/views/objects?offset=-1', undefined, 400],
  ['a text that is too long', `api/views/objects?text=${'x'.repeat(600)}`, undefined, 400],
  ['an unknown path', 'api/secrets', undefined, 404],
  ['an unknown file', '../../package.json', undefined, 404],
])('a request with %s gets an answer in words', async (_, path, body, status) => {
  const browser = await openDashboard(await start())
  const reply = body === undefined ? await browser.send(path) : await browser.post(path, body)
  expect(reply.status).toBe(status)
  expect(reply.body).toEqual({
    message: expect.stringMatching(/^Cannot [^:]+: /),
    code: expect.stringMatching(/^KOPF_DASHBOARD/),
  })
})

test('a request with other methods is refused', async () => {
  const browser = await openDashboard(await start())
  for (const [path, method] of [
    ['', 'POST'],
    ['api/login', 'GET'],
    ['api/session', 'DELETE'],
    ['api/views/overview', 'PUT'],
  ] as const) {
    expect((await browser.send(path, { method })).status).toBe(405)
  }
})

test('a request with huge headers is refused, and later requests are answered', async () => {
  const browser = await openDashboard(await start())
  const reply = await browser.send('api/session', { headers: { 'x-filler': 'x'.repeat(40_000) } })
  expect(reply.status).toBe(431)
  expect((await browser.send('api/session')).status).toBe(200)
})

test('two cookies of the same name are no session: another program on the machine may have set one', async () => {
  const browser = await openDashboard(await start())
  const own = browser.cookie!
  browser.cookie = `${own}; ${own.split('=')[0]}=forged`
  expect((await browser.send('api/session')).status).toBe(401)
})

test('the dashboard works under a path, and only there', async () => {
  const running = await start(operator({ address: `${anywhere}/tools/kopf/` }))
  const { url } = dashboardOf(running)!
  expect(new URL(url).pathname).toBe('/tools/kopf/')
  const browser = await openDashboard(running)
  expect((await browser.send('api/session')).status).toBe(200)
  expect((await browser.send('/api/session')).status).toBe(404)
})

test('thousands of idle connections do not keep a developer out', async () => {
  const running = await start()
  const { port } = new URL(dashboardOf(running)!.url)
  const sockets = Array.from({ length: 1500 }, () => {
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    return socket
  })
  try {
    await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))),
    )
    const browser = await openDashboard(running)
    expect((await browser.send('api/session')).status).toBe(200)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})

test('a stop closes the dashboard at once, also with open streams', async () => {
  const running = await start()
  const browser = await openDashboard(running)
  const stream = browser.stream({ view: 'overview' })
  await stream.next()
  await lab.stop(running)
  await stream.ended()
  await expect(browser.send('api/session')).rejects.toThrow()
})

test.each([['http://0.0.0.0:0', 'over plain HTTP, others on the network could read the tokens of its users']])(
  'the address %s is refused, because %s',
  async (address, why) => {
    await expect(start(operator({ address }))).rejects.toMatchObject({
      code: 'KOPF_DASHBOARD',
      message: expect.stringContaining(why),
    })
  },
)

test('on an address that other machines can reach, no code is created, and codes are refused', async () => {
  const running = await start(operator({ address: 'https://0.0.0.0:0' }))
  expect(dashboardOf(running)!.createLoginUrl()).toBeUndefined()
  const { port } = new URL(dashboardOf(running)!.url)
  const reply = await new Browser(`https://127.0.0.1:${port}`).login({ code: 'any' })
  expect([reply.status, reply.body.message]).toEqual([401, expect.stringContaining('use a token')])
})

test('a certificate file that cannot be read is an error at the start', async () => {
  const kopf = operator({ address: 'https://127.0.0.1:0', certFile: '/nowhere/tls.crt', keyFile: '/nowhere/tls.key' })
  await expect(start(kopf)).rejects.toMatchObject({ code: 'KOPF_DASHBOARD' })
})
