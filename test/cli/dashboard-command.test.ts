/** `kopf dashboard` and `kopf top` with an operator in a cluster: through the pod proxy of the API server. */
import http from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toKubeconfig } from '../../src/server/kubeconfig.ts'
import type { Tree } from '../support/answers.ts'
import { Cluster } from '../support/cluster.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { type PodProxyServer, startPodProxyServer } from '../support/pod-proxy.ts'
import { isReal } from '../support/real-access.ts'
import { Folder, KopfCommand } from './run-support.ts'

const cluster = new Cluster({ authorization: 'rbac' })
let proxy: PodProxyServer | undefined
let apiUrl: string
let folder: Folder

/** An API server refuses to connect to loopback addresses of pods. */
const podIP = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

interface Account {
  readonly token: string
}

/** Rules for a service account in the namespace of this file. */
async function createAccount(name: string, rules: readonly Tree[]): Promise<Account> {
  const { api } = cluster
  const rbac = cluster.grouped('rbac.authorization.k8s.io/v1', '')
  expectStatus(await api.post(cluster.core('serviceaccounts'), { metadata: { name } }), 201)
  expectStatus(await api.post(`${rbac}roles`, { metadata: { name }, rules }), 201)
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }
  const subjects = [{ kind: 'ServiceAccount', name, namespace: cluster.namespace }]
  expectStatus(await api.post(`${rbac}rolebindings`, { metadata: { name }, roleRef, subjects }), 201)
  const spec = { expirationSeconds: 3600 }
  const answer = expectStatus(await api.post(cluster.core(`serviceaccounts/${name}/token`), { spec }), 201)
  return { token: (answer['status'] as { token: string }).token }
}

const mayUseProxy = { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get', 'create'] }
const mayFindPods = { apiGroups: ['', 'coordination.k8s.io'], resources: ['pods', 'leases'], verbs: ['list'] }

let viewer: Account
let stranger: Account
/** The operator, and the port of its dashboard. */
let running: KopfCommand
let operators: Folder
let port: number

const operatorFile = () => `import { Operator, TemporaryError } from 'kopf'
const kopf = new Operator({ name: 'widgets' })
kopf.on.create(['${cluster.group}', 'v1', 'widgets'], { id: 'make' }, () => {
  throw new TemporaryError('The disk is busy', { delay: '1h' })
})
export default kopf
`

async function startOperator(): Promise<void> {
  const args = ['operator.ts', '--kubeconfig', 'kubeconfig', '--standalone', '-n', cluster.namespace]
  running = new KopfCommand(operators, ['run', ...args, '--dashboard', `https://${podIP}:0`])
  await running.until(/Serving the dashboard at \S+/)
  port = Number(/Serving the dashboard at https:\/\/[^/]+:(\d+)\//.exec(running.stderr)![1])
}

async function createPod(name: string, containerPort: number, labels: Tree = {}): Promise<void> {
  const names = { 'app.kubernetes.io/name': 'widgets', 'app.kubernetes.io/component': 'operator', ...labels }
  const ports = [{ name: 'dashboard', containerPort }]
  const containers = [{ name: 'operator', image: 'example.com/operator', ports }]
  const pod = { metadata: { name, labels: names }, spec: { containers, automountServiceAccountToken: false } }
  // The controller manager creates the service account of pods a moment after the namespace.
  await eventually(async () => expectStatus(await cluster.api.post(cluster.core('pods'), pod), 201))
  const conditions = [{ type: 'Ready', status: 'True' }]
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions }
  expectStatus(await cluster.api.mergePatch(cluster.core(`pods/${name}/status`), { status }), 200)
}

async function deletePod(name: string): Promise<void> {
  await cluster.api.delete(cluster.core(`pods/${name}`), { query: { gracePeriodSeconds: 0 } })
}

beforeAll(async () => {
  await cluster.start()
  const { url, caPem, admin } = cluster
  if (!isReal) proxy = await startPodProxyServer({ url, caPem, admin })
  apiUrl = proxy?.url ?? url
  await cluster.install({ kind: 'Widget' })
  const mayList = { apiGroups: [cluster.group], resources: ['widgets'], verbs: ['get', 'list', 'watch'] }
  const mayCreateTokens = { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }
  viewer = await createAccount('viewer', [mayUseProxy, mayFindPods, mayList, mayCreateTokens])
  stranger = await createAccount('stranger', [mayFindPods])
  expectStatus(
    await cluster.api.post(cluster.custom('widgets'), {
      apiVersion: `${cluster.group}/v1`,
      kind: 'Widget',
      metadata: { name: 'first' },
    }),
    201,
  )
  const { certPem, keyPem, token } = cluster.admin
  const credentials = token === undefined ? { clientCertificate: { certPem: certPem!, keyPem: keyPem! } } : { token }
  operators = new Folder()
  operators.write({
    'operator.ts': operatorFile(),
    kubeconfig: toKubeconfig({ url: cluster.url, ca: cluster.caPem, ...credentials }),
  })
  await startOperator()
  await running.until(/failed temporarily: The disk is busy/)
  await createPod('widgets-1', port)
})

afterAll(async () => {
  running?.send('SIGTERM')
  await running?.exit
  operators?.remove()
  await cluster.api.mergePatch(cluster.custom('widgets/first'), { metadata: { finalizers: null } })
  for (const name of ['widgets-1', 'widgets-2', 'other-1']) await deletePod(name)
  await proxy?.stop()
  await cluster.stop()
})

beforeEach(() => {
  folder = new Folder()
  folder.write({ kubeconfig: kubeconfigOf(viewer) })
})

afterEach(async () => {
  for (const command of started.splice(0)) {
    command.send('SIGTERM')
    await command.exit
  }
  folder.remove()
})

function kubeconfigOf({ token }: Account): string {
  const ca = proxy === undefined ? { ca: cluster.caPem } : {}
  return toKubeconfig({ url: apiUrl, token, ...ca, namespace: cluster.namespace })
}

const started: KopfCommand[] = []

function start(...args: string[]): KopfCommand {
  const known = args.includes('--kubeconfig') ? [] : ['--kubeconfig', 'kubeconfig']
  const command = new KopfCommand(folder, [...args, ...known])
  started.push(command)
  return command
}

interface Page {
  readonly origin: string
  readonly code: string
}

/** Starts the command, and returns the address that it prints. */
async function openDashboard(...args: string[]): Promise<{ readonly command: KopfCommand; readonly page: Page }> {
  const command = await start('dashboard', ...args).until(/#code=\S+\n/)
  const [, origin, code] = /(http:\/\/127\.0\.0\.1:\d+)\/#code=(\S+)/.exec(command.stdout)!
  return { command, page: { origin: origin!, code: code! } }
}

interface Reply {
  readonly status: number
  readonly cookie: string
  readonly body: Tree
}

/** A request of a browser, or of another program. */
function request(
  { origin }: Page,
  path: string,
  {
    body,
    headers = {},
    method = body === undefined ? 'GET' : 'POST',
  }: { body?: object; headers?: http.OutgoingHttpHeaders; method?: string } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = http.request(
      `${origin}${path}`,
      { method, agent: false, headers: { ...type, ...headers } },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => {
          const cookie = (response.headers['set-cookie'] ?? [])[0]?.split(';')[0] ?? ''
          resolve({ status: response.statusCode!, cookie, body: text.startsWith('{') ? JSON.parse(text) : { text } })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function logIn(page: Page): Promise<{ readonly headers: { readonly cookie: string }; readonly csrf: string }> {
  const { status, cookie, body } = await request(page, '/api/login', { body: { code: page.code } })
  expect({ status, body }).toMatchObject({ status: 200 })
  return { headers: { cookie }, csrf: String(body['csrf']) }
}

describe.runIf(podIP !== undefined)('an operator in a cluster', { timeout: 60_000 }, () => {
  test('kopf dashboard prints an address that logs in once, and forwards to the pod with the token of the kubeconfig', async () => {
    const { command, page } = await openDashboard()
    expect(command.stderr).toContain(`The operator is the pod ${cluster.namespace}/widgets-1, port ${port}.`)
    expect(command.stdout).toContain(`Logged in as system:serviceaccount:${cluster.namespace}:viewer.`)
    expect(await request(page, '/api/views/overview')).toMatchObject({ status: 401 })
    const { headers } = await logIn(page)
    const session = await request(page, '/api/session', { headers })
    expect(session.body).toMatchObject({ user: `system:serviceaccount:${cluster.namespace}:viewer` })
    const overview = await request(page, '/api/views/overview', { headers })
    expect(overview.body).toMatchObject({ operator: { name: 'widgets', phase: 'running' } })
    const again = await request(page, '/api/login', { body: { code: page.code } })
    expect(again).toMatchObject({ status: 401, body: { message: expect.stringContaining('the code is used') } })
    command.send('SIGINT')
    expect(await command.exit).toBe(0)
  })

  test('kopf dashboard serves the page without a session, and nothing else of the cluster', async () => {
    const { page } = await openDashboard()
    expect((await request(page, '/')).body['text']).toContain('<html')
    for (const path of ['/../../../../secrets', '/%2e%2e/%2e%2e/secrets', '//example.com/', '/api/../../x']) {
      expect((await request(page, path)).status, path).toBe(404)
    }
    expect((await request(page, '/', { method: 'DELETE' })).status).toBe(405)
  })

  test('kopf dashboard refuses other hosts, other web sites, tokens, and actions without the CSRF token', async () => {
    const { page } = await openDashboard()
    const { headers, csrf } = await logIn(page)
    const foreignHost = { ...headers, host: 'evil.example.com' }
    expect(await request(page, '/api/session', { headers: foreignHost })).toMatchObject({ status: 403 })
    for (const foreign of [{ origin: 'https://evil.example.com' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect(await request(page, '/api/session', { headers: { ...headers, ...foreign } })).toMatchObject({
        status: 403,
      })
    }
    const token = { token: viewer.token }
    expect(await request(page, '/api/login', { body: token })).toMatchObject({ status: 401 })
    const object = { resource: `widgets.v1.${cluster.group}`, namespace: cluster.namespace, name: 'first' }
    const body = { action: 'retry', object }
    expect(await request(page, '/api/actions', { body, headers })).toMatchObject({ status: 403 })
    const withCsrf = { ...headers, 'x-kopf-csrf': csrf }
    const refused = await request(page, '/api/actions', { body, headers: withCsrf })
    // The operator answers: this user may not "retry" the object.
    expect(refused).toMatchObject({ status: 403, body: { code: expect.stringMatching(/^KOPF_DASHBOARD_ACCESS$/) } })
    expect(await request(page, '/api/logout', { body: {}, headers: withCsrf })).toMatchObject({ status: 204 })
    expect(await request(page, '/api/session', { headers })).toMatchObject({ status: 401 })
  })

  test('kopf dashboard passes a stream of events on as they arrive', async () => {
    const { page } = await openDashboard()
    const { headers } = await logIn(page)
    const events = await new Promise<string>((resolve, reject) => {
      const sent = http.get(`${page.origin}/api/stream?view=objects`, { headers, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
          // The stream is open: without its end, the first event has arrived.
          if (text.includes('"total"')) {
            resolve(text)
            sent.destroy()
          }
        })
      })
      sent.on('error', reject)
    })
    expect(events).toMatch(/^(id|event|data): /m)
  })

  test('kopf dashboard finds the pod that replaces the first one, and keeps the session of the browser', async () => {
    const { command, page } = await openDashboard()
    const { headers } = await logIn(page)
    await createPod('widgets-2', port)
    await deletePod('widgets-1')
    await eventually(async () => {
      expect(await request(page, '/api/views/overview', { headers })).toMatchObject({ status: 200 })
      expect(command.stderr).toContain('/widgets-2, port')
    })
    await createPod('widgets-1', port)
    await deletePod('widgets-2')
  })

  test('kopf top prints the objects that the token may list', async () => {
    const one = start('top', 'widgets', '--output', 'json')
    expect(await one.exit, one.stderr).toBe(0)
    const { overview, objects } = JSON.parse(one.stdout)
    expect(overview.operator.name).toBe('widgets')
    expect(objects.rows).toMatchObject([
      { name: 'first', state: 'retrying', why: expect.stringContaining('The disk is busy') },
    ])
    const text = start('top', '--once')
    expect(await text.exit, text.stderr).toBe(0)
    expect(text.stdout).toMatch(new RegExp(`^retrying +${cluster.namespace}/first .* in \\S+ .*The disk is busy`, 'm'))
  })

  test('kopf explain --history prints the journal of an object to a user who may get it', async () => {
    const one = start('explain', 'widgets', 'first', '--history')
    expect(await one.exit, one.stderr).toBe(0)
    expect(one.stdout).toContain(`widgets.v1.${cluster.group} ${cluster.namespace}/first`)
    expect(one.stdout).toContain('It is in the state "retrying": make: The disk is busy; the next attempt is due in')
    expect(one.stdout).toMatch(
      /Handler "make" \(create\), attempt 1: has failed after .*, and is called again in 1 hour/,
    )
    const none = start('explain', 'widgets', 'first', '--history', '--service-account', 'stranger')
    expect(await none.exit).toBe(1)
    expect(none.stderr).toContain('first')
    expect(none.stdout).toBe('')
  })

  test('kopf top makes a token for a service account, which decides what is shown', async () => {
    const one = start('top', '--service-account', 'stranger', '--output', 'json')
    expect(await one.exit, one.stderr).toBe(0)
    const { overview, objects } = JSON.parse(one.stdout)
    expect(overview.resources[0].states).toBeUndefined()
    expect(objects.rows).toEqual([])
  })

  test.each<[string, string[], RegExp]>([
    [
      'another name',
      ['nothing'],
      /^kopf: Cannot find the operator "nothing" in the namespace "\S+": no pod has the labels app\.kubernetes\.io\/name=nothing,app\.kubernetes\.io\/component=operator, which "kopf manifests" writes; name its namespace with --namespace, or its labels with --selector$/m,
    ],
    ['other labels', ['--selector', 'app=other'], /no pod has the labels app=other; name others with --selector/],
    ['an invalid selector', ['--selector', '=='], /^kopf: Cannot find the operator: .*; correct --selector$/m],
    [
      'another namespace',
      ['--namespace', 'default'],
      /Cannot find the operator in the namespace "default"|Cannot list pods: this user lacks the permission/,
    ],
    [
      'a token that is not valid',
      ['--token', 'invalid'],
      /^kopf: Cannot log in: the API server does not accept the token/m,
    ],
    [
      'a service account that does not exist',
      ['--service-account', 'nothing'],
      /Cannot create serviceaccounts\/token "nothing"/,
    ],
  ])('kopf top says what to do about %s', async (_, args, message) => {
    const one = start('top', ...args)
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(message)
  })

  test('kopf dashboard names the missing permission for the pod proxy', async () => {
    folder.write({ kubeconfig: kubeconfigOf(stranger) })
    const one = start('dashboard')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(
      /^kopf: Cannot reach the pod "widgets-1" in the namespace "\S+": this user may not "create" pods\/proxy; a role needs the rule {"apiGroups":\[""\],"resources":\["pods\/proxy"\],"verbs":\["get","create"\]}$/m,
    )
  })

  test('kopf dashboard asks which of several operators is meant', async () => {
    await createPod('other-1', port, { 'app.kubernetes.io/name': 'other' })
    const one = start('dashboard')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain('there are several operators: "other", "widgets"; name one of them')
    await deletePod('other-1')
  })

  test('kopf dashboard names a port that nothing listens at', async () => {
    const one = start('dashboard', '--pod-port', '1')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(
      /^kopf: Cannot reach the port 1 of the pod "widgets-1" .* check that the operator runs with --dashboard/m,
    )
  })

  test('kopf dashboard says what to do with a client certificate and without a token', async () => {
    // The certificate is not read as long as no request is sent: the token is looked for first.
    const config = JSON.parse(kubeconfigOf(viewer))
    config.users[0].user = { username: 'someone', password: 'secret' }
    folder.write({ kubeconfig: JSON.stringify(config) })
    const one = start('dashboard')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(
      'use a token of a service account with --service-account NAME, or give one with --token-file',
    )
    expect(one.stderr).not.toContain('secret')
  })

  test('kopf dashboard logs in again when the operator was restarted', async () => {
    const { page } = await openDashboard()
    const { headers } = await logIn(page)
    running.send('SIGTERM')
    await running.exit
    await startOperator()
    await deletePod('widgets-1')
    await createPod('widgets-1', port)
    await eventually(async () => {
      expect(await request(page, '/api/views/overview', { headers })).toMatchObject({ status: 200 })
    })
  })
})
