/** Authentication by the embedded server: tokens, client certificates, anonymous requests, and reviews. */
import { ApiServer, type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Api, type Credentials } from '../../../support/api.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'
import { ask } from '../../../support/in-process.ts'

const path = '/api/v1/namespaces/default/configmaps'
const reviews = '/apis/authentication.k8s.io/v1'

let server: RunningServer
let other: RunningServer
const opened: Api[] = []

beforeAll(async () => {
  server = await startServer({ tokens: { secret: { username: 'jane', uid: '7', groups: ['developers'] } } })
  other = await startServer()
})
afterAll(async () => {
  for (const api of opened) api.close()
  await server.stop()
  await other.stop()
})

function as(credentials: Credentials): Api {
  const api = new Api({ url: server.url, caPem: server.ca!, credentials })
  opened.push(api)
  return api
}

async function whoIs(credentials: Credentials): Promise<unknown> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const answer = await as(credentials).post(`${reviews}/selfsubjectreviews`, body)
  return expectStatus(answer, 201).status['userInfo']
}

async function certificateOf(running: RunningServer, name: string, groups?: string[]): Promise<Credentials> {
  return running.issueClientCertificate(name, groups)
}

describe('tokens', () => {
  test('the token that the embedded server creates authenticates an administrator', async () => {
    expect(await whoIs({ token: server.token! })).toEqual({
      username: 'kubernetes-admin',
      groups: ['system:masters', 'system:authenticated'],
    })
  })

  test('a token option authenticates its user with uid and groups', async () => {
    const groups = ['developers', 'system:authenticated']
    expect(await whoIs({ token: 'secret' })).toEqual({ username: 'jane', uid: '7', groups })
  })

  test.each(['wrong', 'secre', 'secrett', 'Secret', '__proto__', 'constructor', '%73ecret'])(
    'the embedded server answers 401 to the unknown token %s',
    async (token) => {
      for (const target of [path, '/healthz', '/version']) {
        expectFailure(await as({ token }).get(target), 401, 'Unauthorized', 'Unauthorized')
      }
    },
  )

  test('the embedded server answers 401 to the token of another server', async () => {
    expect((await as({ token: other.token! }).get(path)).status).toBe(401)
  })

  test.each<[string, number]>([
    ['Bearer secret', 200],
    ['bearer secret', 200],
    ['BEARER secret', 200],
    ['  Bearer secret  ', 200],
    ['Bearer secret and more', 200],
    ['Bearer', 403],
    ['Bearer  secret', 403],
    ['Basic secret', 403],
    ['secret', 403],
    ['Bearer Secret', 401],
  ])('the embedded server answers the authorization header %j with %i', async (authorization, status) => {
    expect((await as({}).get(path, {}, { headers: { authorization } })).status).toBe(status)
  })

  test('a token can be added while the embedded server runs', async () => {
    const api = new ApiServer()
    const headers = { authorization: 'Bearer later' }
    expect((await ask(api, 'GET', path, { headers })).status).toBe(401)
    api.addToken('later', { username: 'joe', groups: [] })
    expect((await ask(api, 'GET', path, { headers })).status).toBe(200)
    expect(api.requests.last().map(({ user }) => user)).toEqual(['', 'joe'])
  })
})

describe('kubeconfigs of other users', () => {
  test('kubeconfigFor has the token of a service account, or the certificate of a user', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts'
    await ask(server.api, 'POST', path, { body: { metadata: { name: 'robot' } } })
    const robot = JSON.parse(await server.kubeconfigFor({ serviceAccount: 'robot' }))
    expect(await whoIs({ token: robot.users[0].user.token })).toMatchObject({
      username: 'system:serviceaccount:default:robot',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    })
    const jane = JSON.parse(await server.kubeconfigFor({ user: 'jane', groups: ['developers'] })).users[0].user
    const pem = (name: string) => Buffer.from(jane[name], 'base64').toString()
    const certificate = { certPem: pem('client-certificate-data'), keyPem: pem('client-key-data') }
    expect(await whoIs(certificate)).toMatchObject({ username: 'jane', groups: ['developers', 'system:authenticated'] })
  })

  test('kubeconfigFor refuses a missing service account', async () => {
    await expect(server.kubeconfigFor({ serviceAccount: 'none', namespace: 'x' })).rejects.toMatchObject({
      code: 'KOPF_SERVER_ACCOUNT',
      message: 'Cannot issue a token for the service account "x/none": there is none; create it before',
    })
  })
})

describe('client certificates', () => {
  test('a client certificate authenticates its user and groups', async () => {
    const extra = {
      'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
    }
    expect(await whoIs(await certificateOf(server, 'joe', ['one', 'two']))).toEqual({
      username: 'joe',
      groups: ['one', 'two', 'system:authenticated'],
      extra,
    })
    expect(await whoIs(await certificateOf(server, 'system:serviceaccount:default:x'))).toEqual({
      username: 'system:serviceaccount:default:x',
      groups: ['system:authenticated'],
      extra,
    })
  })

  test('a client certificate takes precedence over a token', async () => {
    expect(await whoIs({ ...(await certificateOf(server, 'joe')), token: 'secret' })).toMatchObject({ username: 'joe' })
    expect(await whoIs({ ...(await certificateOf(server, 'joe')), token: 'wrong' })).toMatchObject({ username: 'joe' })
  })

  test('a client certificate of another authority does not authenticate', async () => {
    const credentials = await certificateOf(other, 'kubernetes-admin', ['system:masters'])
    for (const target of [path, '/version']) {
      expectFailure(await as(credentials).get(target), 401, 'Unauthorized', 'Unauthorized')
    }
    expect(await whoIs({ ...credentials, token: 'secret' })).toMatchObject({ username: 'jane' })
  })

  test('a client certificate without a CN does not authenticate', async () => {
    const answer = await as(await certificateOf(server, '', ['system:masters'])).get(path)
    expect(answer.status).toBe(403)
    expect(answer.body['message']).toContain('system:anonymous')
  })

  test('a server with plain HTTP issues no client certificate', async () => {
    await using plain = await startServer({ insecure: true })
    expect(() => plain.issueClientCertificate('x')).toThrow(
      'Cannot issue a client certificate: the server speaks plain HTTP',
    )
  })
})

describe('anonymous requests to the embedded server', () => {
  test.each(['/healthz', '/livez', '/readyz', '/version', '/version/'])(
    'an anonymous request to the embedded server may read %s',
    async (target) => {
      expect((await as({}).get(target)).status).toBe(200)
    },
  )

  test('a refused anonymous request is answered with the name of the anonymous user', async () => {
    const action = 'cannot list resource "configmaps" in API group "" in the namespace "default"'
    const message = `configmaps is forbidden: User "system:anonymous" ${action}`
    expectFailure(await as({}).get(path), 403, 'Forbidden', message, { kind: 'configmaps' })
    const why = 'forbidden: User "system:anonymous" cannot get path "/apis"'
    expectFailure(await as({}).get('/apis'), 403, 'Forbidden', why, {})
  })

  test('an anonymous request to the embedded server is forbidden for missing objects and kinds too', async () => {
    expect((await as({}).get('/apis/nonsense.example.com/v1/things')).status).toBe(403)
    expect((await as({}).get(`${path}/missing`)).status).toBe(403)
  })

  test('an anonymous request to an open server is one of an administrator', async () => {
    await using open = await startServer({ open: true, insecure: true })
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${open.url}${reviews}/selfsubjectreviews`, { method: 'POST', body, headers })
    expect(await answer.json()).toMatchObject({ status: { userInfo: { username: 'kubernetes-admin' } } })
    const wrong = await fetch(`${open.url}${path}`, { headers: { authorization: 'Bearer wrong' } })
    expect(wrong.status).toBe(401)
  })
})

describe('authentication in process', () => {
  test('an in-process request without a token is one of an administrator', async () => {
    const api = new ApiServer()
    expect((await ask(api, 'GET', path)).status).toBe(200)
    expect(api.requests.last()[0]!.user).toBe('kubernetes-admin')
  })

  test('an in-process request with a token is one of the token’s user', async () => {
    const api = new ApiServer({ tokens: { secret: { username: 'jane', groups: [] } } })
    expect((await ask(api, 'GET', path, { headers: { authorization: 'Bearer secret' } })).status).toBe(200)
    expect((await ask(api, 'GET', path, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
    expect(api.requests.last().map(({ user }) => user)).toEqual(['jane', ''])
  })
})

describe('token reviews', () => {
  async function review(token: unknown): Promise<unknown> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } }
    return (await as({ token: server.token! }).post(`${reviews}/tokenreviews`, body)).body.status
  }

  test('a token review of the embedded server names the user of a token', async () => {
    const user = { username: 'jane', uid: '7', groups: ['developers', 'system:authenticated'] }
    expect(await review('secret')).toMatchObject({ authenticated: true, user })
  })

  test('a token review of the embedded server does not authenticate an unknown token', async () => {
    const status = await review('wrong')
    expect(status).toMatchObject({ user: {} })
    expect(status).not.toHaveProperty('authenticated', true)
  })
})

describe('access reviews', () => {
  const attributes = { resourceAttributes: { verb: 'get', resource: 'pods' } }

  async function review(kind: string, spec: object, credentials: Credentials = { token: 'secret' }) {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec }
    const answer = await as(credentials).post(`/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`, body)
    return expectStatus(answer, 201).status
  }

  test('a self access review without RBAC allows every authenticated user everything', async () => {
    expect(await review('SelfSubjectAccessReview', attributes)).toMatchObject({ allowed: true })
  })

  test.each<[string, object, boolean]>([
    ['an authenticated user', { user: 'x', groups: ['system:authenticated'] }, true],
    ['the anonymous user', { user: 'system:anonymous', groups: ['system:unauthenticated'] }, false],
  ])('an access review without RBAC answers for %s', async (_, subject, allowed) => {
    expect(await review('SubjectAccessReview', { ...attributes, ...subject })).toMatchObject({ allowed })
  })

  test('a rules review without RBAC lists a rule for everything', async () => {
    expect(await review('SelfSubjectRulesReview', { namespace: 'default' })).toMatchObject({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      incomplete: false,
    })
  })
})
