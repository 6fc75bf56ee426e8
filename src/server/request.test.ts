import { describe, expect, test } from 'vitest'
import { isTrue, parseRequest, type ResourcePath, type Verb, verbOf } from './request.ts'

/** `group/version plural namespace/name/subresource`, with `-` for empty parts. */
function brief(path: ResourcePath | undefined): string | undefined {
  if (path === undefined) return undefined
  const { group, version, plural, namespace, name, subresource, isWatchPath } = path
  const parts = [
    `${group || '-'}/${version || '-'}`,
    plural || '-',
    [namespace, name, subresource].map((one) => one || '-').join(' '),
  ]
  return `${isWatchPath ? 'watch ' : ''}${parts.join(' ')}`
}

const parse = (path: string) => brief(parseRequest({ method: 'GET', path }).resource)

describe('paths', () => {
  test.each<[string, string | undefined]>([
    ['/', undefined],
    ['/api', undefined],
    ['/api/v1', undefined],
    ['/apis', undefined],
    ['/apis/apps', undefined],
    ['/apis/apps/v1', undefined],
    ['/healthz', undefined],
    ['/openapi/v3/apis/apps/v1/x', undefined],
    ['/api/v1/pods', '-/v1 pods - - -'],
    ['/api/v1/pods/', '-/v1 pods - - -'],
    ['/api/v1/pods//', '-/v1 pods - - -'],
    ['/api/v1/nodes/one', '-/v1 nodes - one -'],
    ['/api/v1/nodes/one/status', '-/v1 nodes - one status'],
    ['/api/v1/namespaces', '-/v1 namespaces - - -'],
    ['/api/v1/namespaces/default', '-/v1 namespaces - default -'],
    ['/api/v1/namespaces/default/', '-/v1 namespaces - default -'],
    ['/api/v1/namespaces/default/status', '-/v1 namespaces - default status'],
    ['/api/v1/namespaces/default/finalize', '-/v1 namespaces - default finalize'],
    ['/api/v1/namespaces/default/pods', '-/v1 pods default - -'],
    ['/api/v1/namespaces/default/pods/web', '-/v1 pods default web -'],
    ['/api/v1/namespaces/default/pods/web/status', '-/v1 pods default web status'],
    ['/api/v1/namespaces/default/pods/web/proxy/a/b', '-/v1 pods default web proxy/a/b'],
    ['/apis/example.com/v1alpha1/namespaces/a/gadgets/b/scale', 'example.com/v1alpha1 gadgets a b scale'],
    ['/api/v1/watch/pods', 'watch -/v1 pods - - -'],
    ['/api/v1/watch/namespaces/default/pods/web', 'watch -/v1 pods default web -'],
    ['/api/v1/watch', '-/v1 watch - - -'],
  ])('%s', (path, expected) => {
    expect(parse(path)).toBe(expected)
  })

  test.each<[string, string | undefined]>([
    ['//api/v1/pods', undefined],
    ['/api//v1/pods', '-/- v1 - pods -'],
    ['/api/v1//pods', '-/v1 - - pods -'],
    ['/api/v1/namespaces//pods', '-/v1 pods - - -'],
    ['/../api/v1/pods', undefined],
    ['/api/../api/v1/pods', '-/.. api - v1 pods'],
    ['/api/v1/namespaces/default/pods/..', '-/v1 pods default .. -'],
    ['/api/v1/namespaces/default/pods/%2e%2e', '-/v1 pods default .. -'],
    ['/api/v1/namespaces/default/pods/../../kube-system/pods', '-/v1 pods default .. ../kube-system/pods'],
    ['/api/v1/namespaces/default/pods/a%2Fstatus', '-/v1 pods default a status'],
    ['/api/v1/namespaces%2Fdefault%2Fpods', '-/v1 pods default - -'],
    ['/api/v1/pods/a%252Fb', '-/v1 pods - a%2Fb -'],
    ['/api/v1/pods/%00', '-/v1 pods - \0 -'],
    ['/api/v1/pods/%ff', '-/v1 pods - \ufffd -'],
    ['/api/v1/pods/%d0%b6', '-/v1 pods - ж -'],
    ['/api/v1/pods/ж', '-/v1 pods - ж -'],
    ['/api/v1/pods/a+b', '-/v1 pods - a+b -'],
    ['/api/v1/__proto__/constructor', '-/v1 __proto__ - constructor -'],
    ['', undefined],
    ['api/v1/pods', '-/v1 pods - - -'],
    ['*', undefined],
  ])('that try to be clever lead nowhere else: %s', (path, expected) => {
    expect(parse(path)).toBe(expected)
  })

  test.each(['/api/v1/pods/%', '/api/v1/pods/%z', '/api/v1/pods/%zz', '/api/v1/%/x', '/apis/%2', '/%'])(
    'with a bad escape are refused: %s',
    (path) => {
      expect(() => parse(path)).toThrow(`invalid URL escape in "${path}"`)
    },
  )

  test('have their query apart', () => {
    const { path, query, resource } = parseRequest({
      method: 'GET',
      path: '/api/v1/pods?labelSelector=a%3Db&x=1?2&x=3#4',
    })
    expect(path).toBe('/api/v1/pods')
    expect(brief(resource)).toBe('-/v1 pods - - -')
    expect(query.get('labelSelector')).toBe('a=b')
    expect(query.getAll('x')).toEqual(['1?2', '3#4'])
  })
})

describe('verbs', () => {
  test.each<[string, string, Verb | undefined]>([
    ['GET', '/api/v1/pods', 'list'],
    ['GET', '/api/v1/pods?watch', 'watch'],
    ['GET', '/api/v1/pods?watch=1', 'watch'],
    ['GET', '/api/v1/pods?watch=true', 'watch'],
    ['GET', '/api/v1/pods?watch=false', 'list'],
    ['GET', '/api/v1/pods?watch=0', 'list'],
    ['GET', '/api/v1/nodes/one', 'get'],
    ['GET', '/api/v1/watch/nodes/one', 'watch'],
    ['HEAD', '/api/v1/nodes/one', 'get'],
    ['HEAD', '/api/v1/nodes', 'list'],
    ['POST', '/api/v1/nodes', 'create'],
    ['PUT', '/api/v1/nodes/one', 'update'],
    ['PATCH', '/api/v1/nodes/one', 'patch'],
    ['DELETE', '/api/v1/nodes/one', 'delete'],
    ['DELETE', '/api/v1/nodes', 'deletecollection'],
    ['OPTIONS', '/api/v1/nodes', undefined],
    ['get', '/api/v1/nodes', undefined],
    ['constructor', '/api/v1/nodes', undefined],
  ])('%s %s', (method, path, expected) => {
    expect(verbOf(parseRequest({ method, path }))).toBe(expected)
  })
})

test.each<[string | null, boolean]>([
  [null, false],
  ['', true],
  ['true', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['0', false],
])('the parameter %j is %s', (text, expected) => {
  expect(isTrue(text)).toBe(expected)
})
