/** The effects of webhook responses: denials, warnings, patches, and invalid responses. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus, failure, warningsOf } from '../../../support/expectations.ts'
import { configMap, object } from '../../../support/objects.ts'
import { patching, type Reply, type Review, reviewed, type WebhookServer } from '../../../support/webhook-server.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)

type Script = (review: Review) => Reply

/** The webhooks of this file, by path. The last two have failurePolicy Ignore. */
const paths = ['/mutate', '/validate', '/maybe-mutate', '/maybe-validate'] as const

beforeAll(async () => {
  await cluster.install({
    kind: 'Widget',
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string', default: 'bee' } } },
      },
    },
  })
  for (const path of paths) webhooks.server.on(path, allow)
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['configmaps', 'widgets'] }]
  const hook = (name: string, more: Tree = {}) => webhooks.hook(name, `/${name}`, { rules, timeoutSeconds: 1, ...more })
  const maybe = { failurePolicy: 'Ignore' }
  await webhooks.install('Mutating', 'answers', hook('mutate'), hook('maybe-mutate', maybe))
  await webhooks.install('Validating', 'answers', hook('validate'), hook('maybe-validate', maybe))
})

beforeEach(() => {
  for (const path of paths) webhooks.server.on(path, allow)
})

const answer = (path: (typeof paths)[number], script: Script) =>
  webhooks.server.on(path, ({ review }) => script(review))

const say =
  (response: Tree): Script =>
  (review) =>
    reviewed(review, response)

const send =
  (reply: Reply): Script =>
  () =>
    reply

/** A dry run, so that the name can be used again. */
const create = (): Promise<Answer> =>
  cluster.api.post(
    cluster.core('configmaps'),
    configMap({ name: 'map', finalizers: ['a.example.com/b'] }, { data: { a: '1' } }),
    { query: { dryRun: 'All' } },
  )

const createWidget = (): Promise<Answer> =>
  cluster.api.post(cluster.custom('widgets'), object(`${cluster.group}/v1`, 'Widget', 'widget', { spec: { a: 'x' } }), {
    query: { dryRun: 'All' },
  })

const seen = (path: (typeof paths)[number]): Tree => {
  const { request } = webhooks.server.reviews(path).at(-1)!
  return request['object'] as Tree
}

describe('denials', () => {
  const denied = 'admission webhook "mutate.example.com" denied the request'
  const details = { name: 'n', kind: 'k', causes: [{ reason: 'r', message: 'm', field: 'f' }], retryAfterSeconds: 3 }

  test.each<[string, Tree, [number, string, string, Tree?]]>([
    ['without a status', {}, [400, '', `${denied} without explanation`]],
    ['with a message', { status: { message: 'no' } }, [400, '', `${denied}: no`]],
    ['with a reason', { status: { reason: 'NotFound' } }, [400, 'NotFound', `${denied}: NotFound`]],
    ['with a code', { status: { code: 422 } }, [422, '', `${denied} without explanation`]],
    ['with a success code', { status: { code: 200, status: 'Success', message: 'm' } }, [400, '', `${denied}: m`]],
    [
      'with a code, a reason, a message and details',
      { status: { code: 418, reason: 'Teapot', message: 'short and stout', details } },
      [418, 'Teapot', `${denied}: short and stout`, details],
    ],
    ['with a patch', patching({ op: 'remove', path: '/data' }), [400, '', `${denied} without explanation`]],
  ])('the API server passes on the denial of a webhook %s', async (_, response, [code, reason, message, expected]) => {
    answer('/mutate', say({ allowed: false, ...response }))
    expectFailure(await create(), code, reason, message, expected)
    expect(webhooks.server.asked('/validate')).toEqual([])
  })

  test('a denial counts with failurePolicy Ignore too', async () => {
    answer('/maybe-validate', say({ allowed: false }))
    const message = 'admission webhook "maybe-validate.example.com" denied the request without explanation'
    expectFailure(await create(), 400, '', message)
  })

  test('a response without allowed is a denial', async () => {
    answer('/validate', ({ apiVersion, kind, request }) => ({
      body: { apiVersion, kind, response: { uid: request.uid } },
    }))
    const message = 'admission webhook "validate.example.com" denied the request without explanation'
    expectFailure(await create(), 400, '', message)
  })

  test('a denied request changes no object', async () => {
    const path = cluster.core('configmaps')
    const before = expectStatus(await cluster.api.post(path, configMap('kept', { data: { a: '1' } })), 201)
    answer('/validate', say({ allowed: false }))
    expectStatus(await cluster.api.mergePatch(`${path}/kept`, { data: { a: '2' } }), 400)
    expectStatus(await cluster.api.delete(`${path}/kept`), 400)
    expectStatus(await cluster.api.delete(path), 400)
    expectStatus(await cluster.api.post(path, configMap('new')), 400)
    expect(expectStatus(await cluster.api.get(`${path}/kept`), 200)).toEqual(before)
    expectStatus(await cluster.api.get(`${path}/new`), 404)
  })

  test('a denial passes on the warnings of the webhook', async () => {
    answer('/validate', say({ allowed: false, warnings: ['careful'] }))
    expect(warningsOf(await create())).toEqual(['careful'])
  })
})

test('webhook warnings are passed on once each, except those that no header can hold', async () => {
  answer('/mutate', say({ warnings: ['first', 'say "it"', 'first', 'new\nline', ''] }))
  answer('/validate', say({ warnings: ['last', 'first'] }))
  const answered = await create()
  expectStatus(answered, 201)
  expect(warningsOf(answered)).toEqual(['first', 'say "it"', 'last'])
})

test('audit annotations and unknown fields of a webhook response are ignored', async () => {
  answer('/mutate', ({ apiVersion, kind, request: { uid } }) => ({
    body: { apiVersion, kind, more: 1, response: { uid, allowed: true, more: 2, auditAnnotations: { a: 'b' } } },
  }))
  expectStatus(await create(), 201)
})

describe('invalid webhook responses', () => {
  const failed = 'failed to call webhook: '
  const invalid = 'received invalid webhook response: '
  const expected = 'expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got '
  const type =
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
  const unread = `${failed}couldn't get version/kind; json parse error: `
  const field = (given: string, name: string, wanted: string) =>
    `${failed}json: cannot unmarshal ${given} into Go struct field ${name} of type ${wanted}`
  const as =
    (fields: Tree): Script =>
    ({ apiVersion, kind, request: { uid } }) => ({
      body: { apiVersion, kind, response: { uid, allowed: true }, ...fields },
    })
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'my words', code: 418 }
  const unregistered = (kind: string, version: string) =>
    `${failed}no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`

  const both: ReadonlyArray<[string, Script, string]> = [
    ['has the uid of another request', say({ uid: 'x' }), `${invalid}expected response.uid="UID", got "x"`],
    ['has no uid', say({ uid: undefined }), `${invalid}expected response.uid="UID", got ""`],
    ['has no apiVersion and no kind', as({ apiVersion: undefined, kind: undefined }), `${invalid}${expected}/, Kind=`],
    ['has no kind', as({ kind: undefined }), `${invalid}${expected}admission.k8s.io/v1, Kind=`],
    ['is of another kind', as({ kind: 'Foo' }), unregistered('Foo', 'admission.k8s.io/v1')],
    [
      'is of a newer version',
      as({ apiVersion: 'admission.k8s.io/v2' }),
      unregistered('AdmissionReview', 'admission.k8s.io/v2'),
    ],
    [
      'is of an older version',
      as({ apiVersion: 'admission.k8s.io/v1beta1' }),
      `${failed}converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion`,
    ],
    ['has no response', as({ response: undefined }), `${invalid}webhook response was absent`],
    ['is null', send({ body: 'null' }), `${invalid}webhook response was absent`],
    ['is text', send({ body: 'hello' }), `${unread}json: cannot unmarshal string into ${type}`],
    [
      'is an HTML page',
      send({ body: '<html>', contentType: 'text/html' }),
      `${unread}json: cannot unmarshal string into ${type}`,
    ],
    ['is a list', send({ body: [] }), `${unread}json: cannot unmarshal array into ${type}`],
    ['is incomplete JSON', send({ body: '{' }), `${unread}unexpected end of JSON input`],
    [
      'has an empty body',
      send({ body: '' }),
      `${failed}0-length response with status code: 200 and content type: application/json`,
    ],
    [
      'has the status 204',
      send({ status: 204 }),
      `${failed}0-length response with status code: 204 and content type: application/json`,
    ],
    ['has text for allowed', say({ allowed: 'yes' }), field('string', 'AdmissionResponse.response.allowed', 'bool')],
    [
      'has text for the status',
      say({ status: 'no' }),
      field('string', 'AdmissionResponse.response.status', 'v1.Status'),
    ],
    [
      'has text for the status code',
      say({ status: { code: '403' } }),
      field('string', 'Status.response.status.code', 'int32'),
    ],
    [
      'has text for the warnings',
      say({ warnings: 'a' }),
      field('string', 'AdmissionResponse.response.warnings', '[]string'),
    ],
    [
      'has numbers for warnings',
      say({ warnings: [1] }),
      field('number', 'AdmissionResponse.response.warnings', 'string'),
    ],
    [
      'has numbers for audit annotations',
      say({ auditAnnotations: { a: 1 } }),
      field('number', 'AdmissionResponse.response.auditAnnotations', 'string'),
    ],
    [
      'has text for the response',
      as({ response: 'x' }),
      field('string', 'AdmissionReview.response', 'v1.AdmissionResponse'),
    ],
    [
      'has an object for the patch',
      say({ patch: { a: 1 } }),
      field('object', 'AdmissionResponse.response.patch', '[]uint8'),
    ],
    ['has a patch that is not base64', say({ patch: '!!' }), `${failed}illegal base64 data at input byte 0`],
    [
      'has the status 500',
      send({ status: 500, contentType: 'text/plain', body: 'broken "x"\n' }),
      `${failed}an error on the server ("broken \\"x\\"") has prevented the request from succeeding`,
    ],
    [
      'has the status 500 and an unknown JSON body',
      send({ status: 500, body: { error: 'x' } }),
      `${failed}an error on the server ("unknown") has prevented the request from succeeding`,
    ],
    ['has the status 500 and a Status', send({ status: 500, body: status }), `${failed}my words`],
    [
      'is a Status',
      send({ body: status }),
      `${failed}converting (v1.Status) to (v1.AdmissionReview): unknown conversion`,
    ],
    ['has the status 403', send({ status: 403, contentType: 'text/plain', body: 'go away' }), `${failed}go away`],
    ['has the status 404', send({ status: 404 }), `${failed}the server could not find the requested resource`],
    [
      'is a redirect',
      send({ status: 302 }),
      `${failed}the server responded with the status code 302 but did not return more information`,
    ],
    [
      'has the status 429',
      send({ status: 429 }),
      `${failed}the server has received too many requests and has asked us to try again later`,
    ],
    ['has the status 503', send({ status: 503 }), `${failed}the server is currently unable to handle the request`],
    ['breaks off with the connection', send({ instead: 'break' }), `${failed}Post "URL": EOF`],
    ['does not come within the timeout', send({ instead: 'hang' }), `${failed}Post "URL": context deadline exceeded`],
  ]

  const words = (
    { server }: { readonly server: WebhookServer },
    path: (typeof paths)[number],
    message: string,
  ): string => {
    const uid = String(server.reviews(path).at(-1)!.request.uid)
    const name = `${path.slice(1)}.example.com`
    const text = message.replaceAll('UID', uid).replaceAll('URL', `${server.url(path)}?timeout=1s`)
    return `failed calling webhook "${name}": ${text}`
  }

  const expectFailed = (answered: Answer, path: (typeof paths)[number], message: string): void => {
    const full = words(webhooks, path, message)
    expect(answered.body).toEqual(
      failure(500, 'InternalError', `Internal error occurred: ${full}`, { causes: [{ message: full }] }),
    )
  }

  test.each(both)(
    'a webhook response that %s fails the request, except with failurePolicy Ignore',
    async (_, script, message) => {
      for (const path of ['/mutate', '/validate'] as const) {
        answer(path, script)
        expectFailed(await create(), path, message)
        webhooks.server.on(path, allow)
      }
      answer('/maybe-mutate', script)
      answer('/maybe-validate', script)
      expectStatus(await create(), 201)
    },
  )

  const undecodable = 'received undecodable patch in webhook response: '
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const json = (patch: string, patchType = 'JSONPatch') => say({ patchType, patch: base64(patch) })

  test.each<[string, Script, string]>([
    [
      'has a patch without a patchType',
      say({ patch: base64('[]') }),
      `${invalid}webhook returned response.patch but not response.patchType`,
    ],
    [
      'has a patchType without a patch',
      say({ patchType: 'JSONPatch' }),
      `${invalid}webhook returned response.patchType but not response.patch`,
    ],
    ['has an empty patchType', json('[{}]', ''), `${invalid}webhook returned invalid response.patchType of ""`],
    ['has an unknown patchType', json('[{"op":"remove","path":"/data"}]', 'Merge'), 'unsupported patch type "Merge"'],
    [
      'has a patch that is not JSON',
      json('hello'),
      `${undecodable}invalid character 'h' looking for beginning of value`,
    ],
    [
      'has a patch that is not a list',
      json('{}'),
      `${undecodable}json: cannot unmarshal object into Go value of type jsonpatch.Patch`,
    ],
    [
      'has numbers in its patch',
      json('[1]'),
      `${undecodable}json: cannot unmarshal number into Go value of type jsonpatch.Operation`,
    ],
  ])(
    'a mutating webhook response that %s fails the request, except with failurePolicy Ignore',
    async (_, script, message) => {
      answer('/mutate', script)
      expectFailed(await create(), '/mutate', message)
      webhooks.server.on('/mutate', allow)
      answer('/maybe-mutate', script)
      expectStatus(await create(), 201)
    },
  )

  test('a validating webhook that returns a patch or a patchType fails the request', async () => {
    answer('/validate', say(patching({ op: 'remove', path: '/data' })))
    expectFailed(await create(), '/validate', `${invalid}validating webhook may not return response.patch`)
    answer('/validate', say({ patchType: 'JSONPatch' }))
    expectFailed(await create(), '/validate', `${invalid}validating webhook may not return response.patchType`)
  })
})

describe('patches of mutating webhooks', () => {
  test('the patch of a mutating webhook is applied, and the result is decoded again without unknown fields', async () => {
    answer(
      '/mutate',
      say(patching({ op: 'add', path: '/data/new', value: 'x' }, { op: 'add', path: '/spec', value: {} })),
    )
    expect(expectStatus(await create(), 201)['data']).toEqual({ a: '1', new: 'x' })
    for (const path of ['/maybe-mutate', '/validate'] as const) {
      expect(seen(path)).toMatchObject({ data: { a: '1', new: 'x' } })
      expect(seen(path)).not.toHaveProperty('spec')
    }
  })

  test('a patched custom resource gets defaults again, and keeps unknown fields until it is stored', async () => {
    answer('/mutate', say(patching({ op: 'replace', path: '/spec', value: { stranger: 1 } })))
    expect(expectStatus(await createWidget(), 201).spec).toEqual({ b: 'bee' })
    expect(seen('/validate')['spec']).toEqual({ b: 'bee', stranger: 1 })
  })

  test('an empty patch of a webhook changes nothing', async () => {
    for (const patch of ['[]', 'null']) {
      answer('/mutate', say({ patchType: 'JSONPatch', patch: Buffer.from(patch).toString('base64') }))
      expect(expectStatus(await create(), 201)['data']).toEqual({ a: '1' })
    }
  })

  test('the patch of a webhook can change the name of a new object, but not its namespace', async () => {
    answer('/mutate', say(patching({ op: 'replace', path: '/metadata/name', value: 'other' })))
    expect(expectStatus(await create(), 201).metadata.name).toBe('other')
    answer('/mutate', say(patching({ op: 'replace', path: '/metadata/namespace', value: 'default' })))
    const message = 'the namespace of the provided object does not match the namespace sent on the request'
    expectFailure(await create(), 400, 'BadRequest', message)
  })

  test('the patch of a webhook cannot set the uid of an object', async () => {
    answer('/mutate', say(patching({ op: 'add', path: '/metadata/uid', value: 'mine' })))
    expect(expectStatus(await create(), 201).metadata.uid).not.toBe('mine')
  })

  test('the API server answers 422 when the patch of a webhook makes the object invalid', async () => {
    answer('/mutate', say(patching({ op: 'replace', path: '/metadata/name', value: 'Not Good' })))
    expect((await create()).body).toMatchObject({ code: 422, reason: 'Invalid', details: { name: 'Not Good' } })
    answer('/mutate', say(patching({ op: 'add', path: '/spec/a', value: 5 })))
    expect((await createWidget()).body).toMatchObject({ code: 422, reason: 'Invalid', details: { name: 'widget' } })
    expect(webhooks.server.asked('/validate')).toEqual([])
  })

  test('duplicate owner references in the patch of a webhook are stored once, with a warning', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }
    answer('/mutate', say(patching({ op: 'add', path: '/metadata/ownerReferences', value: [owner, owner] })))
    const answered = await create()
    expect(expectStatus(answered, 201).metadata.ownerReferences).toEqual([owner])
    expect(warningsOf(answered)).toEqual([
      expect.stringContaining('duplicate entries after mutating admission happens'),
    ])
  })

  const missing = 'missing value'
  const index = "error in add for path: '/metadata/finalizers"
  test.each<[Tree, string]>([
    [{ op: 'test', path: '/data/a', value: 'z' }, 'testing value /data/a failed: test failed'],
    [{ op: 'test', path: '/zip/a', value: 'z' }, `test operation does not apply: is missing path: /zip/a: ${missing}`],
    [
      { op: 'remove', path: '/zip' },
      `error in remove for path: '/zip': Unable to remove nonexistent key: zip: ${missing}`,
    ],
    [
      { op: 'remove', path: '/zip/zap' },
      `remove operation does not apply: doc is missing path: "/zip/zap": ${missing}`,
    ],
    [
      { op: 'add', path: '/zip/zap', value: 1 },
      `add operation does not apply: doc is missing path: "/zip/zap": ${missing}`,
    ],
    [{ op: 'add', path: '', value: {} }, `add operation does not apply: doc is missing path: "": ${missing}`],
    [{ op: 'add', value: 1 }, `add operation failed to decode path: ${missing}`],
    [
      { op: 'add', path: '/metadata/finalizers/5', value: 'x' },
      `${index}/5': Unable to access invalid index: 5: invalid index referenced`,
    ],
    [
      { op: 'add', path: '/metadata/finalizers/x', value: 'x' },
      `${index}/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { op: 'remove', path: '/metadata/finalizers/x' },
      `error in remove for path: '/metadata/finalizers/x': strconv.Atoi: parsing "x": invalid syntax`,
    ],
    [
      { op: 'replace', path: '/zip/zap', value: 1 },
      `replace operation does not apply: doc is missing path: /zip/zap: ${missing}`,
    ],
    [
      { op: 'move', from: '/zip/zap', path: '/data/x' },
      `move operation does not apply: doc is missing from path: /zip/zap: ${missing}`,
    ],
    [
      { op: 'move', from: '/data/a', path: '/zip/x' },
      `move operation does not apply: doc is missing destination path: /zip/x: ${missing}`,
    ],
    [
      { op: 'copy', from: '/zip/zap', path: '/data/x' },
      `copy operation does not apply: doc is missing from path: /zip/zap: ${missing}`,
    ],
    [{ op: 'frob', path: '/data' }, 'Unexpected kind: frob'],
    [{ path: '/data' }, 'Unexpected kind: unknown'],
    [
      { op: 'add', path: '/data', value: 5 },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      { op: 'replace', path: '/apiVersion', value: 'v9' },
      'no kind "ConfigMap" is registered for version "v9" in scheme "pkg/runtime/scheme.go:111"',
    ],
  ])(
    'a webhook patch that does not apply is an internal error even with failurePolicy Ignore: %j',
    async (operation, message) => {
      answer('/maybe-mutate', say(patching(operation)))
      const details = { causes: [{ message }] }
      expectFailure(await create(), 500, 'InternalError', `Internal error occurred: ${message}`, details)
    },
  )

  test('the patch of a webhook cannot change the kind or the apiVersion of a custom resource', async () => {
    answer('/mutate', say(patching({ op: 'replace', path: '/kind', value: 'Gadget' })))
    expect((await createWidget()).body).toMatchObject({ code: 422, details: { causes: [{ field: 'kind' }] } })
    answer('/mutate', say(patching({ op: 'replace', path: '/apiVersion', value: 'v9' })))
    const message = `/v9, Kind=Widget is unstructured and is not suitable for converting to "${cluster.group}/v1"`
    expectFailure(await createWidget(), 500, '', message)
  })

  test('a webhook patch for a deletion is an internal error', async () => {
    const path = `${cluster.core('configmaps')}/deleted`
    expectStatus(await cluster.api.post(cluster.core('configmaps'), configMap('deleted')), 201)
    answer('/mutate', say(patching({ op: 'remove', path: '/data' })))
    const message =
      'admission webhook "mutate.example.com" attempted to modify the object, which is not supported for this operation'
    const details = { causes: [{ message }] }
    expectFailure(await cluster.api.delete(path), 500, 'InternalError', `Internal error occurred: ${message}`, details)
    expectStatus(await cluster.api.get(path), 200)
  })
})
