/** Hostile requests: the server answers each of them, other clients are not affected, and the server goes on. */
import fc from 'fast-check'
import { ApiServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { anything, crd, crdsPath } from '../../../support/crds.ts'
import { ask, InProcessWatch, type Question, type Reply } from '../../../support/in-process.ts'
import { configMap } from '../../../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'
const widgets = '/apis/example.com/v1/namespaces/default/widgets'

let api: ApiServer

beforeEach(async () => {
  api = new ApiServer()
  const schema = { type: 'object', properties: { spec: anything, status: anything } }
  await ask(api, 'POST', crdsPath, {
    body: crd({ group: 'example.com', kind: 'Widget', schema, subresources: { status: {} } }),
  })
  await ask(api, 'POST', path, { body: configMap('a', { data: { key: 'value' } }) })
  await ask(api, 'POST', widgets, { body: widget('w', { key: 'value' }) })
})

afterEach(async () => {
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect((await ask(api, 'GET', `${path}/a`)).status).toBe(200)
  expect((await ask(api, 'GET', '/apis/example.com/v1/widgets')).status).toBe(200)
})

function widget(name: string, spec: unknown): object {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec }
}

/** A widget as text, for contents that JSON.stringify cannot write. */
const rawWidget = (spec: string) =>
  `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":${spec}}`

/** Sends any request, and expects a valid response. Watches are not read to their end. */
async function provoke(method: string, target: string, question: Question = {}): Promise<Reply> {
  const stop = new AbortController()
  const isWatch = method === 'GET' || method === 'HEAD'
  const reply = ask(api, method, target, { ...question, signal: stop.signal })
  if (isWatch) setImmediate(() => stop.abort())
  return reply
}

function expectSound({ status, headers, text }: Reply): void {
  expect(status).toBeGreaterThanOrEqual(200)
  // An internal error is a bug.
  expect(text).not.toContain('Internal error occurred')
  expect(status).toBeLessThan(600)
  expect(String(headers['content-type'])).toMatch(/^(application|text)\//)
  expect(text).not.toMatch(/\n\s+at .*\(|node:internal/)
}

describe('depth', () => {
  const formats = [
    'application/json',
    'application/yaml',
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/strategic-merge-patch+json',
  ]
  const deep: ReadonlyArray<[string, (depth: number) => string]> = [
    ['lists', (depth) => '['.repeat(depth) + ']'.repeat(depth)],
    ['objects', (depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`],
    ['lists without an end', (depth) => '['.repeat(depth)],
  ]

  test.each(deep)('the server refuses more than 10,000 levels of nested %s', async (_, nested) => {
    for (const depth of [10_001, 20_000, 500_000]) {
      const { status, body } = await ask(api, 'POST', widgets, { body: rawWidget(nested(depth)) })
      expect(status).toBe(400)
      expect(body['message']).toMatch(/invalid character '[[{]' exceeded max depth/)
    }
  })

  test('an object of 9,900 levels is stored, read and changed', async () => {
    const nested = `${'{"a":'.repeat(9900)}1${'}'.repeat(9900)}`
    const url = `${widgets}/x`
    expect((await ask(api, 'POST', widgets, { body: rawWidget(nested) })).status).toBe(201)
    for (const query of ['', '?pretty=true']) {
      expect((await ask(api, 'GET', url + query)).text.includes(`"spec":${nested}`)).toBe(true)
    }
    const yaml = await ask(api, 'GET', url, { headers: { accept: 'application/yaml' } })
    expect([yaml.status, yaml.text.includes('kind: Widget\n')]).toEqual([200, true])
    expect((await ask(api, 'PATCH', url, { body: `{"spec":${nested.replace('1', '2')}}` })).status).toBe(200)
    expect((await ask(api, 'DELETE', url)).status).toBe(200)
  })

  test.each(formats.flatMap((format) => deep.map(([name, nested]) => [format, name, nested] as const)))(
    'nested content in %s as %s does not affect other requests',
    async (format, _, nested) => {
      for (const depth of [1900, 9000, 100_000]) {
        const text = nested(depth)
        const headers = { 'content-type': format }
        for (const body of [
          text,
          rawWidget(text),
          `{"spec":${text}}`,
          `[{"op":"add","path":"/spec","value":${text}}]`,
        ]) {
          for (const [method, url] of [
            ['POST', widgets],
            ['PATCH', `${widgets}/w`],
            ['PATCH', `${path}/a`],
            ['PUT', `${widgets}/w`],
            ['DELETE', `${widgets}/missing`],
          ] as const) {
            expectSound(await ask(api, method, url, { body, headers }))
          }
        }
      }
    },
  )

  test('JSON patches that add levels beyond the limit are refused', async () => {
    const headers = { 'content-type': 'application/json-patch+json' }
    const url = `${widgets}/w`
    let place = '/spec'
    for (let round = 0; round < 14; round += 1) {
      // Each operation copies the spec under its own leaf, and so doubles the depth.
      const operations = [{ op: 'copy', from: '/spec', path: `${place}/a` }]
      const { status, text } = await ask(api, 'PATCH', url, { body: operations, headers })
      expect(status, text).toBeLessThan(500)
      if (status !== 200) break
      place = `${place}${'/a'.repeat(2 ** round)}`
    }
    expect((await ask(api, 'GET', url)).status).toBe(200)
  })
})

describe('size', () => {
  test('a JSON patch that copies beyond the size limit is refused', async () => {
    const operations = [
      { op: 'add', path: '/spec', value: { a: 'x'.repeat(1000) } },
      ...Array.from({ length: 40 }, (_, index) => ({ op: 'copy', from: '/spec', path: `/spec/b${index}` })),
    ]
    const headers = { 'content-type': 'application/json-patch+json' }
    const { status } = await ask(api, 'PATCH', `${widgets}/w`, { body: operations, headers })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  test('YAML aliases that expand beyond the size limit are refused', async () => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x]']
    for (let index = 1; index < 12; index += 1) {
      lines.push(
        `a${index}: &a${index} [${Array(9)
          .fill(`*a${index - 1}`)
          .join(',')}]`,
      )
    }
    const answer = await ask(api, 'POST', path, {
      body: lines.join('\n'),
      headers: { 'content-type': 'application/yaml' },
    })
    expect(answer.status).toBe(400)
  })

  test('a key or a value of a million characters is answered', async () => {
    const key = 'k'.repeat(1_000_000)
    expectSound(await ask(api, 'POST', widgets, { body: widget('huge', { [key]: key }) }))
    expectSound(await ask(api, 'POST', path, { body: configMap('huge', { [key]: 1 }) }))
    expectSound(await ask(api, 'POST', path, { body: configMap(key) }))
    expectSound(await ask(api, 'GET', `${path}/${key}`))
    expectSound(await ask(api, 'GET', `${path}?labelSelector=${key}`))
    expectSound(await ask(api, 'GET', `${path}?continue=${key}`))
  })

  test('a long selector is parsed quickly', async () => {
    const many = Array.from({ length: 20_000 }, (_, index) => `k${index} in (a,b)`).join(',')
    expectSound(await ask(api, 'GET', `${path}?labelSelector=${encodeURIComponent(many)}`))
    expectSound(await ask(api, 'GET', `${path}?labelSelector=${encodeURIComponent('('.repeat(100_000))}`))
    expectSound(await ask(api, 'GET', `${path}?fieldSelector=${encodeURIComponent('\\'.repeat(100_001))}`))
  })
})

describe('keys that are JavaScript properties', () => {
  const keys = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    'then',
    'toJSON',
    'length',
  ]

  test.each(keys)('the key %s is stored like any other key', async (key) => {
    const spec = `{"${key}":{"polluted":true,"${key}":{"polluted":1}}}`
    const url = `${widgets}/x`
    expect((await ask(api, 'POST', widgets, { body: rawWidget(spec) })).status).toBe(201)
    expect((await ask(api, 'GET', url)).text).toContain(`"spec":${spec}`)
    const patched = await ask(api, 'PATCH', url, { body: `{"spec":{"${key}":{"more":1}}}` })
    expect(patched.text).toContain('"more":1')
    const headers = { 'content-type': 'application/json-patch+json' }
    const operation = `[{"op":"add","path":"/spec/${key}/polluted","value":"yes"}]`
    expect((await ask(api, 'PATCH', url, { body: operation, headers })).text).toContain('"polluted":"yes"')
    expectSound(
      await ask(api, 'PATCH', `${path}/a`, { body: `{"${key}":{"polluted":1},"metadata":{"${key}":{"polluted":1}}}` }),
    )
  })

  test.each(keys)('the key %s works as a label, as data and as a name', async (key) => {
    const body = `{"metadata":{"name":"x","labels":{"${key}":"v"},"annotations":{"${key}":"v"}},"data":{"${key}":"v"}}`
    const { status, text } = await ask(api, 'POST', path, { body })
    expect(status).toBe(key === '__proto__' ? 422 : 201)
    if (status === 201) {
      expect(text).toContain(`"data":{"${key}":"v"}`)
      const { body: found } = await ask(api, 'GET', `${path}?labelSelector=${key}%3Dv`)
      expect(found['items']).toHaveLength(1)
    }
    for (const url of [
      `/api/v1/${key}`,
      `/apis/${key}/v1/${key}`,
      `/api/${key}`,
      `/apis/${key}`,
      `${path}/${key}`,
      `${path}/a/${key}`,
      `/${key}`,
    ]) {
      expect((await ask(api, 'GET', url)).status).toBe(404)
    }
    expectSound(await ask(api, 'GET', `${path}?${key}=1&labelSelector=${key}&fieldSelector=${key}%3D1`))
    expectSound(await ask(api, 'POST', path, { body: `{"kind":{"${key}":1},"apiVersion":{"${key}":null}}` }))
    expectSound(
      await ask(api, 'DELETE', `${path}/missing`, {
        body: `{"kind":{"${key}":1},"dryRun":[{"${key}":1}],"preconditions":"${key}"}`,
      }),
    )
  })

  test.each([
    'selfsubjectaccessreviews',
    'subjectaccessreviews',
    'localsubjectaccessreviews',
    'selfsubjectrulesreviews',
  ])('%s answers requests whose keys are JavaScript properties', async (plural) => {
    const scope = plural.startsWith('local') ? '/namespaces/default' : ''
    for (const spec of [
      'null',
      '5',
      '"x"',
      '[]',
      '{"groups":[{"toString":1}]}',
      '{"user":{"toString":1}}',
      '{"resourceAttributes":{"toString":1}}',
    ]) {
      const url = `/apis/authorization.k8s.io/v1${scope}/${plural}`
      expectSound(await ask(api, 'POST', url, { body: `{"spec":${spec}}` }))
    }
    for (const spec of ['null', '5', '{"token":{"toString":1}}', '{"token":5}']) {
      expectSound(await ask(api, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: `{"spec":${spec}}` }))
    }
  })
})

describe('text', () => {
  test.each<[string, string | Uint8Array]>([
    ['no characters', ''],
    ['a NUL', '\0'],
    ['half a surrogate pair', '{"metadata":{"name":"\ud800"},"data":{"k":"\\udfff"}}'],
    ['a NUL in a name', '{"metadata":{"name":"a\\u0000b"}}'],
    ['a NUL in a value', '{"metadata":{"name":"nul"},"data":{"k":"\\u0000"}}'],
    ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    [
      'invalid UTF-8 in a name',
      Buffer.concat([Buffer.from('{"metadata":{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}}')]),
    ],
    ['a byte order mark', '\ufeff{"metadata":{"name":"bom"}}'],
    ['numbers out of range', '{"metadata":{"name":"n","generation":1e999},"x":-1e999}'],
    ['numbers of ten thousand digits', `{"metadata":{"name":"n","generation":${'9'.repeat(10_000)}}}`],
    ['malformed protobuf', Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(100, 0xff)])],
  ])('the server answers a body of %s', async (_, body) => {
    for (const contentType of [
      'application/json',
      'application/yaml',
      'application/vnd.kubernetes.protobuf',
      'text/plain',
    ]) {
      const headers = { 'content-type': contentType }
      expectSound(await ask(api, 'POST', path, { body, headers }))
      expectSound(await ask(api, 'POST', widgets, { body, headers }))
      expectSound(
        await ask(api, 'PATCH', `${path}/a`, { body, headers: { 'content-type': 'application/merge-patch+json' } }),
      )
      expectSound(
        await ask(api, 'PATCH', `${path}/a`, { body, headers: { 'content-type': 'application/json-patch+json' } }),
      )
      expectSound(await ask(api, 'DELETE', `${path}/missing`, { body, headers }))
    }
  })
})

describe('random requests', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'api',
      'apis',
      'v1',
      'namespaces',
      'default',
      'configmaps',
      'a',
      'widgets',
      'w',
      'example.com',
      'watch',
      'status',
      'scale',
      'pods',
      'exec',
      '',
      '.',
      '..',
      '%2e',
      '%',
      '%zz',
      '%00',
      '*',
      '__proto__',
      'customresourcedefinitions',
      'apiextensions.k8s.io',
    ),
    fc.string({ maxLength: 10, unit: 'binary' }),
  )
  const known = fc.constantFrom(
    path,
    `${path}/a`,
    widgets,
    `${widgets}/w`,
    `${widgets}/w/status`,
    crdsPath,
    `${crdsPath}/widgets.example.com`,
    '/api/v1/namespaces',
    '/openapi/v3',
    '/apis',
    '/version',
  )
  const target = fc.oneof(
    known,
    fc.array(word, { maxLength: 9 }).map((words) => `/${words.join('/')}`),
  )
  const parameter = fc.tuple(
    fc.oneof(
      fc.constantFrom(
        'watch',
        'limit',
        'continue',
        'resourceVersion',
        'resourceVersionMatch',
        'labelSelector',
        'fieldSelector',
        'timeoutSeconds',
        'dryRun',
        'fieldManager',
        'fieldValidation',
        'pretty',
        'sendInitialEvents',
        'allowWatchBookmarks',
        'propagationPolicy',
        'gracePeriodSeconds',
        'force',
        'includeObject',
        '__proto__',
      ),
      fc.string({ maxLength: 5, unit: 'binary' }),
    ),
    fc.oneof(
      fc.constantFrom(
        '',
        '0',
        '1',
        '-1',
        'true',
        'All',
        'Strict',
        '1e9',
        '99999999999999999999',
        'NotOlderThan',
        'Exact',
        'a=b',
        'a in (',
        '!',
        '%zz',
      ),
      fc.string({ maxLength: 20, unit: 'binary' }),
    ),
  )
  const query = fc
    .array(parameter, { maxLength: 4 })
    .map((all) => all.map(([key, value]) => `${key}=${value}`).join('&'))
  const method = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD') },
    { weight: 1, arbitrary: fc.oneof(fc.constantFrom('OPTIONS', 'get', '', '__proto__'), fc.string({ maxLength: 8 })) },
  )
  const contentType = fc.constantFrom(
    'application/json',
    'application/yaml',
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
    'application/vnd.kubernetes.protobuf',
    'text/plain',
    '',
    ';',
    'application/json;charset=latin1',
    '\0',
  )
  const accept = fc.oneof(
    fc.constantFrom(
      '*/*',
      '',
      'application/json',
      'application/yaml',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
      'application/vnd.kubernetes.protobuf',
      ';;;',
      'q=0',
    ),
    fc.string({ maxLength: 20 }),
  )
  const headers = fc.record(
    {
      'content-type': contentType,
      accept,
      authorization: fc.string({ maxLength: 20 }),
      'user-agent': fc.string({ maxLength: 10 }),
      'if-none-match': fc.string({ maxLength: 5 }),
    },
    { requiredKeys: [] },
  )
  const value = fc.oneof(
    fc.json(),
    fc.json().map((json) => rawWidget(json)),
    fc.json().map((json) => `{"metadata":${json}}`),
    fc.json().map((json) => `{"metadata":{"name":"a","labels":${json},"ownerReferences":[${json}]},"data":${json}}`),
    fc.json().map((json) => `[{"op":"replace","path":"/metadata","value":${json}}]`),
    fc
      .json()
      .map(
        (json) =>
          `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":${json}}`,
      ),
  )
  const body = fc.oneof(value, fc.string({ unit: 'binary', maxLength: 200 }), fc.uint8Array({ maxLength: 200 }))

  test('the server answers random requests', async () => {
    await fc.assert(
      fc.asyncProperty(method, target, query, headers, fc.option(body, { nil: undefined }), async (...request) => {
        const [verb, url, parameters, given, payload] = request
        // Nothing is deleted: later requests need the objects.
        if (verb === 'DELETE') return
        const question = { headers: given, ...(payload === undefined ? {} : { body: payload }) }
        const reply = await provoke(verb, parameters === '' ? url : `${url}?${parameters}`, question).catch(
          (error: Error) => {
            expect(error.name).toBe('AbortError')
          },
        )
        if (reply !== undefined) expectSound(reply)
      }),
      { numRuns: 1500 },
    )
    expect(api.openWatches).toBe(0)
  }, 60_000)
})

test('a watch shows only valid objects after hostile requests', async () => {
  const watch = await InProcessWatch.open(api, path)
  await ask(api, 'POST', path, {
    body: '{"metadata":{"name":"b","__proto__":{"polluted":true}},"data":{"__proto__":{}}}',
  })
  await ask(api, 'POST', path, { body: configMap('c') })
  expect([await watch.next(), await watch.next()]).toEqual(['ADDED a', 'ADDED c'])
  await watch.leave()
})
