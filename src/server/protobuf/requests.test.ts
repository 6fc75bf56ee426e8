import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ApiServer } from '../api-server.ts'

interface Recorded {
  readonly command: string
  readonly method: string
  readonly path: string
  readonly body: string
  readonly printed?: object
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

const protobuf = 'application/vnd.kubernetes.protobuf'
const recorded = JSON.parse(readFileSync(new URL('testdata/kubectl.json', import.meta.url), 'utf8')) as Recorded[]

async function send(
  server: ApiServer,
  method: string,
  path: string,
  body: object | string,
  contentType = protobuf,
): Promise<Answer> {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const headers = { 'content-type': contentType, accept: `${protobuf},application/json` }
  const answer = await server.send({ method, path, headers, body: sent as string | Uint8Array })
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  return { status: answer.status, body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown> }
}

const sentBy = (command: string): Buffer =>
  Buffer.from(recorded.find((entry) => entry.command.startsWith(command))!.body, 'base64')

/** The parts of a response that do not depend on the server instance. */
function comparable({ status, body }: Answer): unknown {
  const text = JSON.stringify(body, (key, value) => (/^(uid|clusterIPs?)$|-uid$/.test(key) ? '?' : value))
  return { status, text: text.replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/g, '"now"') }
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const things = '/apis/example.com/v1/namespaces/default/things'

async function serverWithThing(): Promise<ApiServer> {
  const server = new ApiServer()
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { scale } }
  const spec = {
    group: 'example.com',
    names: { plural: 'things', kind: 'Thing' },
    scope: 'Namespaced',
    versions: [version],
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec,
  }
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await send(server, 'POST', path, definition, 'application/json')
  const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'one' }, spec: { replicas: 1 } }
  expect((await send(server, 'POST', things, thing, 'application/json')).status).toBe(201)
  return server
}

const created = recorded.filter(({ printed }) => printed !== undefined)

test.each(created)(
  'a body in protobuf is as good as one in JSON: $command',
  async ({ method, path, body, printed }) => {
    const answer = await send(new ApiServer(), method, path, Buffer.from(body, 'base64'))
    expect(answer.status).toBe(201)
    const other = await send(new ApiServer(), method, path, printed!, 'application/json')
    expect(comparable(answer)).toEqual(comparable(other))
  },
)

test('a question in protobuf is answered', async () => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const answer = await send(new ApiServer(), 'POST', path, sentBy('auth can-i list'))
  expect(answer).toMatchObject({ status: 201, body: { status: { allowed: true } } })
})

describe('delete options in protobuf', () => {
  const options = sentBy('drain')

  test('are read for built-in kinds', async () => {
    const server = new ApiServer()
    await send(server, 'POST', configMaps, sentBy('create configmap'))
    // Truncated inside the grace period.
    const cut = Buffer.concat([Buffer.from('k8s\0'), Buffer.from([0x0a, 0x00, 0x12, 0x01, 0x08])])
    const refused = await send(server, 'DELETE', `${configMaps}/words`, cut)
    expect(refused).toMatchObject({ status: 400, body: { message: 'unexpected EOF' } })
    expect((await send(server, 'DELETE', `${configMaps}/words`, options)).status).toBe(200)
  })

  test('are read for custom resources too', async () => {
    const server = await serverWithThing()
    expect((await send(server, 'DELETE', `${things}/one`, options)).status).toBe(200)
  })
})

describe('custom resources in protobuf', () => {
  const message = 'the body of the request was in an unknown format - accepted media types include:'

  test.each([
    [protobuf, `${message} application/json, application/yaml`],
    ['text/plain', `${message} application/json, application/yaml, ${protobuf}`],
  ])('are refused: %s', async (contentType, expected) => {
    const server = await serverWithThing()
    const answer = await send(server, 'POST', things, sentBy('create configmap'), contentType)
    expect(answer).toMatchObject({ status: 415, body: { reason: 'UnsupportedMediaType', message: expected } })
  })

  test('can be scaled', async () => {
    const type = Buffer.from('\x0a\x0eautoscaling/v1\x12\x05Scale')
    const raw = Buffer.from('\x0a\x05\x0a\x03one\x12\x02\x08\x07')
    const envelope = [Buffer.from(`k8s\0\x0a${String.fromCharCode(type.length)}`), type, Buffer.from('\x12\x0b'), raw]
    const answer = await send(await serverWithThing(), 'PUT', `${things}/one/scale`, Buffer.concat(envelope))
    expect(answer).toMatchObject({ status: 200, body: { spec: { replicas: 7 } } })
  })
})

describe('a body that cannot be read', () => {
  const type = '\x0a\x0f\x0a\x02v1\x12\x09ConfigMap'
  const prefix = 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'
  const unrecognized = 'the object provided is unrecognized (must be of type ConfigMap):'
  const cannot = 'ConfigMap in version "v1" cannot be handled as a ConfigMap:'

  test.each([
    ['', `${unrecognized} empty data (<empty>)`],
    ['{"a":1}', `${unrecognized} ${prefix} ({"a":1})`],
    ['hello', `${unrecognized} ${prefix} (68656c6c6f)`],
    ['hello world, this is a long text', `${unrecognized} ${prefix} (${hex('hello world, this is a long te')} ...)`],
    ['k8s\0', `${unrecognized} empty body (6b387300)`],
    ['k8s\0\x0a\x50', `${unrecognized} unexpected EOF (6b3873000a50)`],
    [`k8s\0${type}\x12\x02\x0a\x50`, `${cannot} unexpected EOF`],
    [`k8s\0${type}\x12\x02\x08\x50`, `${cannot} proto: wrong wireType = 0 for field ObjectMeta`],
    [
      'k8s\0\x0a\x09\x0a\x02v1\x12\x03Foo',
      'Foo in version "v1" cannot be handled as a ConfigMap: ' +
        'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret',
      'Secret in version "v1" cannot be handled as a ConfigMap: ' +
        'converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
  ])('is refused in the words of the real server: %j', async (text, message) => {
    const answer = await send(new ApiServer(), 'POST', configMaps, Buffer.from(text))
    expect(answer).toMatchObject({ status: 400, body: { reason: 'BadRequest', message } })
  })

  function hex(text: string): string {
    return Buffer.from(text).toString('hex')
  }
})
