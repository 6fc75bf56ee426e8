/** Requests with wrong or no credentials, and the reviews by which a client learns its own and others' permissions. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus } from '../../../support/expectations.ts'
import { configMap } from '../../../support/objects.ts'

const cluster = useCluster()

let stranger: Api

beforeAll(async () => {
  await cluster.install({ kind: 'Widget' })
  stranger = cluster.asUser({ token: 'nonsense' })
})

describe('wrong tokens', () => {
  test.each(['/version', '/healthz', '/api', '/api/v1/namespaces', '/nonsense'])(
    'the API server answers 401 to a wrong token, even at %s',
    async (path) => {
      const answer = await stranger.get(path)
      expectFailure(answer, 401, 'Unauthorized', 'Unauthorized')
    },
  )

  test('a request with a wrong token creates no object', async () => {
    expectFailure(
      await stranger.post(cluster.core('configmaps'), configMap('wrong')),
      401,
      'Unauthorized',
      'Unauthorized',
    )
    expect((await cluster.api.get(cluster.core('configmaps/wrong'))).status).toBe(404)
  })
})

describe('anonymous requests', () => {
  test.each(['/version', '/healthz', '/livez', '/readyz'])('an anonymous request may read %s', async (path) => {
    expect((await cluster.anonymous.get(path)).status).toBe(200)
  })

  test.each(['/', '/api', '/apis', '/openapi/v3', '/nonsense'])(
    'an anonymous request is forbidden at %s',
    async (path) => {
      const message = `forbidden: User "system:anonymous" cannot get path "${path}"`
      expectFailure(await cluster.anonymous.get(path), 403, 'Forbidden', message, {})
    },
  )

  type Attempt = (api: Api, path: string) => Promise<Answer>
  const attempts: Array<[string, Attempt, string]> = [
    ['get', (api, path) => api.get(`${path}/x`), 'x'],
    ['list', (api, path) => api.get(path), ''],
    ['watch', (api, path) => api.get(path, { watch: true }), ''],
    ['create', (api, path) => api.post(path, {}), ''],
    ['update', (api, path) => api.put(`${path}/x`, {}), 'x'],
    ['patch', (api, path) => api.mergePatch(`${path}/x`, {}), 'x'],
    ['delete', (api, path) => api.delete(`${path}/x`), 'x'],
    ['deletecollection', (api, path) => api.delete(path), ''],
  ]

  test.each(attempts)('an anonymous request to %s a ConfigMap is forbidden', async (verb, attempt, name) => {
    const answer = await attempt(cluster.anonymous, cluster.core('configmaps'))
    const subject = name === '' ? 'configmaps' : 'configmaps "x"'
    const action = `cannot ${verb} resource "configmaps" in API group "" in the namespace "${cluster.namespace}"`
    const details = { ...(name === '' ? {} : { name }), kind: 'configmaps' }
    expectFailure(answer, 403, 'Forbidden', `${subject} is forbidden: User "system:anonymous" ${action}`, details)
  })

  test('an anonymous request to list custom objects is forbidden', async () => {
    const answer = await cluster.anonymous.get(cluster.custom('widgets'))
    const { group, namespace } = cluster
    const action = `cannot list resource "widgets" in API group "${group}" in the namespace "${namespace}"`
    const message = `widgets.${group} is forbidden: User "system:anonymous" ${action}`
    expectFailure(answer, 403, 'Forbidden', message, { group, kind: 'widgets' })
  })

  test('an anonymous request to list namespaces is forbidden at the cluster scope', async () => {
    const answer = await cluster.anonymous.get('/api/v1/namespaces')
    const action = 'cannot list resource "namespaces" in API group "" at the cluster scope'
    const message = `namespaces is forbidden: User "system:anonymous" ${action}`
    expectFailure(answer, 403, 'Forbidden', message, { kind: 'namespaces' })
  })

  test('an anonymous request for a subresource is forbidden', async () => {
    const answer = await cluster.anonymous.get(cluster.core('pods/x/status'))
    const action = `cannot get resource "pods/status" in API group "" in the namespace "${cluster.namespace}"`
    const message = `pods "x" is forbidden: User "system:anonymous" ${action}`
    expectFailure(answer, 403, 'Forbidden', message, { name: 'x', kind: 'pods' })
  })

  test.each(['Basic YTpi', 'Bearer ', 'Nonsense'])(
    'a request with the authorization header %j counts as anonymous',
    async (authorization) => {
      const answer = await cluster.anonymous.get('/api', {}, { headers: { authorization } })
      expectFailure(answer, 403, 'Forbidden', 'forbidden: User "system:anonymous" cannot get path "/api"', {})
    },
  )
})

describe('access reviews of an administrator', () => {
  const authorization = 'authorization.k8s.io/v1'

  function review(kind: string, spec: Tree): Promise<Answer> {
    return cluster.api.post(`/apis/${authorization}/${kind.toLowerCase()}s`, { apiVersion: authorization, kind, spec })
  }

  test.each<Tree>([
    { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
    { resourceAttributes: { verb: 'delete', group: 'apps', resource: 'deployments', name: 'x' } },
    { resourceAttributes: { verb: '*', group: '*', resource: '*' } },
    { nonResourceAttributes: { verb: 'get', path: '/metrics' } },
  ])('a SelfSubjectAccessReview allows an administrator everything: %j', async (spec) => {
    const answer = await review('SelfSubjectAccessReview', spec)
    expect(answer.status).toBe(201)
    const { status, ...rest } = answer.body
    expect(rest).toEqual({ apiVersion: authorization, kind: 'SelfSubjectAccessReview', metadata: {}, spec })
    expect(status).toMatchObject({ allowed: true })
  })

  test('a SubjectAccessReview allows a member of system:masters everything', async () => {
    const spec = { user: 'x', groups: ['system:masters'], resourceAttributes: { verb: 'get', resource: 'pods' } }
    const answer = await review('SubjectAccessReview', spec)
    expect(answer.body).toMatchObject({ kind: 'SubjectAccessReview', spec, status: { allowed: true } })
  })

  test('a SubjectAccessReview denies the anonymous user', async () => {
    const user = { user: 'system:anonymous', groups: ['system:unauthenticated'] }
    const answer = await review('SubjectAccessReview', {
      ...user,
      resourceAttributes: { verb: 'get', resource: 'pods' },
    })
    expect(answer.body.status).toMatchObject({ allowed: false })
  })

  test('a LocalSubjectAccessReview answers for its own namespace only', async () => {
    const { namespace } = cluster
    const path = `/apis/${authorization}/namespaces/${namespace}/localsubjectaccessreviews`
    const spec = {
      user: 'x',
      groups: ['system:masters'],
      resourceAttributes: { verb: 'get', resource: 'pods', namespace },
    }
    const body = { apiVersion: authorization, kind: 'LocalSubjectAccessReview', metadata: { namespace }, spec }
    expect((await cluster.api.post(path, body)).body.status).toMatchObject({ allowed: true })
    const elsewhere = { ...spec, resourceAttributes: { ...spec.resourceAttributes, namespace: 'other' } }
    const answer = await cluster.api.post(path, { ...body, spec: elsewhere })
    const message = 'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'
    expectUnnamed(answer, message)
  })

  test.each<[string, Tree, string]>([
    [
      'SelfSubjectAccessReview',
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'SubjectAccessReview',
      { resourceAttributes: { verb: 'get', resource: 'pods' } },
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
  ])('an incomplete %s is invalid', async (kind, spec, message) => {
    expectUnnamed(await review(kind, spec), message)
  })

  /** The refusal of an invalid review has no kind in its details. */
  function expectUnnamed(answer: Answer, message: string): void {
    const details = answer.body['details'] as Tree
    expect(details).not.toHaveProperty('kind')
    expectInvalid(
      { ...answer, body: { ...answer.body, details: { ...details, kind: '' } } },
      { kind: '', group: 'authorization.k8s.io' },
      message,
    )
  }

  test('a SelfSubjectRulesReview lists the rules of a namespace', async () => {
    const { body } = await review('SelfSubjectRulesReview', { namespace: 'default' })
    expect(body.status).toMatchObject({
      resourceRules: expect.arrayContaining([{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]),
      nonResourceRules: expect.arrayContaining([{ verbs: ['*'], nonResourceURLs: ['*'] }]),
      incomplete: false,
    })
    expectFailure(await review('SelfSubjectRulesReview', {}), 400, 'BadRequest', 'no namespace on request')
  })

  test('a SelfSubjectReview answers with the user name and the groups of the client', async () => {
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const answer = await cluster.api.post(path, body)
    expect(expectStatus(answer, 201).status).toMatchObject({
      userInfo: { username: expect.stringMatching(/./), groups: ['system:masters', 'system:authenticated'] },
    })
  })

  test('a TokenReview answers with an error for an unknown token', async () => {
    const path = '/apis/authentication.k8s.io/v1/tokenreviews'
    const ask = (spec: Tree) =>
      cluster.api.post(path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec })
    const answer = await ask({ token: 'nonsense' })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: { token: 'nonsense' },
      status: { user: {}, error: 'invalid bearer token' },
    })
    expectFailure(await ask({}), 400, 'BadRequest', 'token is required for TokenReview in authentication')
  })
})
