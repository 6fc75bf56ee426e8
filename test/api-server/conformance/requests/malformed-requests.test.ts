/** Malformed and hostile requests: both servers answer them with the same status, and go on. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus } from '../../../support/expectations.ts'
import { configMap } from '../../../support/objects.ts'

const cluster = useCluster({ authorization: 'rbac' })
const path = cluster.core('configmaps')

beforeAll(async () => {
  expectStatus(await cluster.api.post(path, configMap('a', { data: { key: 'value' } })), 201)
})

afterEach(async () => {
  expectStatus(await cluster.api.get(`${path}/a`), 200)
})

describe('unusual paths', () => {
  test.each<[string, number]>([
    [`/api/v1/${'x/'.repeat(500)}`, 404],
    [`/apis/${'a'.repeat(3000)}/v1/x`, 404],
    ['/apis/%00/v1/x', 404],
    ['/api/v1/namespaces/%ff/configmaps', 200],
    ['/api/v1/namespaces/default/configmaps/%e4%bd%a0', 404],
    ['/api/v1/namespaces/default/configmaps/__proto__', 404],
    ['/openid/v1/jwks/x', 404],
    ['/.well-known/openid-configuration/x', 404],
  ])('the API server answers an unusual path with the right status: %s', async (target, code) => {
    expect((await cluster.api.get(target)).status).toBe(code)
  })
})

describe('unusual queries', () => {
  test.each<[string, number]>([
    ['labelSelector=%28%28%28', 400],
    ['labelSelector=a%20in%20%28', 400],
    [`labelSelector=${'a,'.repeat(2000)}a`, 200],
    ['fieldSelector=%5C', 400],
    ['limit=99999999999999999999', 400],
    ['limit=-1', 200],
    ['resourceVersion=-1', 400],
    ['resourceVersion=x', 400],
    ['continue=x&limit=1', 400],
    ['timeoutSeconds=x', 400],
    ['watch=x&timeoutSeconds=1&resourceVersion=x', 500],
  ])('the API server answers an unusual query with the right status: %s', async (query, code) => {
    expect((await cluster.api.get(path, query)).status).toBe(code)
  })
})

describe('unusual bodies', () => {
  const deep = '['.repeat(15_000) + ']'.repeat(15_000)
  test.each<[string, string, number]>([
    ['of no characters', '', 400],
    ['without an object', '5', 400],
    ['of incomplete JSON', '{"metadata":{"name":"x"', 400],
    ['deeper than the decoder allows', `{"metadata":{"name":"x"},"data":${deep}}`, 400],
    ['with __proto__ keys', '{"metadata":{"name":"x","__proto__":{"y":1}},"__proto__":{"data":{"a":"b"}}}', 201],
    ['with duplicate keys', '{"metadata":{"name":"twice"},"data":{"a":"1"},"data":{"a":"2"}}', 201],
    ['with a large number', '{"metadata":{"name":"n","generation":1e400}}', 400],
    ['with a number of many digits', `{"metadata":{"name":"n","generation":${'9'.repeat(400)}}}`, 400],
  ])('the API server answers a body %s with the right status', async (_, body, code) => {
    expect((await cluster.api.post(path, body)).status).toBe(code)
  })

  test('the API server answers 400 to YAML whose aliases expand it', async () => {
    const lines = Array.from(
      { length: 12 },
      (_, n) =>
        `a${n}: &a${n} [${Array(9)
          .fill(n === 0 ? 'x' : `*a${n - 1}`)
          .join()}]`,
    )
    const answer = await cluster.api.post(path, lines.join('\n'), { contentType: 'application/yaml' })
    expect(answer.status).toBe(400)
  })

  test('the API server answers 400 to a body with the content-encoding gzip', async () => {
    const options = { headers: { 'content-encoding': 'gzip' } }
    expect((await cluster.api.post(path, Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), options)).status).toBe(400)
  })

  test.each<[string, unknown, number]>([
    ['an object for the list', {}, 400],
    ['an unknown operation', [{ op: 'dance', path: '/data' }], 422],
    ['a path into a missing field', [{ op: 'remove', path: '/a/b/c/d' }], 422],
    ['a path of tildes', [{ op: 'add', path: '/data/~2', value: 1 }], 422],
    ['more operations than allowed', Array(10_001).fill({ op: 'test', path: '/data/key', value: 'value' }), 413],
  ])('the API server refuses a JSON patch with %s', async (_, body, code) => {
    expect((await cluster.api.jsonPatch(`${path}/a`, body)).status).toBe(code)
  })
})

describe('unusual headers', () => {
  test.each<[Record<string, string>, number]>([
    [{ 'impersonate-user': '' }, 200],
    [{ 'impersonate-user': 'x', 'impersonate-extra-': 'y' }, 403],
    [{ 'impersonate-user': 'x', 'impersonate-extra-%zz': 'y' }, 403],
    [{ 'impersonate-extra-__proto__': 'y' }, 400],
    [{ accept: 'nonsense' }, 406],
    [{ accept: ';;;,,,' }, 406],
    [{ authorization: 'Bearer a.b.c' }, 401],
  ])('the API server answers unusual headers with the right status: %j', async (headers, code) => {
    const api = 'authorization' in headers ? cluster.anonymous : cluster.api
    expect((await api.get(path, {}, { headers })).status).toBe(code)
  })
})
