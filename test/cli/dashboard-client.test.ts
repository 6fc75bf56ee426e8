/** The client of the dashboard: one login for all requests, a new one when the session has ended, and errors for the user. */
import { expect, test } from 'vitest'
import { DashboardClient, type DashboardLogin } from '../../src/cli/dashboard-client.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../src/util/transport.ts'

const never = new AbortController().signal

function answer(status: number, value: unknown, headers: TransportResponse['headers'] = {}): TransportResponse {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  return {
    status,
    headers,
    body: (async function* () {
      yield bytes
    })(),
  }
}

/** A dashboard whose sessions end on request. */
class Dashboard implements Transport {
  readonly logins: DashboardLogin[] = []
  readonly requests: TransportRequest[] = []
  session = 0
  loginAnswer: (() => TransportResponse) | undefined

  async send(request: TransportRequest): Promise<TransportResponse> {
    this.requests.push(request)
    if (request.path === '/api/login') {
      this.logins.push(JSON.parse(String(request.body)))
      this.session += 1
      const cookie = [`kopf-dashboard=${this.session}; Path=/; HttpOnly`]
      const value = { user: 'me', csrf: `csrf-${this.session}`, expiresAtMs: 0 }
      return this.loginAnswer?.() ?? answer(200, value, { 'set-cookie': cookie })
    }
    const isValid = request.headers?.['cookie'] === `kopf-dashboard=${this.session}`
    return isValid ? answer(200, { path: request.path }) : answer(401, { code: 'KOPF_X', message: 'Log in again' })
  }
}

function clientOf(transport: Transport): DashboardClient {
  return new DashboardClient({ transport, login: async () => ({ token: 'secret' }), clock: systemClock })
}

test('requests at the same time share one login, and send its cookie and its CSRF token', async () => {
  const dashboard = new Dashboard()
  const client = clientOf(dashboard)
  await Promise.all([client.view('overview', {}, never), client.view('objects', { limit: 5 }, never)])
  expect(dashboard.logins).toEqual([{ token: 'secret' }])
  const [, first, second] = dashboard.requests
  expect(first!.headers).toMatchObject({ cookie: 'kopf-dashboard=1', 'x-kopf-csrf': 'csrf-1' })
  expect(second!.path).toBe('/api/views/objects?limit=5')
})

test('requests at the same time log in again once when their session has ended', async () => {
  const dashboard = new Dashboard()
  const client = clientOf(dashboard)
  await client.view('overview', {}, never)
  dashboard.session = 41
  const names = ['overview', 'objects', 'handlers', 'requests', 'problems'] as const
  const views = await Promise.all(names.map((name) => client.view(name, {}, never)))
  expect(views).toHaveLength(5)
  expect(dashboard.logins).toHaveLength(2)
})

test.each<[string, () => TransportResponse, RegExp]>([
  [
    'a refused token is explained by the operator',
    () => answer(401, { code: 'KOPF_DASHBOARD_LOGIN', message: 'Cannot log in: the token is not accepted' }),
    /^Cannot log in: the token is not accepted$/,
  ],
  [
    'another program is not taken for an operator',
    () => answer(200, '<html>'),
    /the answer is not that of a dashboard; check the address/,
  ],
  [
    'an address without a dashboard',
    () => answer(404, '{}'),
    /^Cannot log in to the operator: the answer has the status 404; check the address/,
  ],
  [
    'an endless answer is not read',
    () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        for (;;) yield Buffer.alloc(1_000_000)
      })(),
    }),
    /the answer is not that of a dashboard/,
  ],
])('%s', async (_, loginAnswer, message) => {
  const dashboard = new Dashboard()
  dashboard.loginAnswer = loginAnswer
  const failure = await clientOf(dashboard)
    .view('overview', {}, never)
    .catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'KOPF_DASHBOARD_UNREACHABLE', message: expect.stringMatching(message) })
  expect(String(failure)).not.toContain('secret')
})

test('a failed login is tried again by the next request', async () => {
  const dashboard = new Dashboard()
  const client = clientOf(dashboard)
  dashboard.loginAnswer = () => answer(503, {})
  await expect(client.view('overview', {}, never)).rejects.toThrow(/status 503/)
  dashboard.loginAnswer = undefined
  await client.view('overview', {}, never)
  expect(dashboard.logins).toHaveLength(2)
})
