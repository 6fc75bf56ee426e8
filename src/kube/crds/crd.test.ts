/** CRDs built from schemas: the embedded API server validates, defaults and rejects objects by them. */
import { startServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Tree } from '../../../test/support/answers.ts'
import { ask, type Reply } from '../../../test/support/in-process.ts'
import { KopfError } from '../../errors.ts'
import { type CustomResource, defineResource } from '../resources/resources.ts'
import { toCrd, toCrds } from './crd.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'

const group = 'example.com'
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const things = `/apis/${group}/v1/namespaces/default/things`

function thingBody(name: string, fields: object): object {
  return { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, ...fields }
}

function thing(spec?: StandardSchemaV1, status?: StandardSchemaV1): CustomResource<object> {
  return defineResource({
    group,
    version: 'v1',
    kind: 'Thing',
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status }),
  })
}

/** Installs the CRD, creates the objects, and returns the responses. */
async function createAll(definition: CustomResource<object>, objects: readonly object[]): Promise<Reply[]> {
  const server = await startServer()
  try {
    const installed = await ask(server.api, 'POST', crds, { body: toCrd(definition) })
    expect(installed.body).toMatchObject({ kind: 'CustomResourceDefinition' })
    const { status } = (await ask(server.api, 'GET', `${crds}/things.${group}`)).body as { status: Tree }
    expect(status['conditions']).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }))
    expect(status['conditions']).not.toContainEqual(expect.objectContaining({ type: 'NonStructuralSchema' }))
    const replies: Reply[] = []
    for (const [at, fields] of objects.entries()) {
      replies.push(await ask(server.api, 'POST', things, { body: thingBody(`thing-${at}`, fields) }))
    }
    return replies
  } finally {
    await server.stop()
  }
}

async function create(definition: CustomResource<object>, fields: object): Promise<Reply> {
  return (await createAll(definition, [fields]))[0]!
}

const database = z.object({
  engine: z.enum(['postgres', 'mysql']),
  size: z.number().int().min(1),
  users: z.array(z.string()).default([]),
})

test('a CRD has all names of the resource definition', () => {
  const definition = defineResource({
    group,
    version: 'v1beta1',
    kind: 'Policy',
    shortNames: ['pol'],
    categories: ['all'],
    scope: 'Cluster',
    status: z.object({ phase: z.string() }),
  })
  expect(toCrd(definition)).toMatchObject({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'policies.example.com' },
    spec: {
      group,
      scope: 'Cluster',
      names: {
        kind: 'Policy',
        listKind: 'PolicyList',
        plural: 'policies',
        singular: 'policy',
        shortNames: ['pol'],
        categories: ['all'],
      },
      versions: [{ name: 'v1beta1', served: true, storage: true, subresources: { status: {} } }],
    },
  })
})

test('the API server applies the defaults of the schema', async () => {
  const { status, body } = await create(thing(database), { spec: { engine: 'mysql', size: 1 } })
  expect(status).toBe(201)
  expect(body['spec']).toEqual({ engine: 'mysql', size: 1, users: [] })
})

test('the API server applies the defaults of a missing spec', async () => {
  const spec = z.object({ users: z.array(z.string()).default(['admin']), size: z.number().optional() })
  expect((await create(thing(spec), {})).body['spec']).toEqual({ users: ['admin'] })
})

test('a spec with required fields is required itself', async () => {
  expect((await create(thing(database), {})).status).toBe(422)
})

describe('schema checks by the API server', () => {
  const cases: Array<[name: string, field: z.ZodType, good: unknown, bad: unknown]> = [
    ['enums', z.enum(['a', 'b']), 'a', 'c'],
    ['literals', z.literal('x'), 'x', 'y'],
    ['literals of one type', z.literal(['x', 'y']), 'y', 'z'],
    ['literals of several types', z.literal(['x', 1]), 1, 2],
    ['integers', z.number().int(), 1, 1.5],
    ['exclusive bounds', z.number().gt(0).lt(5), 4.9, 5],
    ['nested arrays', z.array(z.array(z.number())), [[1], []], [['1']]],
    ['lengths', z.array(z.string()).max(1), ['a'], ['a', 'b']],
    ['nullable strings', z.string().nullable(), null, 1],
    ['strings that are not nullable', z.string(), 'a', null],
    ['nullable objects', z.object({ q: z.string() }).nullable(), null, {}],
    ['nullable enums', z.enum(['a+', 'b']).nullable(), 'a+', 'aa'],
    ['nullable unions', z.union([z.literal('a'), z.literal('b')]).nullable(), 'b', 'c'],
    ['records', z.record(z.string(), z.number()), { any: 1 }, { any: 'x' }],
    ['patterns', z.string().regex(/^b+$/), 'bb', 'a'],
    ['email addresses', z.email(), 'a@example.com', 'a'],
    ['dates as strings', z.iso.datetime(), '2026-01-01T00:00:00Z', 'yesterday'],
    ['unions of values', z.union([z.literal('a'), z.string().regex(/^b/)]), 'bee', 'c'],
    ['integers or strings', z.union([z.int(), z.string()]), 1, true],
    ['intersections', z.object({ a: z.string() }).and(z.object({ b: z.string() })), { a: '1', b: '2' }, { a: '1' }],
    ['lengths of tuples', z.tuple([z.string(), z.number()]), ['a', 1], ['a']],
    [
      'discriminators',
      z.discriminatedUnion('type', [
        z.object({ type: z.literal('a') }),
        z.object({ type: z.literal('b'), size: z.number() }),
      ]),
      { type: 'b', size: 1 },
      { type: 'c' },
    ],
    ['shared parts', z.object({ a: z.string() }).meta({ id: 'Shared' }), { a: 'x' }, { a: 1 }],
    ['a recursion at its outer level', recursive(), { value: 'a', children: [{ value: 'b' }] }, { value: 1 }],
  ]

  test.each(cases)('the API server validates a schema with %s', async (_, field, good, bad) => {
    const specs = [{ spec: { field: good } }, { spec: { field: bad } }]
    const [created, refused] = await createAll(thing(z.object({ field })), specs)
    expect(created?.body).toMatchObject({ spec: { field: good } })
    expect(refused?.status).toBe(422)
  })
})

function recursive() {
  const node = z.object({
    value: z.string(),
    get children() {
      return z.array(node).optional()
    },
  })
  return node
}

test.each<[string, z.ZodType, unknown]>([
  ['anything', z.any(), { a: [1, 'b', { c: null }] }],
  ['unions of types', z.union([z.string(), z.number()]), 1.5],
  ['unions of shapes', z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]), { b: 1 }],
  ['any JSON', z.json(), [{ a: 1 }]],
  ['unknown fields of a loose object', z.looseObject({ a: z.string() }), { a: 'x', more: { b: 1 } }],
  ['records of anything', z.record(z.string(), z.unknown()), { a: { b: 1 } }],
  ['optional fields that are absent', z.string().optional(), undefined],
  ['patterns that Go does not support', z.string().regex(/^(?!a).*(.)\1$/), 'bcc'],
  ['durations in the format of JSON Schema', z.iso.duration(), 'P1D'],
  ['null', z.null(), null],
  ['null as anything', z.any(), null],
  ['nullable literals of several types', z.literal(['a', 1]).nullable(), null],
  ['nullable enums', z.enum(['a', 'b']).nullable(), null],
])('the API server accepts and keeps %s', async (_, field, value) => {
  const { status, body } = await create(thing(z.object({ field, size: z.int() })), { spec: { field: value, size: 1 } })
  expect(status).toBe(201)
  expect(body['spec']).toEqual(value === undefined ? { size: 1 } : { field: value, size: 1 })
})

test('a status with a schema accepts partial updates, and fields of handlers and their progress', async () => {
  const server = await startServer()
  try {
    const definition = thing(database, z.object({ phase: z.string(), url: z.string() }))
    await ask(server.api, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: toCrd(definition),
    })
    await ask(server.api, 'POST', things, { body: thingBody('one', { spec: { engine: 'mysql', size: 1 } }) })
    const patch = { status: { phase: 'Ready', create: { message: 'hello' }, kopf: { progress: {} } } }
    const patched = await ask(server.api, 'PATCH', `${things}/one/status`, { body: patch })
    expect(patched.body['status']).toEqual(patch.status)
    const wrong = await ask(server.api, 'PATCH', `${things}/one/status`, { body: { status: { phase: 1 } } })
    expect(wrong.status).toBe(422)
  } finally {
    await server.stop()
  }
})

test('a CRD without schemas accepts any fields and has no status subresource', async () => {
  const definition = thing()
  expect(JSON.stringify(toCrd(definition))).not.toContain('subresources')
  const { body } = await create(definition, { spec: { a: 1 }, data: { b: 2 }, status: { c: 3 } })
  expect(body).toMatchObject({ spec: { a: 1 }, data: { b: 2 }, status: { c: 3 } })
})

test('a schema library without JSON Schema leaves its part of the CRD open', async () => {
  const silent: StandardSchemaV1 = {
    '~standard': { version: 1, vendor: 'silent', validate: (value) => ({ value }) },
  }
  expect((await create(thing(silent), { spec: { a: 1 } })).body).toMatchObject({ spec: { a: 1 } })
})

test('a schema library without OpenAPI is asked for JSON Schema', async () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties: {
      kind: { const: 'a' },
      size: { type: 'integer', exclusiveMinimum: 0, minimum: 0 },
      name: { type: ['string', 'null'] },
      owner: { anyOf: [{ $ref: '#/$defs/owner' }, { type: 'null' }] },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'string' }] },
    },
    $defs: { owner: { type: 'object', properties: { email: { type: 'string' } }, required: ['email'] } },
  }
  const written = (options: { readonly target: string }) => {
    if (options.target !== 'draft-2020-12') throw new Error('Only drafts')
    return schema
  }
  const library: StandardSchemaV1 = {
    '~standard': {
      version: 1,
      vendor: 'drafts',
      validate: (value) => ({ value }),
      jsonSchema: { input: written, output: written },
    },
  }
  const good = { kind: 'a', size: 1, name: null, owner: { email: 'x' }, pair: ['a', 'b'] }
  const wrong = [{ kind: 'b' }, { size: 0 }, { name: 1 }, { owner: {} }, { pair: [1] }]
  const specs = [good, ...wrong.map((fields) => ({ ...good, ...fields }))]
  const [created, ...refused] = await createAll(
    thing(library),
    specs.map((spec) => ({ spec })),
  )
  expect(created?.body['spec']).toEqual(good)
  expect(refused.map(({ status }) => status)).toEqual(wrong.map(() => 422))
})

test.each([
  ['dates', z.date()],
  ['big integers', z.bigint()],
  ['maps', z.map(z.string(), z.string())],
])('a schema with %s is refused, since JSON does not have them', (_, field) => {
  const make = () => toCrd(thing(z.object({ field })))
  expect(make).toThrow(KopfError)
  expect(make).toThrow(/^Cannot create the CRD of things\.example\.com: its spec has types that JSON does not have/)
})

describe('CRDs with several versions', () => {
  const v1 = defineResource({ group, version: 'v1', kind: 'Thing', spec: z.object({ size: z.string() }) })
  const v2 = defineResource({ group, version: 'v2', kind: 'Thing', spec: z.object({ gigabytes: z.number() }) })
  const versionsOf = (definition: object) =>
    (definition as { spec: { versions: Tree[] } }).spec.versions.map(({ name, storage, served }) => [
      name,
      storage,
      served,
    ])

  test('a CRD with several versions stores the first one, and serves all with a schema each', () => {
    const definition = toCrd(v2, v1)
    expect(versionsOf(definition)).toEqual([
      ['v2', true, true],
      ['v1', false, true],
    ])
    expect(definition).toMatchObject({
      spec: {
        versions: [
          { schema: { openAPIV3Schema: { properties: { spec: { required: ['gigabytes'] } } } } },
          { schema: { openAPIV3Schema: { properties: { spec: { required: ['size'] } } } } },
        ],
      },
    })
  })

  test('several resources give one CRD each, which stores the version that Kubernetes prefers', () => {
    const beta = defineResource({ group, version: 'v3beta1', kind: 'Thing' })
    const other = defineResource({ group, version: 'v1', kind: 'Other' })
    const definitions = toCrds([beta, v1, other, v2])
    expect(definitions.map(({ metadata }) => metadata.name)).toEqual([`things.${group}`, `others.${group}`])
    expect(versionsOf(definitions[0]!)).toEqual([
      ['v2', true, true],
      ['v1', false, true],
      ['v3beta1', false, true],
    ])
  })

  const storing = (...choices: (boolean | undefined)[]) =>
    choices.map((storage, at) =>
      defineResource({ group, version: `v${at + 1}`, kind: 'Thing', ...(storage === undefined ? {} : { storage }) }),
    )
  const storedOf = (crd: object) => versionsOf(crd).find(([, storage]) => storage)?.[0]

  test('the version with storage: true is the storage version, also if it is not the first or the highest', () => {
    const [first, ...others] = storing(undefined, true, undefined)
    expect(storedOf(toCrd(first!, ...others))).toBe('v2')
    expect(storedOf(toCrds([...others, first!])[0]!)).toBe('v2')
  })

  test('a version with storage: false is not the storage version by default', () => {
    expect(storedOf(toCrds(storing(undefined, false))[0]!)).toBe('v1')
  })

  test('the names, labels and annotations of all versions are merged', () => {
    const other = defineResource({ group, version: 'v2', kind: 'Thing', shortNames: ['th'], labels: { a: 'b' } })
    const first = defineResource({ group, version: 'v1', kind: 'Thing', shortNames: ['tg'], annotations: { c: 'd' } })
    expect(toCrd(first, other)).toMatchObject({
      metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: { names: { shortNames: ['tg', 'th'] } },
    })
  })

  test.each([
    ['two storage versions', storing(true, true), /v1 and v2 have "storage: true"/],
    ['no storage version', storing(false, false), /every version has "storage: false"/],
    [
      'two scopes',
      [v1, defineResource({ group, version: 'v2', kind: 'Thing', scope: 'Cluster' })],
      /the scope of v1 is "Namespaced", that of v2 is "Cluster"/,
    ],
    ['a version twice', [v1, v1], /the version v1 is given twice; remove one of them/],
    [
      'another resource',
      [v1, defineResource({ group, version: 'v2', kind: 'Other' })],
      /others.example.com is another/,
    ],
  ])('a CRD with %s is refused', (_, versions, expected) => {
    const [first, ...others] = versions as [CustomResource<object>, ...CustomResource<object>[]]
    expect(() => toCrd(first, ...others)).toThrow(expected)
  })
})

/** The schema of the field `field` of the spec in the CRD. */
function fieldOf(field: StandardSchemaV1): Tree {
  const { spec } = toCrd(thing(z.object({ field: field as z.ZodType }))) as unknown as { spec: { versions: Tree[] } }
  const { openAPIV3Schema } = spec.versions[0]!['schema'] as { openAPIV3Schema: Tree }
  type Properties = { properties: { [name: string]: Tree & Properties } }
  return (openAPIV3Schema as Properties).properties['spec']!.properties['field']!
}

test.each<[string, z.ZodType, object]>([
  ['an integer', z.int(), { type: 'integer' }],
  ['a number that is an integer', z.number().int(), { type: 'integer' }],
  ['an integer with a minimum', z.int().min(1), { type: 'integer', minimum: 1 }],
  ['an integer above a number', z.int().gt(0), { type: 'integer', minimum: 0, exclusiveMinimum: true }],
  ['an integer with a maximum', z.int().max(10), { type: 'integer', maximum: 10 }],
  ['an integer of 32 bits', z.int32(), { type: 'integer', minimum: -2147483648, maximum: 2147483647 }],
  ['an integer or null', z.int().nullable(), { type: 'integer', nullable: true }],
  ['an integer with a format', z.int().meta({ format: 'int64' }), { type: 'integer', format: 'int64' }],
])('the schema of %s has no bounds of JavaScript', (_, field, expected) => {
  expect(fieldOf(field)).toEqual(expected)
})

describe('extensions of Kubernetes in the metadata of a schema', () => {
  const rule = { rule: 'self != ""', message: 'must not be empty' }
  const rules = { 'x-kubernetes-validations': [rule] }
  const fieldRules = (field: string) => ({ 'x-kubernetes-validations': [{ rule: `has(self.${field})` }] })

  test.each<[string, z.ZodType, object]>([
    ['a string', z.string().meta(rules), { type: 'string', ...rules }],
    ['an optional string', z.string().meta(rules).optional(), { type: 'string', ...rules }],
    ['a nullable string', z.string().nullable().meta(rules), { type: 'string', nullable: true, ...rules }],
    ['a shared schema', z.string().meta({ id: 'Shared-rule', ...rules }), { type: 'string', ...rules }],
    ['a union of values', z.union([z.literal('a'), z.literal('b')]).meta(rules), { enum: ['a', 'b'], ...rules }],
    ['a union of types', z.union([z.string(), z.number()]).meta({ 'x-kubernetes-int-or-string': true }), {}],
    ['an int or string', z.union([z.int(), z.string()]).meta(rules), { 'x-kubernetes-int-or-string': true, ...rules }],
    [
      'an intersection',
      z
        .object({ a: z.string() })
        .meta(fieldRules('a'))
        .and(z.object({ b: z.string() }).meta(fieldRules('b'))),
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'has(self.a)' }, { rule: 'has(self.b)' }] },
    ],
    ['any resource', z.any().meta({ 'x-kubernetes-embedded-resource': true }), { type: 'object' }],
    [
      'a map as a resource',
      z.record(z.string(), z.string()).meta({ 'x-kubernetes-embedded-resource': true }),
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    ],
  ])('the schema of %s keeps them, and the API server accepts it', async (_, field, expected) => {
    expect(fieldOf(field)).toMatchObject(expected)
    const spec = z.object({ field: field.optional() })
    expect((await create(thing(spec), { spec: {} })).body).toMatchObject({ kind: 'Thing' })
  })

  test('an int or string has no type and no other alternative', () => {
    const port = z.union([z.number(), z.string()]).meta({ 'x-kubernetes-int-or-string': true, description: 'Words' })
    expect(fieldOf(port)).toEqual({ 'x-kubernetes-int-or-string': true, description: 'Words' })
  })

  test('anything with a description may still be null', () => {
    expect(fieldOf(z.any().describe('Words'))).toEqual({
      'x-kubernetes-preserve-unknown-fields': true,
      nullable: true,
      description: 'Words',
    })
  })
})

describe('default printer columns', () => {
  const columnsOf = (status?: z.ZodType) => {
    const { spec } = toCrd(thing(undefined, status)) as unknown as { spec: { versions: Tree[] } }
    const columns = (spec.versions[0]!['additionalPrinterColumns'] ?? []) as Tree[]
    return columns.map(({ name, type, priority = 0 }) => [name, type, priority].join(' '))
  }
  const condition = z.object({ type: z.string(), status: z.string() })
  const reasoned = condition.extend({ reason: z.string().optional() })

  test.each<[string, z.ZodType | undefined, string[]]>([
    ['no status schema', undefined, []],
    ['neither conditions nor a phase', z.object({ url: z.string() }), []],
    ['a phase', z.object({ phase: z.string() }), ['Phase string 0', 'Age date 0']],
    ['conditions', z.object({ conditions: z.array(condition) }), ['Ready string 0', 'Age date 0']],
    [
      'conditions with reasons and a phase',
      z.object({ phase: z.enum(['A', 'B']), conditions: z.array(reasoned).optional() }),
      ['Ready string 0', 'Reason string 1', 'Phase string 0', 'Age date 0'],
    ],
    [
      'open conditions',
      z.object({ conditions: z.array(z.looseObject({})) }),
      ['Ready string 0', 'Reason string 1', 'Age date 0'],
    ],
    ['other conditions', z.object({ conditions: z.array(condition.extend({ type: z.enum(['Up']) })) }), []],
    ['conditions that are strings', z.object({ conditions: z.array(z.string()) }), []],
  ])('of a resource with %s follow from the schema', (_, status, expected) => {
    expect(columnsOf(status)).toEqual(expected)
  })
})
