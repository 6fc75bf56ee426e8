/** Creating objects: metadata set by the server, generated names, validation of names and metadata, and the error messages. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import {
  expectFailure,
  expectInvalid,
  expectStatus,
  timestamp,
  uuid,
  version,
  warningsOf,
} from '../../../support/expectations.ts'
import { labelKey, labelValue, namePart, noSuchMethod, subdomain, unknownFormat } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

beforeAll(async () => {
  const spec = { type: 'object', properties: { size: { type: 'integer' }, colour: { type: 'string', default: 'red' } } }
  await cluster.install({ kind: 'Widget', schema: { type: 'object', properties: { spec } } })
})

describe('new objects', () => {
  test('a creation answers with the metadata that the server sets', async () => {
    const answer = await cluster.api.post(configMaps(), configMap('fresh', { data: { key: 'value' } }))
    expect(answer.status).toBe(201)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.body).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'fresh',
        namespace: cluster.namespace,
        uid: uuid,
        resourceVersion: version,
        creationTimestamp: timestamp,
      },
      data: { key: 'value' },
    })
  })

  test('a new custom object has the generation 1 and its defaults', async () => {
    const answer = await cluster.api.post(widgets(), widget('fresh', { spec: { size: 3 } }))
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      apiVersion: `${cluster.group}/v1`,
      kind: 'Widget',
      metadata: {
        name: 'fresh',
        namespace: cluster.namespace,
        uid: uuid,
        resourceVersion: version,
        generation: 1,
        creationTimestamp: timestamp,
      },
      spec: { size: 3, colour: 'red' },
    })
  })

  test('a GET returns a new object as its creation did', async () => {
    const created = await cluster.api.post(configMaps(), configMap({ name: 'readable', labels: { a: 'b' } }))
    const read = await cluster.api.get(`${configMaps()}/readable`)
    expect(read.body).toEqual(created.body)
  })

  test('a new object takes its namespace from the path, or repeats it', async () => {
    const metadata = { name: 'in-namespace', namespace: cluster.namespace }
    const answer = await cluster.api.post(configMaps(), configMap(metadata))
    expect(answer.body.metadata.namespace).toBe(cluster.namespace)
  })

  test('a creation ignores metadata that only the server sets', async () => {
    const metadata = {
      name: 'pretender',
      uid: '11111111-1111-1111-1111-111111111111',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
      generation: 7,
      selfLink: '/somewhere',
    }
    const { body } = await cluster.api.post(widgets(), widget(metadata))
    expect(Object.keys(body.metadata).sort()).toEqual([
      'creationTimestamp',
      'generation',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ])
    expect(body.metadata.uid).not.toBe(metadata.uid)
    expect(body.metadata.creationTimestamp).not.toBe(metadata.creationTimestamp)
    expect(body.metadata.generation).toBe(1)
  })

  test('a creation keeps labels, annotations, finalizers and owner references', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'readable', uid: '22222222-2222-2222-2222-222222222222' }
    const metadata = {
      name: 'decorated',
      labels: { 'example.com/part': 'a', empty: '' },
      annotations: { 'Example.COM/Any': 'some text\nof any kind' },
      finalizers: ['example.com/last-will'],
      ownerReferences: [owner],
    }
    const { body } = await cluster.api.post(widgets(), widget(metadata))
    expect(body.metadata).toMatchObject(metadata)
    await cluster.api.mergePatch(`${widgets()}/decorated`, { metadata: { finalizers: null } })
  })

  test('a creation accepts YAML', async () => {
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  key: "1"\n`
    const answer = await cluster.api.post(configMaps(), text, { contentType: 'application/yaml' })
    expect(answer.status).toBe(201)
    expect(answer.body['data']).toEqual({ key: '1' })
  })

  test('a creation accepts a charset in its content type', async () => {
    const contentType = 'application/json; charset=utf-8'
    const answer = await cluster.api.post(configMaps(), configMap('with-charset'), { contentType })
    expect(answer.status).toBe(201)
  })

  test('a new object of a built-in kind may omit its kind and apiVersion', async () => {
    const answer = await cluster.api.post(configMaps(), { metadata: { name: 'nameless-kind' } })
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
  })

  test('a creation raises the resourceVersion of the whole cluster', async () => {
    const first = await cluster.api.post(configMaps(), configMap('counted-first'))
    const second = await cluster.api.post(widgets(), widget('counted-second'))
    const [before, after] = [first, second].map(({ body }) => BigInt(body.metadata.resourceVersion))
    expect(after! > before!).toBe(true)
  })
})

describe('generated names', () => {
  const suffix = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/

  test.each([
    ['built-in', configMaps, configMap],
    ['custom', widgets, widget],
  ])('a generated name is the prefix and five characters on a %s kind', async (_, path, make) => {
    const { body } = await cluster.api.post(path(), make({ generateName: 'prefix-' }))
    expect(body.metadata['generateName']).toBe('prefix-')
    expect(body.metadata.name.slice(0, 7)).toBe('prefix-')
    expect(body.metadata.name.slice(7)).toMatch(suffix)
  })

  test('a generated name cuts a long prefix, to stay within 63 characters', async () => {
    const { body } = await cluster.api.post(configMaps(), configMap({ generateName: 'g'.repeat(70) }))
    expect(body.metadata.name.slice(0, 58)).toBe('g'.repeat(58))
    expect(body.metadata.name.slice(58)).toMatch(suffix)
  })

  test('a creation ignores generateName where it has a name', async () => {
    const { body } = await cluster.api.post(configMaps(), configMap({ name: 'chosen', generateName: 'prefix-' }))
    expect(body.metadata.name).toBe('chosen')
  })
})

describe('names', () => {
  test('a creation with an existing name is refused', async () => {
    await cluster.api.post(configMaps(), configMap('taken'))
    const answer = await cluster.api.post(configMaps(), configMap('taken'))
    const details = { name: 'taken', kind: 'configmaps' }
    expectFailure(answer, 409, 'AlreadyExists', 'configmaps "taken" already exists', details)
  })

  test('a creation of a custom object with an existing name is refused', async () => {
    await cluster.api.post(widgets(), widget('taken'))
    const answer = await cluster.api.post(widgets(), widget('taken'))
    const details = { name: 'taken', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 409, 'AlreadyExists', `widgets.${cluster.group} "taken" already exists`, details)
  })

  test('a creation without name and generateName is invalid', async () => {
    const message = 'metadata.name: Required value: name or generateName is required'
    expectInvalid(await cluster.api.post(configMaps(), configMap({})), { kind: 'ConfigMap' }, message)
    const subject = { kind: 'Widget', group: cluster.group }
    expectInvalid(await cluster.api.post(widgets(), widget({})), subject, message)
    expectInvalid(await cluster.api.post(widgets(), { ...widget({}), metadata: null }), subject, message)
  })

  test.each(['UPPER', 'under_score', 'sla/sh', '-dash', 'dash-', 'dots..dots', '.', '..', 'ü', 'a b', '%41', 'a\n'])(
    'the name of an object must be a DNS subdomain, which %j is not',
    async (name) => {
      const answer = await cluster.api.post(configMaps(), configMap(name))
      const message = `metadata.name: Invalid value: ${JSON.stringify(name)}: ${subdomain}`
      expectInvalid(answer, { kind: 'ConfigMap', name }, message)
    },
  )

  test('the name of an object has at most 253 characters', async () => {
    const name = 'a'.repeat(254)
    const message = `metadata.name: Invalid value: "${name}": must be no more than 253 characters`
    expectInvalid(await cluster.api.post(configMaps(), configMap(name)), { kind: 'ConfigMap', name }, message)
    expect((await cluster.api.post(configMaps(), configMap('a'.repeat(253)))).status).toBe(201)
  })

  test('the name of a custom object must be a DNS subdomain', async () => {
    const subject = { kind: 'Widget', group: cluster.group, name: 'Upper' }
    const message = `metadata.name: Invalid value: "Upper": ${subdomain}`
    expectInvalid(await cluster.api.post(widgets(), widget('Upper')), subject, message)
  })
})

describe('metadata of new objects', () => {
  const event = { apiVersion: 'v1', kind: 'Event', name: 'a', uid: 'b' }
  const controllers = [
    { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'c', controller: true },
    { apiVersion: 'v1', kind: 'B', name: 'b', uid: 'd', controller: true },
  ]
  const x64 = 'x'.repeat(64)

  test.each<[string, Tree, string[]]>([
    ['label keys with spaces', { labels: { 'a b': 'c' } }, [`metadata.labels: Invalid value: "a b": ${namePart}`]],
    ['label values with spaces', { labels: { a: 'c d' } }, [`metadata.labels: Invalid value: "c d": ${labelValue}`]],
    [
      'label prefixes in upper case',
      { labels: { 'UP/x': 'c' } },
      [`metadata.labels: Invalid value: "UP/x": prefix part ${subdomain}`],
    ],
    [
      'label keys with two slashes',
      { labels: { 'a/b/c': '' } },
      [`metadata.labels: Invalid value: "a/b/c": ${labelKey}`],
    ],
    [
      'empty label keys',
      { labels: { '': 'c' } },
      [
        'metadata.labels: Invalid value: "": name part must be non-empty',
        `metadata.labels: Invalid value: "": ${namePart}`,
      ],
    ],
    [
      'long label values',
      { labels: { a: x64 } },
      [`metadata.labels: Invalid value: "${x64}": must be no more than 63 bytes`],
    ],
    [
      'long label keys',
      { labels: { [x64]: '' } },
      [`metadata.labels: Invalid value: "${x64}": name part must be no more than 63 bytes`],
    ],
    [
      'annotation keys with spaces',
      { annotations: { 'a b': 'c' } },
      [`metadata.annotations: Invalid value: "a b": ${namePart}`],
    ],
    [
      'more than 256 KiB of annotations',
      { annotations: { a: 'c'.repeat(256 * 1024) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'finalizers with an invalid prefix',
      { finalizers: ['a b/c'] },
      [`metadata.finalizers: Invalid value: "a b/c": prefix part ${subdomain}`],
    ],
    [
      'owner references without required fields',
      { ownerReferences: [{}] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'events as owners',
      { ownerReferences: [event] },
      [
        `metadata.ownerReferences: Invalid value: ${JSON.stringify(event)}: /v1, Kind=Event is disallowed from being an owner`,
      ],
    ],
    [
      'two controllers',
      { ownerReferences: controllers },
      [
        `metadata.ownerReferences: Invalid value: ${JSON.stringify(controllers)}: Only one reference can have Controller ` +
          'set to true. Found "true" in references for A/a and B/b',
      ],
    ],
  ])('the metadata of a new object cannot have %s', async (_, metadata, messages) => {
    const answer = await cluster.api.post(widgets(), widget({ name: 'refused', ...metadata }))
    expectInvalid(answer, { kind: 'Widget', group: cluster.group, name: 'refused' }, ...messages)
  })

  test('a finalizer without a domain is invalid on a built-in kind', async () => {
    const answer = await cluster.api.post(configMaps(), configMap({ name: 'refused', finalizers: ['plain'] }))
    expectInvalid(
      answer,
      { kind: 'ConfigMap', name: 'refused' },
      'metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
    )
  })

  test('the API server warns about a finalizer without a domain on a custom kind', async () => {
    const answer = await cluster.api.post(widgets(), widget({ name: 'plain', finalizers: ['plain'] }))
    expect(answer.status).toBe(201)
    expect(warningsOf(answer)).toEqual([
      'metadata.finalizers: "plain": prefer a domain-qualified finalizer name to avoid accidental conflicts with other ' +
        'finalizer writers',
    ])
    await cluster.api.mergePatch(`${widgets()}/plain`, { metadata: { finalizers: null } })
  })

  test('a negative generation is invalid', async () => {
    const answer = await cluster.api.post(configMaps(), configMap({ name: 'refused', generation: -1 }))
    const message = 'metadata.generation: Invalid value: -1: must be greater than or equal to 0'
    expectInvalid(answer, { kind: 'ConfigMap', name: 'refused' }, message)
  })

  test.each([
    ['built-in', configMaps, configMap],
    ['custom', widgets, widget],
  ])('a creation with a resourceVersion is refused on a %s kind', async (_, path, make) => {
    const answer = await cluster.api.post(path(), make({ name: 'refused', resourceVersion: '5' }))
    expectFailure(answer, 500, '', 'resourceVersion should not be set on objects to be created')
  })

  test('a creation with another namespace than that of the path is refused', async () => {
    const answer = await cluster.api.post(configMaps(), configMap({ name: 'refused', namespace: 'other' }))
    const message = 'the namespace of the provided object does not match the namespace sent on the request'
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test.each<[string, unknown, string]>([
    [
      'numbers as labels',
      { labels: { a: 1 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
    [
      'booleans as annotations',
      { annotations: { a: true } },
      'json: cannot unmarshal bool into Go struct field ObjectMeta.annotations of type string',
    ],
    [
      'text as finalizers',
      { finalizers: 'a' },
      'json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string',
    ],
    ['text for the metadata', 'text', 'json: cannot unmarshal string into Go value of type v1.ObjectMeta'],
    [
      'malformed times',
      { creationTimestamp: 'yesterday' },
      'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
    ],
  ])('the metadata of a custom object cannot have %s', async (_, metadata, message) => {
    const merged = typeof metadata === 'string' ? metadata : { name: 'refused', ...(metadata as Tree) }
    const answer = await cluster.api.post(widgets(), { ...widget('refused'), metadata: merged })
    expectFailure(answer, 400, 'BadRequest', `Widget in version "v1" cannot be handled as a Widget: ${message}`)
  })
})

describe('kind and apiVersion of new objects', () => {
  test.each<[string, Tree, string]>([
    [
      'another known kind',
      { kind: 'Secret' },
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      'an unknown kind',
      { kind: 'Nonsense' },
      'Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version "v1" in ' +
        'scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'an unknown version',
      { apiVersion: 'v2' },
      'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in ' +
        'scheme "pkg/runtime/scheme.go:111"',
    ],
  ])('a creation of a built-in object is refused with %s', async (_, change, message) => {
    const answer = await cluster.api.post(configMaps(), { ...configMap('refused'), ...change })
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test('a creation of a custom object is refused with another kind than that of the path', async () => {
    const subject = { kind: 'Secret', group: cluster.group, name: 'refused' }
    const answer = await cluster.api.post(widgets(), { ...widget('refused'), kind: 'Secret' })
    expectInvalid(answer, subject, 'kind: Invalid value: "Secret": must be Widget')
  })

  test.each(['v1', 'other.example.com/v1', ''])(
    'a creation of a custom object is refused with the apiVersion %j',
    async (apiVersion) => {
      const answer = await cluster.api.post(widgets(), { ...widget('refused'), apiVersion })
      const expected = `${cluster.group}/v1`
      const message = `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`
      expectFailure(answer, 400, 'BadRequest', message)
    },
  )

  test('a creation of a custom object is refused with a malformed apiVersion', async () => {
    const answer = await cluster.api.post(widgets(), { ...widget('refused'), apiVersion: 'a/b/c' })
    const message =
      'the object provided is unrecognized (must be of type Widget): unexpected GroupVersion string: a/b/c ' +
      '({"apiVersion":"a/b/c","kind":" ...)'
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test('a creation of a custom object is refused without a kind', async () => {
    const answer = await cluster.api.post(widgets(), { metadata: { name: 'refused' } })
    const message =
      "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in " +
      `'{"metadata":{"name":"refused"}}' ({"metadata":{"name":"refused"} ...)`
    expectFailure(answer, 400, 'BadRequest', message)
  })
})

describe('bodies of creations', () => {
  const unmarshal = (what: string) =>
    `json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ` +
    'Kind string "json:\\"kind,omitempty\\"" }'

  test.each([
    ['cut short', '{"a":', 'unexpected end of JSON input ({"a":)'],
    ['missing', '', 'unexpected end of JSON input (<empty>)'],
    ['a list', '[]', `${unmarshal('array')} (5b5d)`],
    ['a text', '"x"', `${unmarshal('string')} (227822)`],
    ['a number', '5', `${unmarshal('number')} (35)`],
    ['followed by another', '{"kind":"A"}{}', `invalid character '{' after top-level value ({"kind":"A"}{})`],
  ])('the API server answers 400 to a body that is %s', async (_, body, message) => {
    const why = `couldn't get version/kind; json parse error: ${message}`
    for (const [path, kind] of [
      [configMaps(), 'ConfigMap'],
      [widgets(), 'Widget'],
    ] as const) {
      const answer = await cluster.api.post(path, body)
      const expected = `the object provided is unrecognized (must be of type ${kind}): ${why}`
      expectFailure(answer, 400, 'BadRequest', expected)
    }
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])(
    'the API server answers 415 to the content type %s',
    async (contentType) => {
      for (const path of [configMaps(), widgets()]) {
        const answer = await cluster.api.post(path, configMap('refused'), { contentType })
        expectFailure(answer, 415, 'UnsupportedMediaType', unknownFormat)
      }
    },
  )

  test('the API server answers 413 to a body of more than 3 MiB', async () => {
    const data = { key: 'x'.repeat(3 * 1024 * 1024) }
    const answer = await cluster.api.post(configMaps(), configMap('refused', { data }))
    const message = 'Request entity too large: limit is 3145728'
    expectFailure(answer, 413, 'RequestEntityTooLarge', message)
  })

  test.each<[string, Tree, string]>([
    [
      'numbers for text',
      { data: { a: 1 } },
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      'text for a map',
      { data: 'a' },
      'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'text for a boolean',
      { immutable: 'a' },
      'json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool',
    ],
    [
      'a number for the metadata',
      { metadata: 5 },
      'json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta',
    ],
    [
      'a number for the name',
      { metadata: { name: 5 } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string',
    ],
  ])('the API server answers 400 to a built-in object with %s', async (_, change, message) => {
    const answer = await cluster.api.post(configMaps(), { ...configMap('refused'), ...change })
    expectFailure(answer, 400, 'BadRequest', `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${message}`)
  })
})

describe('paths of creations', () => {
  test('a creation in a missing namespace is refused', async () => {
    for (const path of [
      '/api/v1/namespaces/nowhere/configmaps',
      `/apis/${cluster.group}/v1/namespaces/nowhere/widgets`,
    ]) {
      const answer = await cluster.api.post(path, path.startsWith('/api/') ? configMap('a') : widget('a'))
      const details = { name: 'nowhere', kind: 'namespaces' }
      expectFailure(answer, 404, 'NotFound', 'namespaces "nowhere" not found', details)
    }
  })

  test('a creation of a namespaced kind without a namespace in the path is refused', async () => {
    const answer = await cluster.api.post('/api/v1/configmaps', configMap('refused'))
    expectFailure(answer, 405, 'MethodNotAllowed', noSuchMethod, {})
  })

  test('the API server answers 405 to a POST to the path of an object', async () => {
    const answer = await cluster.api.post(`${configMaps()}/refused`, configMap('refused'))
    expectFailure(answer, 405, 'MethodNotAllowed', noSuchMethod, {})
  })

  test('a creation in a terminating namespace is refused', async () => {
    const name = await cluster.createNamespace('leaving')
    const path = `/api/v1/namespaces/${name}`
    await cluster.api.post(`${path}/configmaps`, configMap({ name: 'keeper', finalizers: ['example.com/keep'] }))
    expectStatus(await cluster.api.delete(path), 200)
    for (const [collection, body, group, plural] of [
      [`${path}/configmaps`, configMap('late'), '', 'configmaps'],
      [`/apis/${cluster.group}/v1/namespaces/${name}/widgets`, widget('late'), cluster.group, 'widgets'],
    ] as const) {
      const answer = await cluster.api.post(collection, body)
      const resource = group === '' ? plural : `${plural}.${group}`
      const why = `unable to create new content in namespace ${name} because it is being terminated`
      const causes = [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${name} is being terminated`,
          field: 'metadata.namespace',
        },
      ]
      const details = { name: 'late', ...(group === '' ? {} : { group }), kind: plural, causes }
      expectFailure(answer, 403, 'Forbidden', `${resource} "late" is forbidden: ${why}`, details)
    }
    await cluster.api.mergePatch(`${path}/configmaps/keeper`, { metadata: { finalizers: null } })
  })
})

describe('dry runs of creations', () => {
  test.each([
    ['built-in', configMaps, configMap],
    ['custom', widgets, widget],
  ])('a dry run of a creation answers like a creation and stores nothing on a %s kind', async (_, path, make) => {
    const answer = await cluster.api.post(path(), make('dry'), { query: { dryRun: 'All' } })
    expect(answer.status).toBe(201)
    expect(answer.body.metadata).toMatchObject({ name: 'dry', uid: uuid, creationTimestamp: timestamp })
    expect(answer.body.metadata).not.toHaveProperty('resourceVersion')
    expect((await cluster.api.get(`${path()}/dry`)).status).toBe(404)
  })

  test('a dry run of a creation refuses invalid objects', async () => {
    await cluster.api.post(configMaps(), configMap('occupied'))
    const answer = await cluster.api.post(configMaps(), configMap('occupied'), { query: { dryRun: 'All' } })
    const details = { name: 'occupied', kind: 'configmaps' }
    expectFailure(answer, 409, 'AlreadyExists', 'configmaps "occupied" already exists', details)
  })
})

describe('query options of creations', () => {
  test.each([
    ['dryRun', 'Some', 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
    [
      'fieldValidation',
      'Nonsense',
      'fieldValidation: Unsupported value: "Nonsense": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    ['fieldManager', 'x'.repeat(129), 'fieldManager: Too long: may not be more than 128 bytes'],
  ])('the API server validates the query option %s', async (option, value, message) => {
    for (const path of [configMaps(), widgets()]) {
      const answer = await cluster.api.post(path, configMap('refused'), { query: { [option]: value } })
      expectInvalid(answer, { group: 'meta.k8s.io', kind: 'CreateOptions' }, message)
    }
  })

  test('the API server ignores unknown query options', async () => {
    const query = { nonsense: 'yes', fieldManager: 'somebody' }
    const answer = await cluster.api.post(configMaps(), configMap('with-options'), { query })
    expect(answer.status).toBe(201)
  })
})

describe('unknown fields', () => {
  const known = ['unknown field "metadata.extra"', 'unknown field "nonsense"']

  test.each([
    ['built-in', configMaps, configMap, 'ConfigMap', known],
    ['custom', widgets, widget, 'Widget', [...known, 'unknown field "spec.extra"']],
  ])('unknown fields are refused with fieldValidation Strict on a %s kind', async (_, path, make, kind, problems) => {
    const rest = kind === 'Widget' ? { nonsense: 1, spec: { extra: 1 } } : { nonsense: 1 }
    const query = { fieldValidation: 'Strict' }
    const answer = await cluster.api.post(path(), make({ name: 'refused', extra: 1 }, rest), { query })
    const message = `${kind} in version "v1" cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')}`
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test.each([
    ['built-in', configMaps, configMap, known],
    ['custom', widgets, widget, [...known, 'unknown field "spec.extra"']],
  ])(
    'unknown fields are dropped with warnings with fieldValidation Warn on a %s kind',
    async (kind, path, make, problems) => {
      const rest = kind === 'custom' ? { nonsense: 1, spec: { extra: 1 } } : { nonsense: 1 }
      const query = { fieldValidation: 'Warn' }
      const answer = await cluster.api.post(path(), make({ name: 'warned', extra: 1 }, rest), { query })
      expect(answer.status).toBe(201)
      expect(warningsOf(answer)).toEqual(problems)
      expect(answer.body).not.toHaveProperty('nonsense')
      expect(answer.body.metadata).not.toHaveProperty('extra')
      expect(answer.body.spec ?? {}).not.toHaveProperty('extra')
    },
  )

  test.each([
    ['built-in', configMaps, configMap],
    ['custom', widgets, widget],
  ])('unknown fields are dropped with warnings by default on a %s kind', async (_, path, make) => {
    const answer = await cluster.api.post(path(), make('warned-by-default', { nonsense: 1 }))
    expect(warningsOf(answer)).toEqual(['unknown field "nonsense"'])
  })

  test.each([
    ['built-in', configMaps, configMap],
    ['custom', widgets, widget],
  ])('unknown fields are dropped without a warning with fieldValidation Ignore on a %s kind', async (_, path, make) => {
    const query = { fieldValidation: 'Ignore' }
    const answer = await cluster.api.post(path(), make('ignored', { nonsense: 1 }), { query })
    expect(answer.status).toBe(201)
    expect(warningsOf(answer)).toEqual([])
    expect(answer.body).not.toHaveProperty('nonsense')
  })

  test('warnings about unknown fields of a built-in kind have the order of the document', async () => {
    const text =
      '{"z":1,"metadata":{"y":1,"name":"ordered","b":2},"a":1,"kind":"ConfigMap","apiVersion":"v1","data":{"k":"1","k":"2"}}'
    expect(warningsOf(await cluster.api.post(configMaps(), text))).toEqual([
      'unknown field "z"',
      'unknown field "metadata.y"',
      'unknown field "metadata.b"',
      'unknown field "a"',
      'duplicate field "data.k"',
    ])
  })

  test('warnings about unknown fields of a custom kind follow those about duplicates, metadata first, by name', async () => {
    const rest = `"metadata":{"y":1,"name":"ordered","b":2},"a":1,"kind":"Widget","apiVersion":"${cluster.group}/v1"`
    const answer = await cluster.api.post(widgets(), `{"z":1,"spec":{"z":1,"size":1,"b":1,"size":2},${rest}}`)
    expect(warningsOf(answer)).toEqual([
      'duplicate field "spec.size"',
      'unknown field "metadata.b"',
      'unknown field "metadata.y"',
      'unknown field "a"',
      'unknown field "spec.b"',
      'unknown field "spec.z"',
      'unknown field "z"',
    ])
  })

  test('field names are case-sensitive', async () => {
    const answer = await cluster.api.post(configMaps(), configMap('cased', { Data: { a: '1' } }))
    expect(warningsOf(answer)).toEqual(['unknown field "Data"'])
    expect(answer.body).not.toHaveProperty('data')
  })
})

describe('duplicate fields', () => {
  const texts = () => [
    [
      configMaps(),
      'ConfigMap',
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}',
      'data.a',
    ],
    [
      widgets(),
      'Widget',
      `{"kind":"Widget","apiVersion":"${cluster.group}/v1","metadata":{"name":"twice"},"spec":{"size":1,"size":2}}`,
      'spec.size',
    ],
  ]

  test('duplicate fields are refused with fieldValidation Strict', async () => {
    for (const [path, kind, text, field] of texts()) {
      const answer = await cluster.api.post(path!, text, { query: { fieldValidation: 'Strict' } })
      const message = `${kind} in version "v1" cannot be handled as a ${kind}: strict decoding error: duplicate field "${field}"`
      expectFailure(answer, 400, 'BadRequest', message)
    }
  })

  test('duplicate fields are warned about otherwise, and the last value counts', async () => {
    for (const [path, , text, field] of texts()) {
      const answer = await cluster.api.post(path!, text)
      expect(warningsOf(answer)).toEqual([`duplicate field "${field}"`])
      expect(answer.body['data'] ?? answer.body.spec).toMatchObject(field === 'data.a' ? { a: '2' } : { size: 2 })
    }
  })
})
