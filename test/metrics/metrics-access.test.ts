/** Who may read the metrics over HTTPS: the operator asks the API server, and refuses clients without an answer. */
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { ConnectionInfo, Operator } from 'kopf'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { draft } from '../../src/cli/deployment/draft.ts'
import { discoverForPlan } from '../../src/cli/deployment/known-resources.ts'
import { render } from '../../src/cli/deployment/render.ts'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { createSession } from '../../src/client/session.ts'
import { AccessReviews } from '../../src/serving/access-reviews.ts'
import { type Clock, systemClock } from '../../src/util/async/clock.ts'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import type { Transport } from '../../src/util/transport.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { connectionTo, useStage } from '../activities/activity-support.ts'
import type { Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { Recording, refusal } from '../support/recording.ts'
import { grant, untilAllowed } from '../support/roles.ts'
import { metricsAddressIn, type ScrapeOptions, scrape } from './metrics-support.ts'

const cluster = useCluster({ authorization: 'rbac' })
const stage = useStage()
const nowhere = 'https://127.0.0.1:0/metrics'
let scraper: string
let stranger: string
let transport: HttpsTransport
let folder: string

async function tokenOf(name: string): Promise<string> {
  const accounts = cluster.core('serviceaccounts')
  expectStatus(await cluster.api.post(accounts, { metadata: { name } }), 201)
  const { status } = expectStatus(await cluster.api.post(`${accounts}/${name}/token`, { spec: {} }), 201)
  return String(status['token'])
}

beforeAll(async () => {
  await cluster.install({ kind: 'Widget' })
  scraper = await tokenOf('scraper')
  stranger = await tokenOf('stranger')
  await grant(cluster, { to: ['account:scraper'], rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }] })
  const user = `system:serviceaccount:${cluster.namespace}:scraper`
  await untilAllowed(cluster, { user, nonResourceAttributes: { path: '/metrics', verb: 'get' } })
  transport = createHttpsTransport(connectionTo(cluster))
  folder = await mkdtemp(join(tmpdir(), 'kopf-metrics-'))
})

afterAll(async () => {
  await transport.close()
  await rm(folder, { recursive: true, force: true })
})

function operator(metrics: Partial<Operator['settings']['metrics']> = {}): Operator {
  const kopf = new Operator({ settings: { metrics: { address: nowhere, ...metrics } } })
  kopf.on.event([cluster.group, 'v1', 'widgets'], () => {})
  return kopf
}

/** Starts an operator, and returns a function that scrapes it. */
async function serve(kopf: Operator = operator(), wire: Recording = new Recording(transport)) {
  await stage.start(kopf, { transport: wire, namespaces: [cluster.namespace] })
  const url = metricsAddressIn(stage.logs)
  const ask = (token?: string, options: ScrapeOptions = {}) => scrape(url, { ...(token && { token }), ...options })
  const reviews = (kind: string) => wire.requests.filter(({ path }) => path.endsWith(`/${kind}reviews`)).length
  return { url, ask, wire, reviews }
}

test('a scraper with the permission to get the path reads the metrics over HTTPS', async () => {
  const { url, ask, reviews } = await serve()
  expect(url.protocol).toBe('https:')
  for (let repeated = 0; repeated < 3; repeated += 1) {
    const { status, headers } = await ask(scraper)
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
    })
  }
  expect([reviews('token'), reviews('subjectaccess')]).toEqual([1, 1])
})

test('the format of the metrics is negotiated', async () => {
  const { ask } = await serve()
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  const { headers, text } = await ask(scraper, { headers: { accept } })
  expect(headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(text.endsWith('# EOF\n')).toBe(true)
})

test.each<[string, () => string | undefined]>([
  ['no token', () => undefined],
  ['a token that the API server does not know', () => 'nonsense'],
  ['a token with characters that no token has', () => 'a b\tc'],
  ['a service account token with a wrong signature', () => `${scraper.slice(0, -20)}${'A'.repeat(20)}`],
])('a client with %s gets 401', async (_, token) => {
  const { ask } = await serve()
  const { status, headers, text } = await ask(token())
  expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: 'Bearer' })
  expect(JSON.parse(text).error).toContain('the bearer token is missing, expired or not accepted')
})

test('a client without a token causes no request to the API server', async () => {
  const { ask, reviews } = await serve()
  for (const authorization of ['', 'Basic YTpi', 'Bearer', 'Bearer ', 'Token abc']) {
    expect((await ask(undefined, { headers: { authorization } })).status).toBe(401)
  }
  expect(reviews('token')).toBe(0)
})

test('a wrong token is asked about once, also by many requests at the same time', async () => {
  const { ask, reviews } = await serve()
  const all = await Promise.all(Array.from({ length: 20 }, () => ask('wrong')))
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([401]))
  expect((await ask('wrong')).status).toBe(401)
  expect(reviews('token')).toBe(1)
})

test('a user without the permission gets 403 with the rule that is missing', async () => {
  const { ask } = await serve()
  const { status, text } = await ask(stranger)
  expect(status).toBe(403)
  expect(JSON.parse(text).error).toBe(
    `the user "system:serviceaccount:${cluster.namespace}:stranger" may not get /metrics; bind it to a ClusterRole with nonResourceURLs: ["/metrics"], verbs: [get]`,
  )
})

test('the verb of the review is the HTTP method, so that HEAD needs a permission of its own', async () => {
  const { ask } = await serve()
  expect((await ask(scraper, { method: 'HEAD' })).status).toBe(403)
})

test.each([
  ['POST', '/metrics', 405],
  ['OPTIONS', '/metrics', 405],
  ['GET', '/', 404],
  ['GET', '/metrics/', 404],
  ['GET', '/healthz', 404],
])('a request %s %s is answered with %i before any review', async (method, path, status) => {
  const { url, reviews } = await serve()
  expect((await scrape(new URL(path, url), { method, token: scraper })).status).toBe(status)
  expect(reviews('token')).toBe(0)
})

interface PrintedRole {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly rules: readonly Tree[]
}

/** The rules of the roles that `kopf manifests --with-metrics` prints, by the name of the role. */
async function printedRules(kopf: Operator): Promise<Record<string, readonly Tree[]>> {
  const args = { installNamespace: cluster.namespace, name: 'printed', withMetrics: true }
  const { plan } = draft(kopf, {
    ...args,
    folder: '',
    scope: { namespaces: [cluster.namespace] },
    peering: { standalone: true },
    resources: await discoverForPlan(kopf, {}),
    grants: [],
    calls: { clear: [], unclear: [], unread: [] },
  })
  const objects = parseYaml(render(kopf, plan, args)) as PrintedRole[]
  const roles = objects.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role')
  return Object.fromEntries(roles.map(({ kind, metadata, rules }) => [`${kind} ${metadata.name}`, rules]))
}

test('the printed permissions are enough for an operator that serves metrics, and for its scraper', async () => {
  const kopf = new Operator({ settings: { metrics: { address: nowhere }, scanning: { disabled: true } } })
  kopf.on.event('configmaps', () => {})
  const rules = await printedRules(kopf)
  const [token, reader] = [await tokenOf('printed'), await tokenOf('printed-reader')]
  const grants = [
    { to: ['account:printed'], rules: rules['ClusterRole printed-access-reviews']! },
    { to: ['account:printed'], rules: rules['Role printed']!, namespace: cluster.namespace },
    { to: ['account:printed-reader'], rules: rules['ClusterRole printed-metrics-reader']! },
  ] as const
  for (const one of grants) await grant(cluster, one)
  const user = `system:serviceaccount:${cluster.namespace}:printed`
  const resourceAttributes = { group: 'authorization.k8s.io', resource: 'subjectaccessreviews', verb: 'create' }
  await untilAllowed(cluster, { user, resourceAttributes })
  await untilAllowed(cluster, { user: `${user}-reader`, nonResourceAttributes: { path: '/metrics', verb: 'get' } })
  const connection = new ConnectionInfo({ server: cluster.url, caData: cluster.caPem, token })
  await stage.start(kopf, { connection, namespaces: [cluster.namespace], standalone: true })
  const url = metricsAddressIn(stage.logs)
  expect((await scrape(url, { token: reader })).status).toBe(200)
  expect((await scrape(url, { token: stranger })).status).toBe(403)
})

test('an operator that may not create reviews answers 500, and its log says which permission is missing', async () => {
  const wire = new Recording(transport)
  wire.meddle = async ({ path }, send) => (path.endsWith('/tokenreviews') ? refusal(403) : send())
  const { ask } = await serve(operator(), wire)
  const { status, text } = await ask(scraper)
  expect(status).toBe(500)
  expect(text).not.toContain('tokenreviews')
  const line = stage.logs.find((one) => one.includes('Cannot check the access of a client'))
  expect(line).toContain('the operator may not create tokenreviews.authentication.k8s.io')
  expect(line).toContain('npx kopf manifests --with-metrics')
})

test('a failing review is repeated, and when the API server is down, the client gets 503', {
  timeout: 60_000,
}, async () => {
  const wire = new Recording(transport)
  let failures = 0
  wire.meddle = async ({ path }, send) => {
    if (!path.endsWith('/tokenreviews')) return send()
    failures += 1
    throw Object.assign(new Error('connect ECONNREFUSED 192.0.2.7:6443'), { code: 'ECONNREFUSED' })
  }
  const { ask } = await serve(operator(), wire)
  const { status, text } = await ask(scraper)
  expect(status).toBe(503)
  expect(JSON.parse(text).error).toContain('the API server does not answer the operator; try again later')
  expect(text).not.toContain('192.0.2.7')
  expect(failures).toBe(5)
  wire.meddle = (_, send) => send()
  expect((await ask(scraper)).status).toBe(200)
})

test('a deleted service account loses its access within a minute', { timeout: 60_000 }, async () => {
  const clock = new ManualClock()
  const reviews = reviewsBy(transport, clock)
  const token = await tokenOf('leaver')
  expect(await reviews.authenticate(token)).toMatchObject({
    name: `system:serviceaccount:${cluster.namespace}:leaver`,
    groups: expect.arrayContaining(['system:authenticated', 'system:serviceaccounts']),
  })
  await cluster.api.delete(`${cluster.core('serviceaccounts')}/leaver`)
  expect(await reviews.authenticate(token)).toBeDefined()
  // The real API server keeps tokens for ten seconds.
  await eventually(async () => {
    await clock.advance(60_000)
    expect(await reviews.authenticate(token)).toBeUndefined()
  })
})

test('an answer of the API server without a user is no user', async () => {
  const answers = [
    { authenticated: true },
    { user: { username: 'root' } },
    { authenticated: true, user: { username: '' } },
    {},
  ]
  for (const status of answers) {
    const wire = new Recording(transport)
    wire.meddle = async ({ path }, send) => (path.endsWith('/tokenreviews') ? json({ status }) : send())
    expect(await reviewsBy(wire, systemClock).authenticate('any')).toBeUndefined()
  }
})

function reviewsBy(wire: Transport, clock: Clock): AccessReviews {
  const networking = { requestTimeout: 5, connectTimeout: 5, errorBackoffs: [], enforceRetryAfter: false }
  const session = createSession({ transport: wire, networking, clock: systemClock, userAgent: 'test' })
  return new AccessReviews({ session: () => session, clock, signal: new AbortController().signal })
}

function json(body: object) {
  return {
    status: 201,
    headers: { 'content-type': 'application/json' },
    body: (async function* () {
      yield Buffer.from(JSON.stringify(body))
    })(),
  }
}

test('a token never appears in the log', async () => {
  const { ask } = await serve()
  for (const token of [scraper, stranger, 'nonsense-token']) await ask(token)
  const log = stage.logs.join('\n')
  for (const token of [scraper, stranger, 'nonsense-token']) expect(log).not.toContain(token)
})

function certificateOf(url: URL): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: url.hostname, port: Number(url.port), rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('without a certificate file, the certificate is self-signed for the names of the machine', async () => {
  const { url } = await serve()
  const certificate = await certificateOf(url)
  expect(certificate.subject).toBe('CN=kopf-serving')
  expect(certificate.subjectAltName).toMatch(/DNS:localhost, IP Address:127\.0\.0\.1/)
})

async function writePair(commonName: string): Promise<{ certFile: string; keyFile: string; ca: string }> {
  const authority = await CertificateAuthority.create('test CA')
  const { certPem, keyPem } = await authority.issue({ commonName, hosts: ['127.0.0.1'] })
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  for (const [file, text] of [
    [keyFile, keyPem],
    [certFile, certPem],
  ] as const) {
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
  }
  return { certFile, keyFile, ca: authority.caPem }
}

test('a certificate from files is verified by clients that trust its CA', async () => {
  const { ca, ...files } = await writePair('operator')
  const { url } = await serve(operator(files))
  expect((await scrape(url, { token: scraper, ca })).status).toBe(200)
})

test.each([
  [{ certFile: '/nowhere/tls.crt', keyFile: '/nowhere/tls.key' }, '"/nowhere/tls.crt" of "certFile" does not exist'],
  [{ certFile: '/nowhere/tls.crt' }, '"certFile" is set without "keyFile"'],
  [{ keyFile: '/nowhere/tls.key' }, '"keyFile" is set without "certFile"'],
])('the start fails with the certificate files %j', async (files, why) => {
  const start = stage.start(operator(files), { transport: new Recording(transport), namespaces: [cluster.namespace] })
  await expect(start).rejects.toMatchObject({ code: 'KOPF_METRICS_ENDPOINT' })
  await expect(start).rejects.toThrow(why)
})
