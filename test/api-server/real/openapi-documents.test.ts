/** The OpenAPI documents of the embedded server, compared with the real API server. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Tree } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { crd, installCrd } from '../../support/crds.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'

const group = 'openapi.example.com'
const nested = { type: 'object', properties: { one: { type: 'string' }, two: { type: 'string' } } }

/** Schema features that OpenAPI v2 cannot express. */
const spec: Tree = {
  description: 'What is wished.',
  type: 'object',
  required: ['size', 'maybe'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 9.5, description: 'How large' },
    colour: { type: 'string', enum: ['red', 'blue'], default: 'red', minLength: 2, pattern: '^[a-z]+$' },
    maybe: { type: 'string', nullable: true },
    anything: { 'x-kubernetes-preserve-unknown-fields': true },
    open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
    port: { 'x-kubernetes-int-or-string': true },
    choice: { ...nested, oneOf: [{ required: ['one'] }, { required: ['two'] }] },
    list: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    },
    map: { type: 'object', additionalProperties: { type: 'integer', nullable: true } },
    embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
    template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  },
}
const version = (name: string, openAPIV3Schema: Tree): Tree => ({
  name,
  served: true,
  storage: name === 'v1',
  subresources: { status: {} },
  schema: { openAPIV3Schema },
})
const definition = crd({
  group,
  kind: 'Probe',
  versions: [
    version('v1', { description: 'A probe.', type: 'object', required: ['spec'], properties: { spec } }),
    version('v2', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
  ],
})

let embeddedServer: RunningServer
let real: Api
let embedded: Api

beforeAll(async () => {
  const { url, caPem, admin } = inject('realCluster')
  embeddedServer = await startServer()
  real = new Api({ url, caPem, credentials: admin })
  const credentials = { token: embeddedServer.token! }
  embedded = new Api({ url: embeddedServer.url, caPem: embeddedServer.ca!, credentials })
  for (const api of [real, embedded]) await installCrd(api, definition)
  // The real API server publishes the schema of a CRD some time after it is established.
  await eventually(async () => {
    const { definitions } = await read(real, '/openapi/v2')
    expect(definitions).toHaveProperty(['com.example.openapi.v2.Probe'])
  })
})

afterAll(async () => {
  await real.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/probes.${group}`)
  real.close()
  embedded.close()
  await embeddedServer.stop()
})

async function read(api: Api, path: string): Promise<Record<string, Tree>> {
  const answer = await api.get(path)
  expectStatus(answer, 200)
  // Both servers send the index with the content type text/plain.
  return JSON.parse(answer.text) as Record<string, Tree>
}

/** Without DeleteOptions, which name a kind in every served group: the real API server serves more groups. */
function known(schemas: Tree, among: Tree): Tree {
  const { 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions': _, ...rest } = schemas
  return Object.fromEntries(Object.keys(rest).map((name) => [name, among[name]]))
}

test('OpenAPI v3 of the embedded server has the schemas of the real API server', async () => {
  const { paths } = (await read(embedded, '/openapi/v3')) as { paths: Tree }
  expect(Object.keys(paths).length).toBeGreaterThan(15)
  for (const path of Object.keys(paths)) {
    const own = (await read(embedded, `/openapi/v3/${path}`))['components']!['schemas'] as Tree
    const others = (await read(real, `/openapi/v3/${path}`))['components']!['schemas'] as Tree
    expect(known(own, own)).toEqual(known(own, others))
  }
})

test('OpenAPI v2 of the embedded server has the schemas of the real API server, and no other paths', async () => {
  const own = await read(embedded, '/openapi/v2')
  const others = await read(real, '/openapi/v2')
  expect(Object.keys(own['definitions']!).length).toBeGreaterThan(400)
  expect(known(own['definitions']!, own['definitions']!)).toEqual(known(own['definitions']!, others['definitions']!))
  expect(Object.keys(own['paths']!).filter((path) => !(path in others['paths']!))).toEqual([])
})

test.each([
  ['application/json', 200, 'application/json'],
  ['*/*', 200, 'application/json'],
  [
    'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    200,
    'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  ],
  ['text/html', 406, undefined],
])('OpenAPI v2 is sent in the accepted media type: %s', async (accept, status, contentType) => {
  for (const api of [real, embedded]) {
    const answer = await api.get('/openapi/v2', undefined, { accept })
    expect([answer.status, answer.headers['content-type']]).toEqual([status, contentType])
  }
})

test.each(['/openapi/v2', '/openapi/v3', `/openapi/v3/apis/${group}/v1`])(
  'the document %s is answered with 304 to its ETag until a CRD changes it',
  async (path) => {
    const { headers } = await embedded.get(path)
    const asked = { headers: { 'if-none-match': headers['etag']! } }
    expect((await embedded.get(path, undefined, asked)).status).toBe(304)
    const description = `Changed for ${path}`
    const crdPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/probes.${group}`
    const at = '/spec/versions/0/schema/openAPIV3Schema/description'
    expectStatus(await embedded.jsonPatch(crdPath, [{ op: 'replace', path: at, value: description }]), 200)
    const changed = await embedded.get(path, undefined, asked)
    expect(changed.status).toBe(200)
    if (path !== '/openapi/v3') expect(changed.text).toContain(description)
  },
)
