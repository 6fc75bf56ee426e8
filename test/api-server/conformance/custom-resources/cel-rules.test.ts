/** CEL rules (`x-kubernetes-validations`): refused values, messages, transition rules and ratcheting. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { type Cause, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { object } from '../../../support/objects.ts'

const cluster = useCluster()
const path = () => cluster.custom('widgets')

const struct = (properties: Tree, rest: Tree = {}): Tree => ({ type: 'object', properties, ...rest })
const text = (rest: Tree = {}): Tree => ({ type: 'string', maxLength: 20, ...rest })
const integer = (rest: Tree = {}): Tree => ({ type: 'integer', ...rest })
const rules = (...list: Array<string | Tree>): Tree => ({
  'x-kubernetes-validations': list.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
})

const spec = struct(
  {
    low: integer(),
    high: integer(),
    size: integer(rules('self % 2 == 0')),
    name: text(rules({ rule: "self.startsWith('a')", message: 'must begin with an a' })),
    worded: text(rules({ rule: "self == 'x'", messageExpression: "'not x but ' + self" })),
    wordless: text(rules({ rule: "self == 'x'", message: 'plain', messageExpression: 'self.substring(99)' })),
    forbidden: text(rules({ rule: 'false', reason: 'FieldValueForbidden', message: 'never' })),
    required: text(rules({ rule: 'false', reason: 'FieldValueRequired', message: 'missing' })),
    duplicate: text(rules({ rule: 'false', reason: 'FieldValueDuplicate', message: 'twice' })),
    pointing: struct(
      { inner: text(), map: { type: 'object', additionalProperties: text() } },
      rules(
        { rule: '!has(self.inner)', fieldPath: '.inner', message: 'no inner' },
        { rule: '!has(self.map)', fieldPath: ".map['key']", message: 'no map' },
      ),
    ),
    list: { type: 'array', maxItems: 10, items: integer(rules('self > 0')) },
    map: { type: 'object', maxProperties: 10, additionalProperties: text(rules("self != ''")) },
    keyed: {
      type: 'array',
      maxItems: 5,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: struct(
        { name: text(), value: integer() },
        { required: ['name'], ...rules('self.value >= oldSelf.value') },
      ),
    },
    immutable: text(rules({ rule: 'self == oldSelf', message: 'immutable' })),
    grown: integer(rules({ rule: '!oldSelf.hasValue() || self >= oldSelf.value()', optionalOldSelf: true })),
    intOrString: { 'x-kubernetes-int-or-string': true, ...rules("type(self) == int ? self > 1 : self == 'ok'") },
    loose: { 'x-kubernetes-int-or-string': true, ...rules('self > 1') },
    nullable: text({ nullable: true, ...rules("self == 'x'") }),
    divided: integer(rules('10 / self > 1')),
    until: text({ format: 'date-time', ...rules("self > timestamp('2020-01-01T00:00:00Z')") }),
    wait: text({ format: 'duration', ...rules("self <= duration('1h')") }),
    bytes: text({ format: 'byte', ...rules('size(self) == 5') }),
    'with-dash': integer(),
    embedded: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...rules("self.kind == 'Pod' && self.metadata.name.startsWith('p')"),
    },
  },
  rules('!has(self.low) || !has(self.high) || self.low <= self.high', {
    rule: '!has(self.with__dash__dash) || self.with__dash__dash == 1',
    message: 'dashed',
  }),
)

const schema = struct(
  { spec, status: struct({ phase: text(rules("self != 'Bad'")) }) },
  rules("self.metadata.name.startsWith('object') && self.kind == 'Widget'"),
)

let count = 0
const next = () => `object-${++count}`

const widget = (name: string, value: Tree): Tree => object(`${cluster.group}/v1`, 'Widget', name, { spec: value })
const send = (value: Tree, name = next()): Promise<Answer> => cluster.api.post(path(), widget(name, value))

beforeAll(() => cluster.install({ kind: 'Widget', schema, subresources: { status: {} } }))

describe('values that a CEL rule refuses', () => {
  const failed = (field: string, rule: string, value = '') => `${field}: Invalid value: ${value}failed rule: ${rule}`

  test.each<[string, Tree, Cause[]]>([
    ['by its own rule', { size: 3 }, [failed('spec.size', 'self % 2 == 0', '3: ')]],
    [
      'by a rule of its parent',
      { low: 2, high: 1 },
      [failed('spec', '!has(self.low) || !has(self.high) || self.low <= self.high')],
    ],
    ['with the message of the rule', { name: 'b' }, ['spec.name: Invalid value: "b": must begin with an a']],
    ['with the messageExpression of the rule', { worded: 'y' }, ['spec.worded: Invalid value: "y": not x but y']],
    [
      'with the message of the rule where its messageExpression fails',
      { wordless: 'y' },
      ['spec.wordless: Invalid value: "y": plain'],
    ],
    ['as Forbidden by the reason of the rule', { forbidden: 'a' }, ['spec.forbidden: Forbidden: never']],
    ['as Required by the reason of the rule', { required: 'a' }, ['spec.required: Required value: missing']],
    ['as Duplicate by the reason of the rule', { duplicate: 'a' }, ['spec.duplicate: Duplicate value: "a"']],
    ['at the fieldPath of the rule', { pointing: { inner: 'a' } }, ['spec.pointing.inner: Invalid value: no inner']],
    [
      'at the map key in the fieldPath of the rule',
      { pointing: { map: {} } },
      ['spec.pointing.map[key]: Invalid value: no map'],
    ],
    ['by a rule for list items', { list: [1, 0] }, [failed('spec.list[1]', 'self > 0', '0: ')]],
    ['by a rule for map values', { map: { a: 'x', b: '' } }, [failed('spec.map[b]', "self != ''", '"": ')]],
    [
      'by a rule for an int-or-string',
      { intOrString: 'no' },
      [failed('spec.intOrString', "type(self) == int ? self > 1 : self == 'ok'", '"no": ')],
    ],
    [
      'where no operator overload fits its type',
      { loose: 'a' },
      [
        `spec.loose: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self > 1`,
      ],
    ],
    [
      'where the evaluation of the rule fails',
      { divided: 0 },
      ['spec.divided: Invalid value: "integer": division by zero evaluating rule: 10 / self > 1'],
    ],
    [
      'by a rule for a date-time',
      { until: '2019-01-01T00:00:00Z' },
      [failed('spec.until', "self > timestamp('2020-01-01T00:00:00Z')", '"2019-01-01T00:00:00Z": ')],
    ],
    ['by a rule for a duration', { wait: '2h' }, [failed('spec.wait', "self <= duration('1h')", '"2h": ')]],
    ['by a rule for bytes', { bytes: 'YQ==' }, [failed('spec.bytes', 'size(self) == 5', '"YQ==": ')]],
    ['by a rule for a field with an escaped name', { 'with-dash': 2 }, ['spec: Invalid value: dashed']],
    [
      'by a rule for an embedded resource',
      { embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'q' } } },
      [failed('spec.embedded', "self.kind == 'Pod' && self.metadata.name.startsWith('p')")],
    ],
  ])('the API server refuses a value %s', async (_, value, causes) => {
    const name = next()
    expectInvalid(await send(value, name), { kind: 'Widget', group: cluster.group, name }, ...causes)
  })

  test('a CEL rule at the root of the schema sees the name of the object', async () => {
    const rule = "self.metadata.name.startsWith('object') && self.kind == 'Widget'"
    const answer = await send({}, 'other')
    const subject = { kind: 'Widget', group: cluster.group, name: 'other' }
    expectInvalid(answer, subject, `<nil>: Invalid value: failed rule: ${rule}`)
  })

  test('CEL rules are not evaluated for a field whose schema is violated', async () => {
    const name = next()
    expectInvalid(
      await send({ low: 'x', size: 3 }, name),
      { kind: 'Widget', group: cluster.group, name },
      [
        'FieldValueTypeInvalid',
        'spec.low: Invalid value: "string": spec.low in body must be of type integer: "string"',
      ],
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    )
  })
})

test('the API server accepts a value that satisfies all CEL rules, and skips rules for null', async () => {
  const value = { low: 1, high: 2, size: 4, name: 'a', worded: 'x', list: [1], map: { a: 'b' }, nullable: null }
  const more = {
    immutable: 'a',
    grown: 1,
    intOrString: 2,
    until: '2021-01-01T00:00:00Z',
    wait: '10m',
    bytes: 'aGVsbG8=',
  }
  expectStatus(await send({ ...value, ...more, keyed: [{ name: 'a', value: 1 }] }), 201)
})

describe('transition rules', () => {
  async function change(before: Tree, after: Tree): Promise<{ name: string; answer: Answer }> {
    const name = next()
    expectStatus(await send(before, name), 201)
    return { name, answer: await cluster.api.mergePatch(`${path()}/${name}`, { spec: after }) }
  }
  const subject = (name: string) => ({ kind: 'Widget', group: cluster.group, name })

  test('a CEL rule with oldSelf runs only where an old value exists', async () => {
    const { name, answer } = await change({ immutable: 'a' }, { immutable: 'b' })
    expectInvalid(answer, subject(name), 'spec.immutable: Invalid value: "b": immutable')
    expectStatus((await change({}, { immutable: 'b' })).answer, 200)
  })

  test('a CEL rule for list items finds their old values by the keys of the list', async () => {
    const before = {
      keyed: [
        { name: 'a', value: 1 },
        { name: 'b', value: 5 },
      ],
    }
    const { name, answer } = await change(before, {
      keyed: [
        { name: 'b', value: 4 },
        { name: 'c', value: 0 },
        { name: 'a', value: 1 },
      ],
    })
    const failed = 'spec.keyed[0]: Invalid value: failed rule: self.value >= oldSelf.value'
    expectInvalid(answer, subject(name), failed)
  })

  test('a CEL rule with optionalOldSelf runs without an old value too', async () => {
    const { name, answer } = await change({ grown: 5 }, { grown: 4 })
    const rule = '!oldSelf.hasValue() || self >= oldSelf.value()'
    expectInvalid(answer, subject(name), `spec.grown: Invalid value: 4: failed rule: ${rule}`)
    expectStatus((await change({}, { grown: 4 })).answer, 200)
  })

  test('CEL rules apply to the status', async () => {
    const name = next()
    expectStatus(await send({}, name), 201)
    const answer = await cluster.api.mergePatch(`${path()}/${name}/status`, { status: { phase: 'Bad' } })
    expectInvalid(answer, subject(name), `status.phase: Invalid value: "Bad": failed rule: self != 'Bad'`)
  })
})

test('a stored value that violates a later CEL rule stays, with a warning, while it does not change', async () => {
  const plain = struct({ spec: struct({ size: integer(), note: text() }) })
  const definition = await cluster.install({ kind: 'Gadget', schema: plain })
  const gadgets = cluster.custom('gadgets')
  const gadget = object(`${cluster.group}/v1`, 'Gadget', 'first', { spec: { size: 3 } })
  expectStatus(await cluster.api.post(gadgets, gadget), 201)
  const ruled = struct({ spec: struct({ size: integer(rules('self % 2 == 0')), note: text() }) })
  const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: ruled } }]
  expectStatus(await cluster.api.mergePatch(crd, { spec: { versions } }), 200)
  const refusal = 'spec.size: Invalid value: 3: failed rule: self % 2 == 0'
  // The new schema is in force when an object that breaks it is refused.
  await expect
    .poll(async () => (await cluster.api.post(gadgets, { ...gadget, metadata: { generateName: 'x-' } })).status, {
      timeout: 20_000,
    })
    .toBe(422)
  const noted = await cluster.api.mergePatch(`${gadgets}/first`, { spec: { note: 'a' } })
  expectStatus(noted, 200)
  expect(warningsOf(noted)).toEqual([refusal])
  const changed = await cluster.api.mergePatch(`${gadgets}/first`, { spec: { size: 5 } })
  expectInvalid(changed, { kind: 'Gadget', group: cluster.group, name: 'first' }, refusal.replace('3:', '5:'))
})

test('a CEL rule that exceeds its cost limit is cancelled, and other requests are served meanwhile', async () => {
  const list = { type: 'array', maxItems: 900, items: integer() }
  const rule = 'self.list.all(x, self.list.all(y, x + y >= 0))'
  await cluster.install({ kind: 'Bomb', schema: struct({ spec: struct({ list }, rules(rule)) }) })
  const bomb = object(`${cluster.group}/v1`, 'Bomb', 'first', { spec: { list: Array.from({ length: 900 }, () => 1) } })
  const [refused, served] = await Promise.all([cluster.api.post(cluster.custom('bombs'), bomb), send({})])
  const cancelled = `'operation cancelled: actual cost limit exceeded'`
  const words = 'no further validation rules will be run due to call cost exceeds limit for rule'
  const cause = `spec: Invalid value: "object": ${cancelled}: ${words}: ${rule}`
  expectInvalid(refused, { kind: 'Bomb', group: cluster.group, name: 'first' }, cause)
  expectStatus(served, 201)
})
