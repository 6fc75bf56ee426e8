/** Credentials with a real API server: bound tokens, certificates, impersonation, credential plugins. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Client,
  type ConnectionInfo,
  loginWithKubeconfig,
  loginWithServiceAccount,
  Operator,
  type RunOptions,
} from 'kopf'
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import { type Clock, systemClock } from '../../src/util/async/clock.ts'
import { useStage } from '../activities/activity-support.ts'
import { until } from '../activities/gatekeeper.ts'
import { useCluster } from '../support/cluster.ts'
import { expectStatus } from '../support/expectations.ts'

const real = inject('realCluster')
const cluster = useCluster()
const stage = useStage()
const v1 = 'client.authentication.k8s.io/v1'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kopf-credentials-'))
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

interface Bound {
  readonly token: string
  /** Resolves when the API server refuses the token. */
  revoke(): Promise<void>
}

/** A token of a cluster-admin service account, bound to a Secret: the token is valid while the Secret exists. */
async function bind(): Promise<Bound> {
  const name = `bound-${randomBytes(4).toString('hex')}`
  const accounts = cluster.core('serviceaccounts')
  expectStatus(await cluster.api.post(accounts, { metadata: { name } }), 201)
  const group = 'rbac.authorization.k8s.io'
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: cluster.namespace }],
  }
  expectStatus(await cluster.api.post(`/apis/${group}/v1/clusterrolebindings`, binding), 201)
  const secret = expectStatus(await cluster.api.post(cluster.core('secrets'), { metadata: { name } }), 201)
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name, uid: secret.metadata.uid }
  const request = { spec: { boundObjectRef, expirationSeconds: 3600 } }
  const answer = expectStatus(await cluster.api.post(`${accounts}/${name}/token`, request), 201)
  const { token } = (answer as unknown as { status: { token: string } }).status
  return {
    token,
    async revoke() {
      expectStatus(await cluster.api.delete(`${cluster.core('secrets')}/${name}`), 200)
      // The API server caches token authentication for ten seconds.
      const api = cluster.api.as({ token })
      await vi.waitFor(async () => expect((await api.get('/api')).status).toBe(401), { timeout: 20_000, interval: 200 })
    },
  }
}

function write(name: string, content: string | object, mode = 0o600): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  chmodSync(path, mode)
  return path
}

function kubeconfig(user: object, clusterParts: object = {}): string {
  const ca = { 'certificate-authority-data': Buffer.from(real.caPem).toString('base64') }
  return write('config', {
    'current-context': 'c',
    clusters: [{ name: 'k', cluster: { server: real.url, ...ca, ...clusterParts } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: cluster.namespace } }],
  })
}

/** Starts an operator. `whoami` returns the user name of its client. */
async function start(options: RunOptions, login?: () => ConnectionInfo | undefined) {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1] } } })
  let client: Client | undefined
  kopf.on.startup((args) => {
    client = args.client
  })
  const seen = new Set<string>()
  kopf.on.event('configmaps', ({ name }) => void seen.add(name))
  if (login) kopf.on.login(login)
  const running = await stage.start(kopf, { namespaces: [cluster.namespace], ...options })
  await running.ready
  const whoami = async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} }
    return ((await client!.create(review)) as unknown as Review).status.userInfo
  }
  return { whoami, seen }
}

interface Review {
  readonly status: {
    readonly userInfo: {
      readonly username: string
      readonly uid?: string
      readonly groups?: readonly string[]
      readonly extra?: object
    }
  }
}

async function createMap(): Promise<string> {
  const name = `c-${randomBytes(4).toString('hex')}`
  expectStatus(await cluster.api.post(cluster.core('configmaps'), { metadata: { name } }), 201)
  return name
}

/** The system clock, which can be moved forward. */
function forwardClock(): Clock & { forward(ms: number): void } {
  let offset = 0
  return { ...systemClock, now: () => systemClock.now() + offset, forward: (ms) => (offset += ms) }
}

const logins = () => stage.logs.filter((line) => line.includes('authentication has been initiated'))

test('in a pod, a renewed token file is used without a login when the old token is revoked', async () => {
  const { hostname, port } = new URL(real.url)
  vi.stubEnv('KUBERNETES_SERVICE_HOST', hostname)
  vi.stubEnv('KUBERNETES_SERVICE_PORT', port)
  const [first, second] = [await bind(), await bind()]
  write('token', `${first.token}\n`)
  write('ca.crt', real.caPem)
  write('namespace', cluster.namespace)
  const { whoami, seen } = await start({}, () => loginWithServiceAccount({ path: folder }))
  const before = await whoami()
  expect(before.username).toContain(`system:serviceaccount:${cluster.namespace}:bound-`)
  write('token', second.token)
  await first.revoke()
  expect((await whoami()).username).not.toBe(before.username)
  const name = await createMap()
  await until(() => seen.has(name))
  expect(logins()).toEqual(['Initial authentication has been initiated.'])
})

test('in a pod, a renewed token file is used within a minute, before the old token is refused', async () => {
  const { hostname, port } = new URL(real.url)
  vi.stubEnv('KUBERNETES_SERVICE_HOST', hostname)
  vi.stubEnv('KUBERNETES_SERVICE_PORT', port)
  const [first, second] = [await bind(), await bind()]
  write('token', first.token)
  write('ca.crt', real.caPem)
  const clock = forwardClock()
  const { whoami } = await start({ clock }, () => loginWithServiceAccount({ path: folder }))
  const before = await whoami()
  write('token', second.token)
  expect(await whoami()).toEqual(before)
  clock.forward(61_000)
  expect((await whoami()).username).not.toBe(before.username)
})

test('a credential plugin is called again when its token is refused and when it has expired', async () => {
  const [first, second] = [await bind(), await bind()]
  const code = `#!${process.execPath}
    const fs = require('node:fs')
    fs.appendFileSync(${JSON.stringify(join(folder, 'calls'))}, 'x')
    process.stdout.write(fs.readFileSync(${JSON.stringify(join(folder, 'credential'))}))`
  const command = write('plugin', code, 0o700)
  const credential = (token: string, expirationTimestamp?: string) =>
    write('credential', { kind: 'ExecCredential', apiVersion: v1, status: { token, expirationTimestamp } })
  credential(first.token)
  write('calls', '')
  const path = kubeconfig({ exec: { apiVersion: v1, command: './plugin', interactiveMode: 'Never' } })
  expect(command).toBe(join(folder, 'plugin'))
  const clock = forwardClock()
  const { whoami, seen } = await start({ clock, connection: () => loginWithKubeconfig({ path }) })
  const before = await whoami()
  credential(second.token, new Date(Date.now() + 3_600_000).toISOString())
  await first.revoke()
  const after = await whoami()
  expect(after.username).not.toBe(before.username)
  expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe('xx')
  credential(second.token, new Date(Date.now() + 7_200_000).toISOString())
  clock.forward(3_600_000)
  expect(await whoami()).toMatchObject({ username: after.username })
  expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe('xxx')
  const name = await createMap()
  await until(() => seen.has(name))
})

test('a client certificate that is renewed on disk is used within a minute, once its key is renewed too', async () => {
  write('client.crt', real.admin.certPem)
  write('client.key', real.admin.keyPem)
  const path = kubeconfig({ 'client-certificate': 'client.crt', 'client-key': 'client.key' })
  const clock = forwardClock()
  const { whoami } = await start({ clock, connection: () => loginWithKubeconfig({ path }) })
  expect(await whoami()).toMatchObject({ username: 'admin' })
  write('client.crt', real.operator.certPem)
  clock.forward(61_000)
  expect(await whoami()).toMatchObject({ username: 'admin' })
  expect(stage.logs.join('\n')).toContain('Renewed credentials cannot be used')
  write('client.key', real.operator.keyPem)
  clock.forward(61_000)
  expect(await whoami()).toMatchObject({ username: 'operator' })
})

test('a credential plugin can return a client certificate', async () => {
  const { certPem, keyPem } = real.admin
  const status = { clientCertificateData: certPem, clientKeyData: keyPem }
  const answer = JSON.stringify({ kind: 'ExecCredential', apiVersion: v1, status })
  const command = write('plugin', `#!${process.execPath}\nprocess.stdout.write(${JSON.stringify(answer)})`, 0o700)
  const path = kubeconfig({ exec: { apiVersion: v1, command } })
  const { whoami } = await start({ connection: () => loginWithKubeconfig({ path }) })
  expect(await whoami()).toMatchObject({ username: 'admin' })
})

test('a kubeconfig can impersonate a user', async () => {
  const pair = { 'client-certificate-data': real.admin.certPem, 'client-key-data': real.admin.keyPem }
  const extra = { 'acme.com/Reason': ['because', 'of it'] }
  const path = kubeconfig({
    ...pair,
    as: 'jane',
    'as-uid': '4711',
    'as-groups': ['system:masters', 'gardeners'],
    'as-user-extra': extra,
  })
  const { whoami } = await start({ connection: () => loginWithKubeconfig({ path }) })
  expect(await whoami()).toMatchObject({
    username: 'jane',
    uid: '4711',
    groups: expect.arrayContaining(['system:masters', 'gardeners']),
    extra: { 'acme.com/reason': ['because', 'of it'] },
  })
})

test('a kubeconfig can set the name in the certificate of the server', async () => {
  const pair = { 'client-certificate-data': real.admin.certPem, 'client-key-data': real.admin.keyPem }
  const path = kubeconfig(pair, { 'tls-server-name': 'kubernetes.default.svc' })
  const { whoami } = await start({ connection: () => loginWithKubeconfig({ path }) })
  expect(await whoami()).toMatchObject({ username: 'admin' })
})
