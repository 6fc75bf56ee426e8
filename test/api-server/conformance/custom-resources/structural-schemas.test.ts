/** Structural schemas of custom objects: validation, pruning and defaults. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { type Cause, expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { dns1035Label } from '../../../support/messages.ts'
import { object } from '../../../support/objects.ts'

const cluster = useCluster()
const path = () => cluster.custom('widgets')

const struct = (properties: Tree, rest: Tree = {}): Tree => ({ type: 'object', properties, ...rest })
const text = (rest: Tree = {}): Tree => ({ type: 'string', ...rest })
const integer = (rest: Tree = {}): Tree => ({ type: 'integer', ...rest })
const open = { 'x-kubernetes-preserve-unknown-fields': true }

const spec = struct({
  text: text({ minLength: 2, maxLength: 4, pattern: '^a' }),
  choice: text({ enum: ['x', 'y'] }),
  integer: integer({ minimum: 1, maximum: 10 }),
  int32: integer({ format: 'int32' }),
  number: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true },
  multiple: integer({ multipleOf: 5 }),
  boolean: { type: 'boolean' },
  list: { type: 'array', items: text(), minItems: 1, maxItems: 2 },
  set: { type: 'array', items: integer(), 'x-kubernetes-list-type': 'set' },
  keyed: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: struct({ name: text(), value: integer() }, { required: ['name'] }),
  },
  needy: struct({ a: text(), b: text() }, { required: ['a', 'b'] }),
  counted: { type: 'object', minProperties: 1, maxProperties: 1, ...open },
  map: { type: 'object', additionalProperties: integer() },
  intOrString: { 'x-kubernetes-int-or-string': true },
  nullable: text({ nullable: true }),
  dateTime: text({ format: 'date-time' }),
  date: text({ format: 'date' }),
  email: text({ format: 'email' }),
  uri: text({ format: 'uri' }),
  ipv4: text({ format: 'ipv4' }),
  uuid: text({ format: 'uuid' }),
  byte: text({ format: 'byte' }),
  duration: text({ format: 'duration' }),
  cidr: text({ format: 'cidr' }),
  unknownFormat: text({ format: 'nonsense' }),
  any: struct({ p: text(), q: text() }, { anyOf: [{ required: ['p'] }, { required: ['q'] }] }),
  one: integer({ oneOf: [{ minimum: 5 }, { maximum: 7 }] }),
  not: text({ not: { enum: ['bad'] } }),
  all: integer({ allOf: [{ minimum: 2 }, { maximum: 4 }] }),
  embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
  default: struct({ inner: integer({ default: 5 }) }, { default: {} }),
  nullableDefault: text({ nullable: true, default: 'd' }),
  plainDefault: text({ default: 'd' }),
  deep: struct({ list: { type: 'array', items: struct({ value: integer() }) } }),
  lists: { type: 'array', items: struct({ value: integer({ default: 7 }) }) },
  open: struct({ known: struct({ k: text() }) }, open),
})

const defaults = { default: { inner: 5 }, nullableDefault: 'd', plainDefault: 'd' }

let count = 0

function send(value: Tree): Promise<Answer> {
  return cluster.api.post(path(), object(`${cluster.group}/v1`, 'Widget', `object-${++count}`, { spec: value }))
}

beforeAll(() => cluster.install({ kind: 'Widget', schema: struct({ spec }) }))

describe('values that a structural schema refuses', () => {
  const wrongType = (field: string, found: string, expected: string): Cause => [
    'FieldValueTypeInvalid',
    `${field}: Invalid value: "${found}": ${field} in body must be of type ${expected}: "${found}"`,
  ]
  const invalid = (field: string, value: string, rule: string) =>
    `${field}: Invalid value: ${value}: ${field} in body ${rule}`
  const whole = (message: string) => `<nil>: Invalid value: "": ${message}`

  test.each<[string, Tree, Cause[]]>([
    ['short text', { text: 'a' }, [invalid('spec.text', '"a"', 'should be at least 2 chars long')]],
    ['long text', { text: 'abcde' }, ['spec.text: Too long: may not be more than 4 bytes']],
    ['text that does not match', { text: 'bb' }, [invalid('spec.text', '"bb"', "should match '^a'")]],
    ['a number for text', { text: 5 }, [wrongType('spec.text', 'integer', 'string')]],
    ['an object for text', { text: {} }, [wrongType('spec.text', 'object', 'string')]],
    ['a value outside the enum', { choice: 'z' }, ['spec.choice: Unsupported value: "z": supported values: "x", "y"']],
    [
      'a number below the minimum',
      { integer: 0 },
      [invalid('spec.integer', '0', 'should be greater than or equal to 1')],
    ],
    [
      'a number above the maximum',
      { integer: 11 },
      [invalid('spec.integer', '11', 'should be less than or equal to 10')],
    ],
    [
      'a fraction for an integer',
      { integer: 1.5 },
      [
        wrongType('spec.integer', 'number', 'integer'),
        whole('Checked value must be of type integer (default format) in spec.integer'),
      ],
    ],
    ['text for an integer', { integer: '1' }, [wrongType('spec.integer', 'string', 'integer')]],
    ['a boolean for an integer', { integer: true }, [wrongType('spec.integer', 'boolean', 'integer')]],
    [
      'an integer of more than 32 bits',
      { int32: 3_000_000_000 },
      [whole('Checked value must be of type integer with format int32 in spec.int32')],
    ],
    ['the excluded minimum', { number: 0 }, [invalid('spec.number', '0', 'should be greater than 0')]],
    ['the excluded maximum', { number: 1 }, [invalid('spec.number', '1', 'should be less than 1')]],
    ['text for a number', { number: 'x' }, [wrongType('spec.number', 'string', 'number')]],
    ['a number that is not a multiple', { multiple: 7 }, [invalid('spec.multiple', '7', 'should be a multiple of 5')]],
    ['text for a boolean', { boolean: 'true' }, [wrongType('spec.boolean', 'string', 'boolean')]],
    ['a short list', { list: [] }, [invalid('spec.list', '0', 'should have at least 1 items')]],
    ['a long list', { list: ['a', 'b', 'c'] }, ['spec.list: Too many: 3: must have at most 2 items']],
    ['a wrong item', { list: [1] }, [wrongType('spec.list[0]', 'integer', 'string')]],
    ['an object for a list', { list: {} }, [wrongType('spec.list', 'object', 'array')]],
    [
      'a duplicate in a set',
      { set: [1, 2, 1, 2] },
      ['spec.set[2]: Duplicate value: 1', 'spec.set[3]: Duplicate value: 2'],
    ],
    [
      'a duplicate key in a keyed list',
      { keyed: [{ name: 'a' }, { name: 'a' }] },
      ['spec.keyed[1]: Duplicate value: {"name":"a"}'],
    ],
    ['a list item without its key', { keyed: [{ value: 1 }] }, ['spec.keyed[0].name: Required value']],
    ['missing required fields', { needy: {} }, ['spec.needy.a: Required value', 'spec.needy.b: Required value']],
    ['null for a required field', { needy: { a: null, b: 'x' } }, ['spec.needy.a: Required value']],
    ['too few fields', { counted: {} }, [invalid('spec.counted', '0', 'should have at least 1 properties')]],
    ['too many fields', { counted: { a: 1, b: 2 } }, ['spec.counted: Too many: 2: must have at most 1 item']],
    ['a wrong value in a map', { map: { a: 'x' } }, [wrongType('spec.map.a', 'string', 'integer')]],
    [
      'a value that is neither an integer nor text',
      { intOrString: true },
      [wrongType('spec.intOrString', 'boolean', 'integer,string')],
    ],
    [
      'a fraction for an integer or text',
      { intOrString: 1.5 },
      [wrongType('spec.intOrString', 'number', 'integer,string')],
    ],
    ['a number for nullable text', { nullable: 5 }, [wrongType('spec.nullable', 'integer', 'string')]],
    ['a malformed date-time', { dateTime: 'x' }, [wrongType('spec.dateTime', 'x', 'date-time')]],
    ['a malformed date', { date: '2020-13-01' }, [wrongType('spec.date', '2020-13-01', 'date')]],
    ['a malformed email address', { email: 'x' }, [wrongType('spec.email', 'x', 'email')]],
    ['a malformed uri', { uri: 'x y' }, [wrongType('spec.uri', 'x y', 'uri')]],
    ['a malformed IPv4 address', { ipv4: '1.2.3' }, [wrongType('spec.ipv4', '1.2.3', 'ipv4')]],
    ['a malformed uuid', { uuid: 'x' }, [wrongType('spec.uuid', 'x', 'uuid')]],
    ['malformed base64', { byte: '!' }, [wrongType('spec.byte', '!', 'byte')]],
    ['a malformed duration', { duration: 'x' }, [wrongType('spec.duration', 'x', 'duration')]],
    ['a malformed CIDR', { cidr: 'x' }, [wrongType('spec.cidr', 'x', 'cidr')]],
    [
      'a value that matches no schema of anyOf',
      { any: {} },
      [whole('"spec.any" must validate at least one schema (anyOf)'), 'spec.any.p: Required value'],
    ],
    [
      'a value that matches two schemas of oneOf',
      { one: 6 },
      [whole('"spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives')],
    ],
    [
      'a value that matches the schema of not',
      { not: 'bad' },
      [whole('"spec.not" must not validate the schema (not)')],
    ],
    [
      'a value that violates a schema of allOf',
      { all: 1 },
      [
        invalid('spec.all', '1', 'should be greater than or equal to 2'),
        whole('"spec.all" must validate all the schemas (allOf)'),
      ],
    ],
    [
      'a wrong value in a nested field',
      { deep: { list: [{ value: 'x' }] } },
      [wrongType('spec.deep.list[0].value', 'string', 'integer')],
    ],
    ['null in a list', { deep: { list: [null] } }, [wrongType('spec.deep.list[0]', 'null', 'object')]],
    [
      'an embedded object without kind and version',
      { embedded: {} },
      ['spec.embedded.apiVersion: Required value', 'spec.embedded.kind: Required value'],
    ],
    [
      'an embedded object with a wrong kind',
      { embedded: { apiVersion: 'v1', kind: 'x y' } },
      [`spec.embedded.kind: Invalid value: "x y": may have mixed case, but should otherwise match: ${dns1035Label}`],
    ],
    [
      'an embedded object with a wrong version',
      { embedded: { apiVersion: 'a/b/c', kind: 'Pod' } },
      ['spec.embedded.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
  ])('a structural schema refuses %s', async (_, value, causes) => {
    const answer = await send(value)
    expectInvalid(answer, { kind: 'Widget', group: cluster.group, name: `object-${count}` }, ...causes)
  })

  test('a refusal by a structural schema lists all violations', async () => {
    const answer = await send({ text: 'bb', integer: 0, boolean: 'x' })
    expect(answer.status).toBe(422)
    // Sorted, since the order of the causes is not defined.
    const causes = (answer.body['details'] as { causes: Tree[] }).causes
    expect(causes.map(({ field }) => field).sort()).toEqual(['spec.boolean', 'spec.integer', 'spec.text'])
  })

  test('a refusal by a structural schema names the wrong type of the parent, not its fields', async () => {
    const answer = await cluster.api.post(path(), object(`${cluster.group}/v1`, 'Widget', 'wrong', { spec: 'text' }))
    const subject = { kind: 'Widget', group: cluster.group, name: 'wrong' }
    expectInvalid(answer, subject, wrongType('spec', 'string', 'object'))
  })

  test('an embedded object with malformed metadata is a bad request', async () => {
    const answer = await send({ embedded: { apiVersion: 'v1', kind: 'Pod', metadata: 5 } })
    const message =
      'Widget in version "v1" cannot be handled as a Widget: spec.embedded.metadata: Invalid value: 5: ' +
      'json: cannot unmarshal number into Go value of type v1.ObjectMeta'
    expectFailure(answer, 400, 'BadRequest', message)
  })
})

describe('values that a structural schema accepts', () => {
  const embedded = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { anything: 1 } }

  test.each<[string, Tree]>([
    ['text within its length limits', { text: 'abcd' }],
    ['text by its length in characters, not bytes', { text: 'aüöä' }],
    ['an integer at its limits', { integer: 10 }],
    ['numbers with fractions', { number: 0.25 }],
    ['an empty map', { map: {} }],
    ['a map', { map: { a: 1, 'b.c/d': 2 } }],
    ['an integer or text', { intOrString: '50%' }],
    ['null for a nullable field', { nullable: null }],
    ['a time', { dateTime: '2020-01-01T00:00:00+02:00' }],
    ['a duration', { duration: '1h' }],
    ['any text for an unknown format', { unknownFormat: 'x' }],
    ['a value that matches one schema of anyOf', { any: { q: '1' } }],
    ['an embedded object', { embedded }],
    ['any value under x-kubernetes-preserve-unknown-fields', { open: { a: [1, { b: null }], known: { k: 'v' } } }],
    ['lists, and keeps their order', { set: [3, 1, 2] }],
    ['empty lists', { set: [] }],
    ['large integers', { int32: 2_147_483_647, map: { large: 9_007_199_254_740_991 } }],
  ])('a structural schema accepts %s', async (_, value) => {
    const answer = await send(value)
    expectStatus(answer, 201)
    expect(answer.body.spec).toEqual({ ...defaults, ...value })
  })
})

describe('defaults of a structural schema', () => {
  test.each<[string, Tree, Tree]>([
    ['fill in missing fields', {}, {}],
    ['fill in fields of a given object', { default: {} }, {}],
    ['do not replace given values', { default: { inner: 1 } }, { default: { inner: 1 } }],
    ['replace null for a field that is not nullable', { plainDefault: null, default: null }, {}],
    ['do not replace null for a nullable field', { nullableDefault: null }, { nullableDefault: null }],
    ['fill in fields of list items', { lists: [{}, { value: 1 }] }, { lists: [{ value: 7 }, { value: 1 }] }],
  ])('defaults of a structural schema %s', async (_, value, expected) => {
    const answer = await send(value)
    expectStatus(answer, 201)
    expect(answer.body.spec).toEqual({ ...defaults, ...expected })
  })

  test('defaults of a structural schema are not filled in under a missing parent', async () => {
    const answer = await cluster.api.post(path(), object(`${cluster.group}/v1`, 'Widget', 'without-spec'))
    expectStatus(answer, 201)
    expect(answer.body).not.toHaveProperty('spec')
  })
})

describe('pruning', () => {
  test.each<[string, Tree, Tree, string[]]>([
    ['drops unknown fields', { nonsense: 1 }, {}, ['spec.nonsense']],
    [
      'drops unknown fields of list items',
      { deep: { list: [{ value: 1, extra: 1 }] } },
      { deep: { list: [{ value: 1 }] } },
      ['spec.deep.list[0].extra'],
    ],
    [
      'drops unknown fields in the specified parts of open values',
      { open: { a: 1, known: { x: 1 } } },
      { open: { a: 1, known: {} } },
      ['spec.open.known.x'],
    ],
    [
      'drops unknown fields of the metadata of embedded objects',
      { embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', extra: 1 }, extra: 1 } },
      { embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, extra: 1 } },
      ['spec.embedded.metadata.extra'],
    ],
  ])('pruning %s', async (_, value, expected, fields) => {
    const answer = await send(value)
    expectStatus(answer, 201)
    expect(answer.body.spec).toEqual({ ...defaults, ...expected })
    expect(warningsOf(answer)).toEqual(fields.map((field) => `unknown field "${field}"`))
  })

  test('pruning drops null for fields that are not nullable, without a warning', async () => {
    const answer = await send({ text: null, list: null, map: null, deep: { list: null } })
    expectStatus(answer, 201)
    expect(answer.body.spec).toEqual({ ...defaults, deep: {} })
    expect(warningsOf(answer)).toEqual([])
  })
})

describe('ratcheting validation', () => {
  test('a stored value that violates a later schema stays while other fields change', async () => {
    const group = `ratchet.${cluster.group}`
    const definition = await cluster.installAs({
      group,
      kind: 'Thing',
      schema: struct({ spec: struct({ a: text(), b: text() }) }),
    })
    const things = `/apis/${group}/v1/namespaces/${cluster.namespace}/things`
    const thing = object(`${group}/v1`, 'Thing', 'old', { spec: { a: 'long text', b: 'x' } })
    expectStatus(await cluster.api.post(things, thing), 201)
    const stricter = struct({ spec: struct({ a: text({ maxLength: 3 }), b: text() }) })
    const crdPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`
    const operations = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: stricter }]
    expectStatus(await cluster.api.jsonPatch(crdPath, operations), 200)
    const fresh = { ...thing, metadata: { name: 'new' } }
    // The new schema is in force when a new object that violates it is refused.
    await expect
      .poll(async () => (await cluster.api.post(things, fresh, { query: { dryRun: 'All' } })).status, {
        timeout: 10_000,
      })
      .toBe(422)
    const untouched = await cluster.api.mergePatch(`${things}/old`, { spec: { b: 'y' } })
    expect(untouched.status).toBe(200)
    const touched = await cluster.api.mergePatch(`${things}/old`, { spec: { a: 'other text' } })
    const message = 'spec.a: Too long: may not be more than 3 bytes'
    expectInvalid(touched, { kind: 'Thing', group, name: 'old' }, message)
  })
})
