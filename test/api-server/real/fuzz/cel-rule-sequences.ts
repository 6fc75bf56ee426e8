/**
 * Random CRDs with CEL rules, and writes of their objects. Each sequence sends some CRDs as dry runs, creates one, and writes one or
 * two fields at a time: with more fields, some rule would always be violated.
 */
import fc from 'fast-check'
import type { Tree } from '../../../support/answers.ts'
import { Choices, expression, type Scope } from './cel-expressions.ts'
import type { Kind } from './cel-grammar.ts'
import type { Command } from './commands.ts'
import { ruledDefinition, types } from './fuzzed-resources.ts'

interface Field {
  readonly kind: Kind
  readonly schema: Tree
  /** Limits that are added to the schema. They change the estimated cost of rules. */
  readonly bounds?: readonly Tree[]
  readonly values: readonly unknown[]
}

const text: Tree = { type: 'string', maxLength: 20 }
const integer: Tree = { type: 'integer' }
const lengths = [{ maxLength: 20 }, {}, { maxLength: 3, minLength: 1 }, { enum: ['a', 'b', 'aab', 'true'] }]
const counts = [{ maxItems: 5 }, {}, { maxItems: 2, minItems: 1 }]

const port: Tree = { type: 'object', required: ['name'], properties: { name: text, port: integer } }

const fields: Readonly<Record<string, Field>> = {
  text: {
    kind: 'string',
    schema: { type: 'string' },
    bounds: lengths,
    values: ['a', '', 'b', 'aab', 'é😀x', 'true', '10'],
  },
  count: {
    kind: 'int',
    schema: integer,
    bounds: [{}, { format: 'int32' }, { minimum: 0, maximum: 10 }, { default: 3 }],
    values: [1, 0, -3, 2147483647, 9007199254740991, 2.0],
  },
  ratio: { kind: 'double', schema: { type: 'number' }, values: [1.5, 1, 0, -0.25, 1e21, 1e-7] },
  on: { kind: 'bool', schema: { type: 'boolean' }, values: [true, false] },
  tags: {
    kind: 'strings',
    schema: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    bounds: counts,
    values: [['a'], [], ['b', 'a'], ['a', 'a'], ['é', 'x', 'b', 'c']],
  },
  list: {
    kind: 'ints',
    schema: { type: 'array', items: integer },
    bounds: counts,
    values: [[1], [], [3, 1, 2], [9007199254740991, 1], [0, 0]],
  },
  ports: {
    kind: 'ports',
    schema: { type: 'array', items: port, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    bounds: counts,
    values: [
      [{ name: 'a', port: 1 }],
      [],
      [{ name: 'b' }, { name: 'a', port: 2 }],
      [
        { name: 'a', port: 1 },
        { name: 'b', port: 0 },
      ],
      [{ port: 1 }],
    ],
  },
  labels: {
    kind: 'labels',
    schema: { type: 'object', additionalProperties: text },
    bounds: [{ maxProperties: 4 }, {}],
    values: [{ a: 'x' }, {}, { a: 'a', b: 'b' }, { 'c-d': '', a: 'é' }],
  },
  limits: {
    kind: 'limits',
    schema: { type: 'object', additionalProperties: integer },
    bounds: [{ maxProperties: 4 }, {}],
    values: [{ a: 1 }, {}, { a: 0, b: 5 }],
  },
  nested: {
    kind: 'nested',
    schema: { type: 'object', properties: { inner: text, deep: { ...integer, default: 4 } } },
    bounds: [{}, { default: {} }],
    values: [{ inner: 'a' }, {}, { deep: 1 }, { inner: 'b', deep: 0 }],
  },
  amount: { kind: 'amount', schema: { 'x-kubernetes-int-or-string': true }, values: [1, 'a', 0, '10'] },
  since: {
    kind: 'timestamp',
    schema: { type: 'string', format: 'date-time' },
    values: [
      '2024-02-29T12:30:45Z',
      '2024-02-29T12:30:45.5+02:00',
      '1999-12-31T23:59:59z',
      '2024-02-29t00:00:00+24:00',
      '2024-02-29T00:00:00x5Z',
      '2024-02-29T00:00:00,5+99:99',
      'yesterday',
    ],
  },
  day: {
    kind: 'timestamp',
    schema: { type: 'string', format: 'date' },
    values: ['2024-02-29', '2023-02-29', '0001-01-01'],
  },
  wait: {
    kind: 'duration',
    schema: { type: 'string', format: 'duration' },
    values: ['1h', '1h2m3.5s', '-5ms', '0', '2 days', '9223372037s', 'soon'],
  },
  data: { kind: 'bytes', schema: { type: 'string', format: 'byte' }, values: ['YQ==', '/wA=', 'w6k=', 'x'] },
  'with-dash': { kind: 'int', schema: integer, values: [1, 0, 7] },
  free: {
    kind: 'string',
    schema: { type: 'string', nullable: true },
    bounds: [{ maxLength: 20 }, {}],
    values: ['a', null, '', 'b'],
  },
}

const names = Object.keys(fields)

function nameInRule(name: string): string {
  return name.replaceAll('-', '__dash__')
}

/** The variables of a rule for a value of this type. */
function scopeOf(kind: Kind, isTransition: boolean): Scope {
  const variables = isTransition ? ['self', 'oldSelf'] : ['self']
  return kind === 'ports' ? { ports: variables, port: variables.map((each) => `${each}[0]`) } : { [kind]: variables }
}

/** The variables of a rule for the whole object: the chosen fields, whose presence the rule checks. */
function scopeOfWhole(chosen: readonly string[], path: string): Scope {
  const scope: Partial<Record<Kind, string[]>> = {}
  for (const name of chosen) {
    const { kind } = fields[name]!
    const variable = `${path}.${nameInRule(name)}`
    scope[kind] = [...(scope[kind] ?? []), variable]
    if (kind === 'ports') scope['port'] = [...(scope['port'] ?? []), `${variable}[0]`]
  }
  return scope
}

/** The depth of expressions: nested iterations would be refused for their cost. */
const depths = { wild: 3, tame: 2 }

function ruleAbout(scope: Scope, isTransition: boolean, choices: Choices): Tree {
  const depth = choices.isWild ? depths.wild : depths.tame
  const condition = expression('bool', scope, choices, depth)
  return withWords({ rule: condition }, scope, isTransition, choices)
}

function withWords(rule: Tree, scope: Scope, isTransition: boolean, choices: Choices): Tree {
  const words = [
    {},
    { message: 'not so' },
    { messageExpression: expression('string', scope, choices, 2) },
    { reason: choices.of(['FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate', 'FieldValueInvalid']) },
    { message: choices.isWild ? 'two\nlines' : ' one line ' },
  ]
  const isOptional = isTransition && choices.below(8) === 7
  return { ...rule, ...choices.of(words), ...(isOptional ? { optionalOldSelf: true } : {}) }
}

function ruleOfWhole(choices: Choices): Tree {
  const chosen = [choices.of(names), choices.of(names)]
  const isTransition = choices.below(4) === 3
  const scope = scopeOfWhole(chosen, choices.below(4) === 3 && isTransition ? 'oldSelf' : 'self')
  const guards = chosen.map((name) => `!has(self.${nameInRule(name)})`)
  const old = isTransition ? chosen.map((name) => `!has(oldSelf.${nameInRule(name)})`) : []
  const { rule, ...words } = ruleAbout(scope, isTransition, choices)
  const places = [`.${chosen[0]}`, `['${chosen[1]}']`, '.nested.inner', ".labels['k']"]
  if (choices.isWild) places.push('.none', '.tags[0]')
  const fieldPath = choices.below(3) === 2 ? choices.of(places) : ''
  return { rule: [...guards, ...old, `(${rule})`].join(' || '), ...words, ...(fieldPath === '' ? {} : { fieldPath }) }
}

function ruleOfField(name: string, choices: Choices): Tree {
  const isTransition = choices.below(3) === 2
  return ruleAbout(scopeOf(fields[name]!.kind, isTransition), isTransition, choices)
}

interface Inside {
  readonly field: string
  readonly place: 'items' | 'additionalProperties'
  readonly kind: Kind
}

const insides: readonly Inside[] = [
  { field: 'list', place: 'items', kind: 'int' },
  { field: 'tags', place: 'items', kind: 'string' },
  { field: 'ports', place: 'items', kind: 'port' },
  { field: 'labels', place: 'additionalProperties', kind: 'string' },
]

function withRules(schema: Tree, rules: readonly Tree[]): Tree {
  return rules.length === 0 ? schema : { ...schema, 'x-kubernetes-validations': rules }
}

/** The random numbers of each rule: rules of fields, of the whole object, and of list items or map values. */
interface Numbers {
  readonly ofFields: readonly number[][]
  readonly ofWhole: readonly number[][]
  readonly ofInsides: readonly number[][]
}

function definitionOf({ ofFields, ofWhole, ofInsides }: Numbers, isWild: boolean): Tree {
  const properties = new Map(names.map((name) => [name, { ...fields[name]!.schema, ...fields[name]!.bounds?.[0] }]))
  for (const numbers of ofFields) {
    const choices = new Choices(numbers, isWild)
    const name = choices.of(names)
    const { schema, bounds = [{}] } = fields[name]!
    const bound = isWild ? choices.of(bounds) : bounds[0]
    properties.set(name, withRules({ ...schema, ...bound }, [ruleOfField(name, choices)]))
  }
  for (const numbers of ofInsides) {
    const choices = new Choices(numbers, isWild)
    const { field, place, kind } = choices.of(insides)
    const isTransition = choices.below(4) === 3
    const schema = properties.get(field)!
    const rule = ruleAbout(scopeOf(kind, isTransition), isTransition, choices)
    properties.set(field, { ...schema, [place]: withRules(schema[place] as Tree, [rule]) })
  }
  const rules = ofWhole.map((numbers) => ruleOfWhole(new Choices(numbers, isWild)))
  const spec = withRules({ type: 'object', properties: Object.fromEntries(properties) }, rules)
  return ruledDefinition({ type: 'object', properties: { spec } })
}

const numbers = fc.array(fc.nat(9699), { maxLength: 40, size: 'max' })
const some = (maxLength: number) => fc.array(numbers, { maxLength, size: 'max' })
const wild = fc
  .record({ ofFields: some(4), ofWhole: some(3), ofInsides: some(1) })
  .map((numbers) => definitionOf(numbers, true))
const tame = fc
  .record({ ofFields: some(5), ofWhole: some(3), ofInsides: some(1) })
  .map((numbers) => definitionOf(numbers, false))

const change: fc.Arbitrary<Tree> = fc
  .array(
    fc.constantFrom(...names).chain((name) => fc.constantFrom(...fields[name]!.values).map((value) => [name, value])),
    { minLength: 1, maxLength: 2 },
  )
  .map((entries) => Object.fromEntries(entries) as Tree)

const query = fc.constantFrom<Record<string, string>>({}, {}, {}, { dryRun: 'All' }, { fieldValidation: 'Strict' })

const write: fc.Arbitrary<Command> = fc
  .record({ way: fc.constantFrom('merge', 'put', 'json', 'apply', 'post'), query, spec: change })
  .map(({ way, query, spec }): Command => {
    const object = { ...types.ruled, metadata: { name: 'a' }, spec }
    const at = { resource: 'ruled', name: 'a', query } as const
    const operations = Object.entries(spec).map(([name, value]) => ({ op: 'add', path: `/spec/${name}`, value }))
    const managed = { ...query, fieldManager: 'fuzz', force: 'true' }
    if (way === 'put') return { ...at, method: 'PUT', body: { $read: 'a', spec } }
    if (way === 'post')
      return {
        method: 'POST',
        resource: 'ruled',
        query: { dryRun: 'All' },
        body: { ...object, metadata: { name: 'b' } },
      }
    if (way === 'json') return { ...at, method: 'PATCH', patch: 'json', body: operations }
    if (way === 'apply') return { ...at, method: 'PATCH', patch: 'apply', query: managed, body: object }
    return { ...at, method: 'PATCH', patch: 'merge', body: { spec } }
  })

const tried = wild.map((body): Command => ({ method: 'POST', resource: 'definitions', query: { dryRun: 'All' }, body }))
const made = tame.map((body): Command => ({ method: 'POST', resource: 'definitions', body }))
const begun: Command = {
  method: 'POST',
  resource: 'ruled',
  body: { ...types.ruled, metadata: { name: 'a' }, spec: {} },
}

const several = (command: fc.Arbitrary<Command>, maxLength: number) =>
  fc.array(command, { minLength: 1, maxLength, size: 'max' })

/** Several CRDs are created in turn: the first accepted one stays, and the later ones conflict with it. */
export function ruledObjects(maxLength: number): fc.Arbitrary<Command[]> {
  return fc
    .tuple(several(tried, 6), several(made, 4), several(write, maxLength))
    .map(([tries, definitions, writes]) => [...tries, ...definitions, begun, ...writes])
}
