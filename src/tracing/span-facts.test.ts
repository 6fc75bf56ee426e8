/** The names and attributes of request spans, as tables. */
import { expect, test } from 'vitest'
import { endOfRequest, isTraceHeader, requestSpan, toUrlTemplate } from './span-facts.ts'
import { toLinks } from './traced-work.ts'

test.each([
  ['/api/v1/pods', '/api/v1/pods'],
  ['/api/v1/nodes/n1', '/api/v1/nodes/{name}'],
  ['/api/v1/nodes/n1/status', '/api/v1/nodes/{name}/status'],
  ['/api/v1/namespaces', '/api/v1/namespaces'],
  ['/api/v1/namespaces/prod', '/api/v1/namespaces/{name}'],
  ['/api/v1/namespaces/prod/finalize', '/api/v1/namespaces/{name}/finalize'],
  ['/api/v1/namespaces/prod/status', '/api/v1/namespaces/{name}/status'],
  ['/api/v1/namespaces/prod/pods', '/api/v1/namespaces/{namespace}/pods'],
  ['/api/v1/namespaces/prod/pods/web', '/api/v1/namespaces/{namespace}/pods/{name}'],
  ['/api/v1/namespaces/prod/pods/web/log', '/api/v1/namespaces/{namespace}/pods/{name}/log'],
  ['/api/v1/namespaces/p/pods/web/proxy/secret/x', '/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}'],
  ['/apis/example.com/v1/namespaces/prod/widgets/a%3Ab', '/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles/x', '/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}'],
  ['/apis', '/apis'],
  ['/apis/apps/v1', '/apis/apps/v1'],
  ['/api/v1', '/api/v1'],
  ['/version', '/version'],
  ['/openapi/v3/apis/x', '/openapi/{path}'],
  ['', '{path}'],
  ['https://example.com/x', '{path}'],
])('the template of the path %s is %s', (path, template) => {
  expect(toUrlTemplate(path)).toBe(template)
})

test.each([
  ['https://10.0.0.1', { 'server.address': '10.0.0.1', 'server.port': 443, 'url.full': 'https://10.0.0.1/version' }],
  ['http://[::1]:8080', { 'server.address': '::1', 'server.port': 8080, 'url.full': 'http://[::1]:8080/version' }],
  [
    'https://user:secret@api.example.com:6443/k8s/',
    {
      'server.address': 'api.example.com',
      'server.port': 6443,
      'url.full': 'https://api.example.com:6443/k8s/version',
    },
  ],
  [undefined, { 'url.path': '/version' }],
  ['nonsense', { 'url.path': '/version' }],
])('a request to the server %s has its address', (server, expected) => {
  const { attributes } = requestSpan({ method: 'GET', path: '/version', attempt: 1 }, server)
  const base = { 'http.request.method': 'GET', 'url.template': '/version' }
  expect(JSON.parse(JSON.stringify(attributes))).toEqual({ ...base, ...expected })
})

test.each([
  [200, undefined, undefined, false],
  [404, undefined, '404', true],
  [404, new Error('x'), '404', true],
  [undefined, new TypeError('x'), 'TypeError', true],
  [undefined, { problem: 'timeout' }, 'timeout', true],
  [200, { problem: 'broken' }, 'broken', true],
  [undefined, null, 'null', true],
])('a response %s with the error %s has the type %s', (code, error, type, isFailed) => {
  expect(endOfRequest(code, error)).toEqual({
    attributes: { 'http.response.status_code': code, 'error.type': type },
    isFailed,
  })
})

test.each([
  ['traceparent', true],
  ['tracestate', true],
  ['X-B3-TraceId', true],
  ['Authorization', false],
  ['impersonate-user', false],
  ['content-length', false],
  ['host', false],
])('a propagator may set the header %s: %s', (name, isAllowed) => {
  expect(isTraceHeader(name)).toBe(isAllowed)
})

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

test.each([
  [`00-${traceId}-${spanId}-01`, 1],
  [`00-${traceId}-${spanId}-00`, 0],
  [`00-${traceId}-${spanId}-ff`, 1],
])('the annotation %s is a link', (text, traceFlags) => {
  expect(toLinks(text)).toEqual([{ context: { traceId, spanId, traceFlags, isRemote: true } }])
})

test.each([
  undefined,
  null,
  7,
  {},
  '',
  'x'.repeat(55),
  `01-${traceId}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-0g`,
  `00-${traceId}-${spanId}-01-x`,
  ` 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01\n`,
])('the annotation %j is no link', (text) => {
  expect(toLinks(text)).toEqual([])
})
