import { describe, expect, test } from 'vitest'
import { collectionPath, type Located, objectPath, toQuery } from './paths.ts'

const pods: Located = { group: '', version: 'v1', plural: 'pods', namespaced: true }
const deployments: Located = { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true }
const roles: Located = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  namespaced: false,
}

describe('request paths', () => {
  test.each([
    [collectionPath(pods), '/api/v1/pods'],
    [collectionPath(pods, 'default'), '/api/v1/namespaces/default/pods'],
    [collectionPath(deployments, 'default'), '/apis/apps/v1/namespaces/default/deployments'],
    [collectionPath(roles), '/apis/rbac.authorization.k8s.io/v1/clusterroles'],
    [collectionPath(roles, 'ignored'), '/apis/rbac.authorization.k8s.io/v1/clusterroles'],
    [objectPath(pods, { name: 'a', namespace: 'b' }), '/api/v1/namespaces/b/pods/a'],
    [objectPath(pods, { name: 'a', namespace: 'b' }, 'status'), '/api/v1/namespaces/b/pods/a/status'],
    [objectPath(roles, { name: 'a' }), '/apis/rbac.authorization.k8s.io/v1/clusterroles/a'],
    [objectPath(roles, { name: 'a', namespace: 'ignored' }), '/apis/rbac.authorization.k8s.io/v1/clusterroles/a'],
  ])(
    'the request path %s is composed from the resource, the namespace, the name and the subresource',
    (path, expected) => {
      expect(path).toBe(expected)
    },
  )

  test.each([
    ['system:controller:x', 'system%3Acontroller%3Ax'],
    ['a b', 'a%20b'],
    ['a?watch=true', 'a%3Fwatch%3Dtrue'],
    ['a#b', 'a%23b'],
    ['a\r\nb', 'a%0D%0Ab'],
    ['ключ', '%D0%BA%D0%BB%D1%8E%D1%87'],
    ['...', '...'],
    ['__proto__', '__proto__'],
  ])('a request path encodes the object name %j', (name, encoded) => {
    expect(objectPath(roles, { name })).toBe(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${encoded}`)
  })

  test.each(['', '.', '..', '../x', 'a/b', 'a/status', '%2e', '%2e%2e', '\ud800'])(
    'a request path refuses the object name %j',
    (name) => {
      const refused = expect.objectContaining({ code: 'KOPF_NAME' })
      const attempt = (deed: () => string): unknown => {
        try {
          return deed()
        } catch (error) {
          return error
        }
      }
      expect(attempt(() => objectPath(roles, { name }))).toEqual(refused)
      expect(attempt(() => objectPath(pods, { name: 'a', namespace: name }))).toEqual(refused)
      expect(attempt(() => objectPath(roles, { name: 'a' }, name))).toEqual(refused)
      expect(attempt(() => collectionPath(pods, name))).toEqual(refused)
    },
  )

  test('a request path with a refused name explains which names are allowed', () => {
    expect(() => objectPath(roles, { name: 'a/b' })).toThrow(
      'Cannot use "a/b" as the name of an object: expected a name that is not empty, "." or "..", and without "/" and "%"',
    )
  })

  test('a request path of a namespaced object needs a namespace', () => {
    expect(() => objectPath(pods, { name: 'a' })).toThrow('Cannot address pods "a" without a namespace')
  })
})

test.each([
  [undefined, ''],
  [{}, ''],
  [{ limit: undefined }, ''],
  [{ watch: true, limit: 5 }, '?watch=true&limit=5'],
  [{ labelSelector: 'a=b,c in (d, e)&x' }, '?labelSelector=a%3Db%2Cc%20in%20(d%2C%20e)%26x'],
])('the query %j is encoded as expected', (query, expected) => {
  expect(toQuery(query)).toBe(expected)
})
