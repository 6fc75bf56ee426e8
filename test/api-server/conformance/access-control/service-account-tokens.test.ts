/** Tokens of service accounts: how they are requested, which user they authenticate, and when they become invalid. */
import { createPublicKey, verify } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import {
  eventually,
  expectFailure,
  expectInvalid,
  expectStatus,
  timestamp,
  uuid,
} from '../../../support/expectations.ts'

const cluster = useCluster({ authorization: 'rbac' })
const { namespace } = cluster
const accounts = cluster.core('serviceaccounts')
const issuer = 'https://kubernetes.default.svc.cluster.local'
const group = 'authentication.k8s.io'
let account: Body

beforeAll(async () => {
  account = await createAccount('robot')
})

async function createAccount(name: string): Promise<Body> {
  return expectStatus(await cluster.api.post(accounts, { metadata: { name } }), 201)
}

function request(spec: Tree, name: string = 'robot', metadata: Tree = {}): Promise<Answer> {
  return cluster.api.post(`${accounts}/${name}/token`, { metadata, spec })
}

async function tokenOf(spec: Tree = {}, name: string = 'robot'): Promise<string> {
  return String(expectStatus(await request(spec, name), 201).status['token'])
}

async function review(token: string, audiences?: readonly string[]): Promise<Tree> {
  const spec = { token, ...(audiences === undefined ? {} : { audiences }) }
  return expectStatus(await cluster.api.post(`/apis/${group}/v1/tokenreviews`, { spec }), 201).status
}

/** The real API server caches token authentication for ten seconds. */
async function untilRefused(token: string, why: string): Promise<void> {
  await eventually(async () =>
    expect(await review(token)).toEqual({ user: {}, error: `[invalid bearer token, ${why}]` }),
  )
  const api = cluster.asUser({ token })
  await eventually(async () => expectFailure(await api.get('/version'), 401, 'Unauthorized', 'Unauthorized'))
}

function claimsOf(token: string): Tree {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
}

describe('token requests', () => {
  test('a TokenRequest is answered with a token for one hour and for this server’s audience', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { metadata, spec, status, ...rest } = expectStatus(await request({}), 201)
    expect(rest).toEqual({ kind: 'TokenRequest', apiVersion: `${group}/v1` })
    const { uid } = account.metadata
    expect(metadata).toEqual({ name: 'robot', namespace, uid, creationTimestamp: timestamp })
    expect(spec).toEqual({ audiences: [issuer], expirationSeconds: 3600, boundObjectRef: null })
    expect(status).toEqual({ token: expect.any(String), expirationTimestamp: timestamp })
    const claims = claimsOf(String(status['token']))
    expect(claims).toEqual({
      aud: [issuer],
      exp: Number(claims['iat']) + 3600,
      iat: expect.any(Number),
      iss: issuer,
      jti: uuid,
      'kubernetes.io': { namespace, serviceaccount: { name: 'robot', uid } },
      nbf: claims['iat'],
      sub: `system:serviceaccount:${namespace}:robot`,
    })
    expect(Number(claims['iat'])).toBeGreaterThanOrEqual(before)
  })

  test.each([
    [599, 'may not specify a duration less than 10 minutes'],
    [-1, 'may not specify a duration less than 10 minutes'],
    [2 ** 32 + 1, 'may not specify a duration larger than 2^32 seconds'],
  ])('a TokenRequest for %d seconds is invalid', async (expirationSeconds, why) => {
    const cause = `spec.expirationSeconds: Invalid value: ${expirationSeconds}: ${why}`
    expectInvalid(await request({ expirationSeconds }), { kind: 'TokenRequest', group }, cause)
  })

  test.each([600, 2 ** 32])('a TokenRequest for %d seconds gets a token for that time', async (expirationSeconds) => {
    const claims = claimsOf(await tokenOf({ expirationSeconds }))
    expect(Number(claims['exp']) - Number(claims['iat'])).toBe(expirationSeconds)
  })

  test('a TokenRequest must name the service account of the path', async () => {
    const named = await request({}, 'robot', { name: 'other' })
    const name = 'metadata.name: Invalid value: "other": must match the service account name if specified'
    expectInvalid(named, { kind: 'TokenRequest', group, name: 'robot' }, name)
    const placed = await request({}, 'robot', { namespace: 'default' })
    expect(placed.status).toBe(400)
    const why = `the UID in the token request (x) does not match the UID of the service account (${account.metadata.uid})`
    const message = `Operation cannot be fulfilled on TokenRequest.${group} "robot": ${why}`
    const details = { name: 'robot', group, kind: 'TokenRequest' }
    expectFailure(await request({}, 'robot', { uid: 'x' }), 409, 'Conflict', message, details)
    const none = 'serviceaccounts "none" not found'
    expectFailure(await request({}, 'none'), 404, 'NotFound', none, { name: 'none', kind: 'serviceaccounts' })
  })

  test.each<[Tree, string]>([
    [{ audiences: 'x' }, 'string into Go struct field TokenRequestSpec.spec.audiences of type []string'],
    [{ audiences: [1] }, 'number into Go struct field TokenRequestSpec.spec.audiences of type string'],
    [{ expirationSeconds: 'x' }, 'string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64'],
    [
      { boundObjectRef: 5 },
      'number into Go struct field TokenRequestSpec.spec.boundObjectRef of type v1.BoundObjectReference',
    ],
    [
      { boundObjectRef: { name: 5 } },
      'number into Go struct field BoundObjectReference.spec.boundObjectRef.name of type string',
    ],
  ])('a TokenRequest with a wrong type is a bad request: %j', async (spec, why) => {
    const message = `TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal ${why}`
    expectFailure(await request(spec), 400, 'BadRequest', message)
  })

  test('the token subresource accepts only POST', async () => {
    expect((await cluster.api.get(`${accounts}/robot/token`)).status).toBe(405)
    const { body } = await cluster.api.get('/api/v1')
    expect(body['resources']).toContainEqual({
      name: 'serviceaccounts/token',
      singularName: '',
      namespaced: true,
      group,
      version: 'v1',
      kind: 'TokenRequest',
      verbs: ['create'],
    })
  })
})

describe('requests with service account tokens', () => {
  test('a service account token authenticates its account, with groups and the id of the token', async () => {
    const token = await tokenOf()
    const expected = {
      username: `system:serviceaccount:${namespace}:robot`,
      uid: account.metadata.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claimsOf(token)['jti']}`] },
    }
    const api = cluster.asUser({ token })
    const { body } = await api.post(`/apis/${group}/v1/selfsubjectreviews`, {})
    expect(body.status).toEqual({ userInfo: expected })
    expect(await review(token)).toEqual({ authenticated: true, user: expected, audiences: [issuer] })
    const message = `pods is forbidden: User "${expected.username}" cannot list resource "pods" in API group "" at the cluster scope`
    expectFailure(await api.get('/api/v1/pods'), 403, 'Forbidden', message, { kind: 'pods' })
  })

  test('a service account token for other audiences is refused by the API server', async () => {
    const token = await tokenOf({ audiences: ['here', 'there'] })
    expect(await review(token, ['there', 'elsewhere'])).toMatchObject({ authenticated: true, audiences: ['there'] })
    await untilRefused(token, `token audiences ["here" "there"] is invalid for the target audiences ["${issuer}"]`)
  })

  test.each<[string, (token: string) => string, string]>([
    [
      'another signature',
      (token) => `${token.slice(0, -8)}AAAAAAAA`,
      ', go-jose/go-jose: error in cryptographic primitive]',
    ],
    [
      'changed claims',
      (token) => changed(token, { sub: 'system:admin' }),
      ', go-jose/go-jose: error in cryptographic primitive]',
    ],
    ['another issuer', (token) => changed(token, { iss: 'me' }), ''],
    ['no signature', (token) => token.replace(/[^.]*$/, ''), ''],
    ['four parts', (token) => `${token}.x`, ''],
    ['empty parts', () => '..', ''],
  ])('the API server answers 401 to a token with %s', async (_, meddle, why) => {
    const error = why === '' ? 'invalid bearer token' : `[invalid bearer token${why}`
    const token = meddle(await tokenOf())
    const verdict = await review(token)
    if (why !== '') expect(verdict).toEqual({ user: {}, error })
    expect(verdict['authenticated']).toBeUndefined()
    expect((await cluster.asUser({ token }).get('/version')).status).toBe(401)
  })

  function changed(token: string, claims: Tree): string {
    const [header, , signature] = token.split('.')
    const payload = Buffer.from(JSON.stringify({ ...claimsOf(token), ...claims })).toString('base64url')
    return `${header}.${payload}.${signature}`
  }
})

describe('service account tokens', () => {
  test('a token is refused after its service account is deleted, also when one of the same name exists again', async () => {
    await createAccount('short-lived')
    const token = await tokenOf({}, 'short-lived')
    expect(await review(token)).toMatchObject({ authenticated: true })
    expectStatus(await cluster.api.delete(`${accounts}/short-lived`), 200)
    await untilRefused(token, 'serviceaccounts "short-lived" not found')
    const { metadata } = await createAccount('short-lived')
    const old = (claimsOf(token)['kubernetes.io'] as { serviceaccount: Tree }).serviceaccount['uid']
    await untilRefused(token, `service account UID (${metadata.uid}) does not match claim (${old})`)
  }, 60_000)

  test('a token is refused after the Secret that it is bound to is deleted', async () => {
    const secrets = cluster.core('secrets')
    const { metadata } = expectStatus(await cluster.api.post(secrets, { metadata: { name: 'bound' } }), 201)
    const reference = { kind: 'Secret', apiVersion: 'v1', name: 'bound', uid: metadata.uid }
    const { spec, status } = expectStatus(await request({ boundObjectRef: reference }), 201)
    expect(spec['boundObjectRef']).toEqual(reference)
    const token = String(status['token'])
    expect(claimsOf(token)['kubernetes.io']).toMatchObject({ secret: { name: 'bound', uid: metadata.uid } })
    expect(await review(token)).toMatchObject({ authenticated: true })
    expectStatus(await cluster.api.delete(`${secrets}/bound`), 200)
    await untilRefused(token, 'service account token has been invalidated')
  }, 60_000)

  test('a token bound to a Pod of its account names that Pod in the user’s extra fields', async () => {
    const pod = (name: string, serviceAccountName: string) => ({
      metadata: { name },
      spec: { serviceAccountName, automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
    })
    const { metadata } = expectStatus(await cluster.api.post(cluster.core('pods'), pod('bound', 'robot')), 201)
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'bound' }
    const token = await tokenOf({ boundObjectRef })
    expect(await review(token)).toMatchObject({
      authenticated: true,
      user: {
        extra: {
          'authentication.kubernetes.io/pod-name': ['bound'],
          'authentication.kubernetes.io/pod-uid': [metadata.uid],
        },
      },
    })
    const injected = claimsOf(await tokenOf({ boundObjectRef, expirationSeconds: 3607 }))
    expect(Number(injected['exp']) - Number(injected['iat'])).toBe(365 * 24 * 3600)
    expect((injected['kubernetes.io'] as Tree)['warnafter']).toBe(Number(injected['iat']) + 3607)
    await createAccount('other')
    const message = 'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.'
    expectFailure(await request({ boundObjectRef }, 'other'), 400, 'BadRequest', message)
  })

  test.each<[Tree, number, string]>([
    [
      { kind: 'ConfigMap', apiVersion: 'v1', name: 'x' },
      400,
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
    [{ kind: 'Pod', apiVersion: 'apps/v1', name: 'x' }, 400, 'cannot bind token to object of type apps/v1, Kind=Pod'],
    [{ kind: 'Pod', apiVersion: 'v1', name: 'none' }, 404, 'pods "none" not found'],
    [{ kind: 'Node', apiVersion: 'v1', name: 'none' }, 404, 'nodes "none" not found'],
  ])('a token cannot be bound to %j', async (boundObjectRef, code, message) => {
    const answer = await request({ boundObjectRef })
    expect([answer.status, answer.body['message']]).toEqual([code, message])
  })

  test('a token is not bound to an object with another uid than the requested one', async () => {
    expectStatus(await cluster.api.post(cluster.core('secrets'), { metadata: { name: 'another' } }), 201)
    const answer = await request({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'another', uid: 'x' } })
    const why =
      'the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated'
    const message = `Operation cannot be fulfilled on Secret "another": ${why}`
    expectFailure(answer, 409, 'Conflict', message, { name: 'another', kind: 'Secret' })
  })

  test('a service account token verifies with a key that the server publishes in its JWKS', async () => {
    const configuration = await cluster.api.get('/.well-known/openid-configuration')
    expect(configuration.body).toEqual({
      issuer,
      jwks_uri: expect.stringMatching(/^https:\/\/.+\/openid\/v1\/jwks$/),
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
    const answer = await cluster.api.get('/openid/v1/jwks', {}, { accept: '*/*' })
    expect(answer.headers['content-type']).toBe('application/jwk-set+json')
    expect(answer.headers['cache-control']).toBe('public, max-age=3600')
    const { keys } = JSON.parse(answer.text) as { keys: Array<Record<string, string>> }
    const token = await tokenOf()
    const [header = '', payload, signature = ''] = token.split('.')
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
    expect(alg).toBe('ES256')
    const key = createPublicKey({ key: keys.find((one) => one['kid'] === kid)!, format: 'jwk' })
    const options = { key, dsaEncoding: 'ieee-p1363' as const }
    const signed = Buffer.from(`${header}.${payload}`)
    expect(verify('sha256', signed, options, Buffer.from(signature, 'base64url'))).toBe(true)
  })
})
