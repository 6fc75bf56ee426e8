/** Who may see what on the dashboard: users with a token of the cluster, by reviews of the API server. */
import { AdmissionError, Operator, TemporaryError, type WebhookFn } from 'kopf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { connectionTo, useStage } from '../activities/activity-support.ts'
import { reviewOf, widget } from '../admission/admission-support.ts'
import { useCluster } from '../support/cluster.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { Recording, refusal } from '../support/recording.ts'
import { grant, untilAllowed } from '../support/roles.ts'
import { type Browser, browserOf, codeOf } from './dashboard-support.ts'

const cluster = useCluster({ authorization: 'rbac' })
const stage = useStage()
let transport: HttpsTransport
const tokens = new Map<string, string>()

async function tokenOf(name: string): Promise<string> {
  const accounts = cluster.core('serviceaccounts')
  expectStatus(await cluster.api.post(accounts, { metadata: { name } }), 201)
  const { status } = expectStatus(await cluster.api.post(`${accounts}/${name}/token`, { spec: {} }), 201)
  return String(status['token'])
}

const rule = (...verbs: string[]) => ({ apiGroups: [cluster.group], resources: ['widgets'], verbs })

async function allow(name: string, ...verbs: string[]): Promise<void> {
  await grant(cluster, { to: [`account:${name}`], rules: [rule(...verbs)], namespace: cluster.namespace })
  const user = `system:serviceaccount:${cluster.namespace}:${name}`
  const resourceAttributes = { group: cluster.group, resource: 'widgets', verb: verbs[0], namespace: cluster.namespace }
  await untilAllowed(cluster, { user, resourceAttributes })
}

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', namespaced: true } as never)
  for (const name of ['viewer', 'lister', 'actor', 'stranger']) tokens.set(name, await tokenOf(name))
  await allow('viewer', 'get', 'list')
  await allow('lister', 'list')
  await allow('actor', 'get', 'list', 'retry')
  transport = createHttpsTransport(connectionTo(cluster))
})

afterAll(() => transport.close())

const resource = () => `widgets.v1.${cluster.group}`
const widgets = () => `/apis/${cluster.group}/v1/namespaces/${cluster.namespace}/widgets`

async function serve({
  address = 'https://127.0.0.1:0',
  wire = new Recording(transport),
  clock = undefined as ManualClock | undefined,
} = {}) {
  const kopf = new Operator({ settings: { dashboard: { address } } })
  kopf.on.create([cluster.group, 'v1', 'widgets'], { id: 'flaky' }, ({ spec }) => {
    throw new TemporaryError(`not yet: ${JSON.stringify(spec)}`, { delay: 3600 })
  })
  const running = await stage.start(kopf, { transport: wire, ...(clock ? { clock } : {}) })
  return { running, wire, browser: () => browserOf(running) }
}

async function logIn(browser: Browser, name: string): Promise<Browser> {
  expect((await browser.login({ token: tokens.get(name)! })).status).toBe(200)
  return browser
}

const query = (name: string) => ({ resource: resource(), namespace: cluster.namespace, name })

async function create(name: string): Promise<void> {
  expectStatus(
    await cluster.api.post(widgets(), {
      apiVersion: `${cluster.group}/v1`,
      kind: 'Widget',
      metadata: { name },
      spec: { colour: 'vermilion' },
    }),
    201,
  )
  cluster.defer(() => cluster.api.delete(`${widgets()}/${name}`))
}

test('a user logs in with a token, and gets a cookie that only this host, HTTPS and the same site can use', async () => {
  const { browser } = await serve()
  const reply = await browser().login({ token: tokens.get('viewer')! })
  expect(reply.body).toMatchObject({ user: `system:serviceaccount:${cluster.namespace}:viewer` })
  expect(reply.headers['set-cookie']).toEqual([
    expect.stringMatching(/^__Host-kopf-dashboard-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
  ])
  expect(reply.headers['set-cookie']![0]).not.toContain('Domain')
})

test('a token that the API server does not accept is refused', async () => {
  const { browser } = await serve()
  const reply = await browser().login({ token: 'wrong' })
  expect([reply.status, reply.body.code]).toEqual([401, 'KOPF_DASHBOARD_LOGIN'])
  expect(reply.headers['set-cookie']).toBeUndefined()
})

test('without a session, nothing is shown', async () => {
  const { browser } = await serve()
  const anonymous = browser()
  for (const path of ['api/session', 'api/views/overview', 'api/views/objects', 'api/stream?view=overview']) {
    expect((await anonymous.send(path)).status).toBe(401)
  }
  expect((await anonymous.post('api/actions', { action: 'retry', object: query('a') })).status).toBe(401)
})

test('a user sees the objects of the namespaces in which the user may list them, and no others', async () => {
  await create('seen')
  const { browser } = await serve()
  const viewer = await logIn(browser(), 'viewer')
  const rows = await eventually(async () => {
    const { rows: found, namespaces } = await viewer.view('objects', { resource: resource() })
    expect(namespaces).toEqual([cluster.namespace])
    expect(found.map(({ name }) => name)).toContain('seen')
    return found
  })
  expect(rows[0]).toMatchObject({ namespace: cluster.namespace })
  const stranger = await logIn(browser(), 'stranger')
  expect(await stranger.view('objects')).toMatchObject({ total: 0, rows: [], resources: [], namespaces: [] })
  expect((await stranger.send(`api/views/object?${new URLSearchParams(query('seen'))}`)).status).toBe(403)
  const { resources } = await stranger.view('overview')
  expect(resources[0]!.states).toBeUndefined()
  const { problems } = await stranger.view('problems')
  expect(problems.filter(({ objects }) => objects.length > 0)).toEqual([])
  const { handlers } = await stranger.view('handlers')
  expect(handlers[0]).toMatchObject({ id: 'flaky', slowest: [] })
  expect(handlers[0]!.lastError).toBeUndefined()
})

test('a user who may get an object sees its explanation and its log; one who may only list it sees no values', async () => {
  await create('described')
  const { browser } = await serve()
  const viewer = await logIn(browser(), 'viewer')
  const full = await eventually(async () => {
    const view = await viewer.view('object', query('described'))
    expect(view.object.state).toBe('retrying')
    expect(view.timeline.some(({ type }) => type === 'write')).toBe(true)
    return view
  })
  expect(full.explanation).toMatchObject({ name: 'described', decision: { type: 'handle' } })
  expect(full.log.length).toBeGreaterThan(0)
  const lister = await logIn(browser(), 'lister')
  const bare = await lister.view('object', query('described'))
  expect(bare.explanation).toBeUndefined()
  expect(bare.log).toEqual([])
  expect(bare.timeline.flatMap((entry) => ('changes' in entry ? entry.changes : []))).toEqual([])
})

test('a user sees the objects and the messages of reviews only where the user may list the objects', async () => {
  let review: WebhookFn = () => expect.fail('The webhook server has not been started')
  const kopf = new Operator({ settings: { dashboard: { address: 'https://127.0.0.1:0' } } })
  kopf.settings.admission.server = async function* (fn, { signal }) {
    review = fn
    yield { url: 'https://hooks.example.com' }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  // No other handler selects the resource: the operator does not watch it.
  kopf.on.validate([cluster.group, 'v1', 'widgets'], { id: 'strict' }, ({ spec }) => {
    throw new AdmissionError(`the password ${spec['password']} is too short`)
  })
  const running = await stage.start(kopf, { transport: new Recording(transport) })
  await running.ready
  for (const namespace of [cluster.namespace, 'elsewhere']) {
    await review(reviewOf(cluster, { namespace, object: widget(cluster, { spec: { password: 'velvet-harbor' } }) }))
  }
  const row = {
    type: 'admission',
    handler: 'strict',
    allowed: false,
    atMs: expect.any(Number),
    durationMs: expect.any(Number),
  }
  const message = 'the password [concealed] is too short'
  const viewer = await logIn(browserOf(running), 'viewer')
  const object = { resource: resource(), namespace: cluster.namespace, name: 'one', operation: 'CREATE', message }
  expect((await viewer.view('webhooks')).recent).toEqual([row, { ...row, ...object }])
  const stranger = await logIn(browserOf(running), 'stranger')
  expect(await stranger.view('webhooks')).toMatchObject({
    recent: [row, row],
    handlers: [{ id: 'strict', denials: 2 }],
  })
  expect((await stranger.view('webhooks')).recent).toEqual([row, row])
})

test('an action needs a permission of its name: without it, the action is neither shown nor executed', async () => {
  await create('acted')
  const { browser } = await serve()
  const [viewer, actor] = [await logIn(browser(), 'viewer'), await logIn(browser(), 'actor')]
  await eventually(async () => expect((await actor.view('object', query('acted'))).actions).toEqual(['retry']))
  expect((await viewer.view('object', query('acted'))).actions).toEqual([])
  const request = { action: 'retry', object: query('acted') }
  const refused = await viewer.post('api/actions', request)
  expect([refused.status, refused.body.code]).toEqual([403, 'KOPF_DASHBOARD_ACCESS'])
  const done = await actor.post('api/actions', request)
  expect([done.status, done.body]).toEqual([200, { message: expect.stringContaining('called now') }])
  const { timeline } = await actor.view('object', query('acted'))
  expect(timeline).toContainEqual(
    expect.objectContaining({
      type: 'action',
      action: 'retry',
      user: `system:serviceaccount:${cluster.namespace}:actor`,
    }),
  )
  expect(stage.logs.some((line) => line.includes('has asked for "retry"') && line.includes(':actor"'))).toBe(true)
})

test('when the token of a session is not accepted any more, the session ends within a minute', async () => {
  const clock = new ManualClock()
  const { browser, wire } = await serve({ clock })
  const viewer = await logIn(browser(), 'viewer')
  expect((await viewer.send('api/session')).status).toBe(200)
  wire.meddle = async (request, send) => {
    if (!request.path.endsWith('/tokenreviews')) return send()
    return { ...refusal(200), body: textOf({ status: { authenticated: false } }) }
  }
  await clock.advance(61_000)
  expect((await viewer.send('api/session')).status).toBe(401)
  wire.meddle = (_, send) => send()
  expect((await viewer.send('api/session')).status).toBe(401)
})

async function* textOf(value: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(value))
}

test('when the API server does not answer, users with a token see nothing, and a developer with a code can log in', async () => {
  const wire = new Recording(transport)
  const { browser, running } = await serve({ address: 'http://127.0.0.1:0', wire })
  const viewer = await logIn(browser(), 'viewer')
  wire.meddle = async (request, send) => (request.path.endsWith('reviews') ? refusal(500) : send())
  const reply = await viewer.send('api/views/objects')
  expect([reply.status, reply.body.code]).toEqual([503, 'KOPF_ACCESS_REVIEW'])
  const login = await browser().login({ token: tokens.get('actor')! })
  expect([login.status, login.headers['set-cookie']]).toEqual([503, undefined])
  const developer = browser()
  expect((await developer.login({ code: codeOf(running) })).body).toMatchObject({ user: 'developer' })
  expect((await developer.view('objects')).resources).toEqual([resource()])
})
