/** Requests that are small to send and could be costly to serve: each takes CPU time in proportion to its size. */
import { connect } from 'node:tls'
import fc from 'fast-check'
import { ApiServer, type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../../../support/crds.ts'
import { ask, type Reply } from '../../../support/in-process.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const group = 'bombs.example.com'
const long = 100_000
/** Enough for slow machines. Quadratic work would take minutes. */
const mostCpuMs = 5000

let api: ApiServer

beforeAll(async () => {
  api = new ApiServer({ authorization: 'rbac' })
  const text = (rules: object) => ({ type: 'string', ...rules })
  const formats = ['duration', 'date-time', 'email', 'uri', 'hostname', 'cidr', 'mac', 'isbn', 'rgbcolor', 'byte']
  const names = Array.from({ length: 10_000 }, (_, index) => `name-${index}`)
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          ...Object.fromEntries(formats.map((format) => [format, text({ format })])),
          pattern: text({ pattern: '^(a|a)*([a-z]+)*$' }),
          names: { type: 'array', items: text({ enum: names }) },
          set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        },
      },
    },
  }
  expect((await ask(api, 'POST', crdsPath, { body: crd({ group, kind: 'Bomb', schema }) })).status).toBe(201)
})

function expectStatus({ status, body, text }: Reply): void {
  expect(text).not.toContain('Internal error occurred')
  if (status >= 400 && text.startsWith('{')) expect(body).toMatchObject({ kind: 'Status', code: status })
}

async function expectCheap(method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
  const before = process.cpuUsage()
  const reply = await ask(api, method, path, { ...(body === undefined ? {} : { body }), headers })
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000, `CPU time of ${method} ${path.slice(0, 100)}`).toBeLessThan(mostCpuMs)
  expectStatus(reply)
  expect((await ask(api, 'GET', '/version')).status).toBe(200)
  return reply
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

describe('long texts', () => {
  const texts: ReadonlyArray<[string, string]> = [
    ['digits', `${'1'.repeat(long)}!`],
    ['digits and points', '1.'.repeat(long / 2)],
    ['digits and spaces', `${'1 '.repeat(long / 2)}!`],
    ['letters', `${'a'.repeat(long)}!`],
    ['labels', `${'a.'.repeat(long / 2)}!`],
    ['colons', `[${':'.repeat(long)}`],
    ['slashes', '/'.repeat(long)],
    ['spaces', `${' '.repeat(long)}x`],
    ['hours', `${'1h'.repeat(long / 2)}!`],
    ['quotes', `"${'a '.repeat(long / 2)}`],
  ]

  test.each(texts)('a long text of %s is validated quickly against every format', async (_, text) => {
    const path = `/apis/${group}/v1/namespaces/default/bombs`
    const formats = ['duration', 'date-time', 'email', 'uri', 'hostname', 'cidr', 'mac', 'isbn', 'rgbcolor', 'byte']
    for (const field of [...formats, 'pattern']) {
      const body = { apiVersion: `${group}/v1`, kind: 'Bomb', metadata: { generateName: 'x' }, spec: { [field]: text } }
      await expectCheap('POST', path, body)
    }
  })

  test.each(texts)(
    'a long text of %s is refused quickly as a quantity, a name, a label and a path',
    async (_, text) => {
      const container = { name: 'c', image: 'i', resources: { requests: { cpu: text, memory: text } } }
      await expectCheap('POST', '/api/v1/namespaces/default/pods', {
        metadata: { generateName: 'x' },
        spec: { containers: [container] },
      })
      const labels = { [text]: text }
      const owners = [{ apiVersion: text, kind: text, name: text, uid: text }]
      const metadata = { name: text, labels, annotations: labels, finalizers: [text], ownerReferences: owners }
      await expectCheap('POST', configMaps, { metadata })
      await expectCheap('GET', `${configMaps}/${encodeURIComponent(text)}`)
      await expectCheap('GET', `/api/v1${text.replaceAll(' ', '')}`)
      await expectCheap('GET', `${configMaps}?labelSelector=${encodeURIComponent(text)}`)
      await expectCheap('GET', `${configMaps}?fieldSelector=${encodeURIComponent(text)}&continue=${text.slice(0, 9)}`)
      await expectCheap('GET', configMaps, undefined, { accept: text, authorization: `Bearer ${text}` })
    },
  )

  test('long paths in the printer columns of a CRD are validated quickly', async () => {
    const definition = crd({ group, kind: 'Column', schema: { type: 'object' } }) as never as {
      spec: { versions: [{ additionalPrinterColumns?: object[] }] }
    }
    const spaces = ' '.repeat(long)
    definition.spec.versions[0].additionalPrinterColumns = [
      { name: 'a', type: 'string', jsonPath: `.a[${spaces}x,${spaces}b]` },
      { name: 'b', type: 'string', jsonPath: `.a[?(@.b=="${spaces}")]` },
    ]
    await expectCheap('POST', crdsPath, definition)
  })

  test.each([
    '((a{1000}){1000}){1000}',
    'a{999999999}',
    '('.repeat(50_000),
    '(a*)*'.repeat(10_000),
    '\\pL'.repeat(2000),
  ])('a costly pattern in a schema is compiled quickly', async (pattern) => {
    const schema = { type: 'object', properties: { spec: { type: 'string', pattern } } }
    const kind = `P${pattern.length}${pattern.slice(0, 2).replaceAll(/\W/g, 'x')}`
    await expectCheap('POST', crdsPath, crd({ group, kind, schema }))
  })
})

describe('long lists', () => {
  const owner = (index: number, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'x',
    uid: `${index}`,
    ...more,
  })

  test.each<[string, string, () => object]>([
    [
      'owner references',
      configMaps,
      () => ({ metadata: { name: 'a', ownerReferences: many(20_000, (n) => owner(n)) } }),
    ],
    [
      'controller references',
      configMaps,
      () => ({ metadata: { name: 'b', ownerReferences: many(20_000, (n) => owner(n, { controller: true })) } }),
    ],
    [
      'equal owner references',
      configMaps,
      () => ({ metadata: { name: 'c', ownerReferences: many(20_000, () => owner(1)) } }),
    ],
    [
      'ports',
      '/api/v1/namespaces/default/services',
      () => ({ metadata: { name: 'd' }, spec: { ports: many(30_000, (n) => ({ port: n + 1, name: `p${n}` })) } }),
    ],
    [
      'IP families',
      '/api/v1/namespaces/default/services',
      () => ({ metadata: { name: 'e' }, spec: { ports: [{ port: 1 }], ipFamilies: many(100_000, (n) => `f${n}`) } }),
    ],
    [
      'values outside the enum',
      `/apis/${group}/v1/namespaces/default/bombs`,
      () => ({
        apiVersion: `${group}/v1`,
        kind: 'Bomb',
        metadata: { name: 'f' },
        spec: { names: many(20_000, (n) => `other-${n}`) },
      }),
    ],
    [
      'distinct values of a set',
      `/apis/${group}/v1/namespaces/default/bombs`,
      () => ({
        apiVersion: `${group}/v1`,
        kind: 'Bomb',
        metadata: { name: 'g' },
        spec: { set: many(50_000, (n) => `value-${n}`) },
      }),
    ],
    [
      'RBAC rules',
      `${rbac}/clusterroles`,
      () => ({
        metadata: { name: 'h' },
        rules: many(20_000, (n) => ({ apiGroups: [`g${n}`], resources: ['x'], verbs: ['y'] })),
      }),
    ],
  ])('a long list of %s is validated quickly', async (_, path, body) => {
    await expectCheap('POST', path, body())
  })
})

describe('access checks', () => {
  const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name })
  const subject = (name: string) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' })

  test('access checks for many subjects and groups take linear time', async () => {
    const rules = [{ nonResourceURLs: [`/${'*'.repeat(long)}x*`, '/y'], verbs: ['get'] }]
    await expectCheap('POST', `${rbac}/clusterroles`, { metadata: { name: 'stars' }, rules })
    const subjects = many(20_000, (n) => subject(`user-${n}`))
    const binding = { metadata: { name: 'stars' }, roleRef: roleRef('stars'), subjects }
    await expectCheap('POST', `${rbac}/clusterrolebindings`, binding)
    const groups = many(50_000, (n) => `group-${n}`)
    const spec = { user: 'user-19999', groups, nonResourceAttributes: { verb: 'get', path: '/y' } }
    const { body } = await expectCheap('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })
    expect(body['status']).toMatchObject({ allowed: true })
  })

  test('a role that is too large for an escalation check is refused to users with fewer permissions', async () => {
    const writing = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] }]
    await ask(api, 'POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'clerk' }, rules: writing } })
    const binding = { metadata: { name: 'clerk' }, roleRef: roleRef('clerk'), subjects: [subject('clerk')] }
    await ask(api, 'POST', `${rbac}/clusterrolebindings`, { body: binding })
    const words = many(5000, (n) => `w${n}`)
    const rules = [{ apiGroups: words, resources: words, verbs: words, resourceNames: words }]
    const headers = { 'impersonate-user': 'clerk' }
    const { status } = await expectCheap('POST', `${rbac}/clusterroles`, { metadata: { name: 'all' }, rules }, headers)
    expect(status).toBe(403)
  })

  test('aggregated cluster roles that select each other are settled quickly', async () => {
    const label = (name: string) => ({ [`gather-${name}`]: 'yes' })
    for (const [name, next] of ['ab', 'bc', 'ca'].map((pair) => [...pair] as [string, string])) {
      await expectCheap('POST', `${rbac}/clusterroles`, {
        metadata: { name: `circle-${name}`, labels: label(name) },
        rules: [{ apiGroups: [name], resources: [name], verbs: ['get'] }],
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label(next) }] },
      })
    }
  })

  test.each(['.', '..', 'a.b.c', `e30.${Buffer.from('['.repeat(long)).toString('base64url')}.x`, 'e30.e30.e30'])(
    'a malformed token is refused quickly',
    async (token) => {
      const reply = await expectCheap('GET', '/version', undefined, { authorization: `Bearer ${token}` })
      expect(reply.status).toBe(401)
      await expectCheap('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } })
    },
  )
})

describe('raw connections', () => {
  let server: RunningServer

  beforeAll(async () => {
    server = await startServer({ authorization: 'rbac' })
  })
  afterAll(() => server.stop())

  /** Sends these bytes. Resolves with all received bytes when the server closes the connection or the time is up. */
  function send(bytes: string | Buffer, waitMs: number = 5000): Promise<string> {
    const { hostname, port } = new URL(server.url)
    return new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port), ca: server.ca! }, () => {
        // With `connection: close` the server ends the connection; otherwise the client does.
        if (bytes.includes('connection: close')) socket.write(bytes)
        else socket.end(bytes)
      })
      const chunks: Buffer[] = []
      const timer = setTimeout(() => socket.destroy(), waitMs)
      socket.on('data', (chunk) => chunks.push(chunk))
      socket.on('error', () => {})
      socket.on('close', () => {
        clearTimeout(timer)
        resolve(Buffer.concat(chunks).toString('latin1'))
      })
    })
  }

  const head = (line: string, ...headers: string[]) =>
    [`${line} HTTP/1.1`, 'host: x', `authorization: Bearer ${server.token}`, ...headers, '', ''].join('\r\n')

  async function expectWell(): Promise<void> {
    const answer = await send(head('GET /api/v1/namespaces/default', 'connection: close'))
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  }

  test.each<[string, () => string | Buffer, RegExp]>([
    ['no bytes', () => '', /^$/],
    ['text that is not HTTP', () => '\0\x01\x02garbage\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['an endless header', () => `GET / HTTP/1.1\r\nx: ${'a'.repeat(200_000)}`, /^HTTP\/1\.1 431 /],
    ['very many headers', () => head('GET /version', ...many(3000, (n) => `x-${n}: y`)), /^HTTP\/1\.1 (200|431) /],
    [
      'two content lengths',
      () => head('POST /api/v1/namespaces', 'content-length: 1', 'content-length: 2'),
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a length and chunks',
      () => `${head('POST /api/v1/namespaces', 'content-length: 5', 'transfer-encoding: chunked')}0\r\n\r\n`,
      /^HTTP\/1\.1 400 /,
    ],
    [
      'chunks without a size',
      () => `${head('POST /api/v1/namespaces', 'transfer-encoding: chunked')}zz\r\n`,
      /^HTTP\/1\.1 400 /,
    ],
    [
      'malformed gzip',
      () => `${head('POST /api/v1/namespaces', 'content-encoding: gzip', 'content-length: 2')}{}`,
      /^HTTP\/1\.1 4\d\d /,
    ],
    [
      'an absolute URL of another host',
      () => head('GET http://elsewhere/api/v1/namespaces'),
      /^HTTP\/1\.1 (404|400|200) /,
    ],
    ['a CONNECT request', () => head('CONNECT elsewhere:443'), /^(HTTP\/1\.1 [45]\d\d |$)/],
    ['a protocol upgrade', () => head('GET /version', 'connection: upgrade', 'upgrade: websocket'), /^HTTP\/1\.1 200 /],
    [
      'an Expect header',
      () => head('POST /api/v1/namespaces', 'expect: 100-continue', 'content-length: 0'),
      /HTTP\/1\.1 (400|417) /,
    ],
  ])('the server stays available after a connection with %s', async (_, bytes, expected) => {
    expect(await send(bytes())).toMatch(expected)
    await expectWell()
  })

  test('many pipelined requests on one connection are answered in order', async () => {
    const requests = head('GET /version').repeat(200) + head('GET /healthz', 'connection: close')
    expect((await send(requests, 20_000)).match(/HTTP\/1\.1 200 /g)).toHaveLength(201)
    await expectWell()
  })

  test('incomplete bodies do not block other requests', async () => {
    const { hostname, port } = new URL(server.url)
    const stuck = many(50, () => {
      const socket = connect({ host: hostname, port: Number(port), ca: server.ca! })
      socket.on('error', () => {})
      socket.write(head('POST /api/v1/namespaces', 'content-length: 1000000'))
      socket.write('{"metadata":')
      return socket
    })
    await expectWell()
    for (const socket of stuck) socket.destroy()
    await expectWell()
  })

  test('the server answers or closes a connection with random bytes', async () => {
    const line = fc.tuple(
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'get', '\0'),
      fc.string({ maxLength: 30, unit: 'binary-ascii' }),
    )
    const header = fc.tuple(
      fc.string({ maxLength: 10, unit: 'binary-ascii' }),
      fc.string({ maxLength: 20, unit: 'binary-ascii' }),
    )
    await fc.assert(
      fc.asyncProperty(
        line,
        fc.array(header, { maxLength: 5 }),
        fc.string({ maxLength: 50 }),
        async ([method, path], headers, body) => {
          const lines = headers.map(([name, value]) => `${name}: ${value}`)
          const answer = await send(
            `${method} /api/v1/${path} HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
          )
          if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /)
        },
      ),
      { numRuns: 100 },
    )
    await expectWell()
  })
})
