/** Rules in CEL that cannot be part of a definition: wrong by grammar or type, unable to know an old value, or too dear. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { type Cause, expectInvalid, expectStatus } from '../support/expectations.ts'

const cluster = useCluster()
const root = 'spec.validation.openAPIV3Schema'
const text = { type: 'string', maxLength: 20 }

const properties: Tree = {
  name: text,
  size: { type: 'integer' },
  list: { type: 'array', maxItems: 5, items: { type: 'integer' } },
  open: { type: 'string' },
}

/** Definitions are not kept. */
function send(schema: Tree): Promise<Answer> {
  return cluster.api.post(crdsPath, crd({ group: cluster.group, kind: 'Widget', schema }), { query: { dryRun: 'All' } })
}

const subject = () => ({
  kind: 'CustomResourceDefinition',
  group: 'apiextensions.k8s.io',
  name: `widgets.${cluster.group}`,
})

const withRule = (rule: Tree | string): Tree => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': [typeof rule === 'string' ? { rule } : rule],
})

function shown(rule: Tree): string {
  const { rule: source, message = '', messageExpression = '', optionalOldSelf = null } = rule
  return JSON.stringify({
    Rule: source,
    Message: message,
    MessageExpression: messageExpression,
    Reason: null,
    FieldPath: '',
    OptionalOldSelf: optionalOldSelf,
  })
    .replaceAll('&', '\\u0026')
    .replaceAll('<', '\\u003c')
    .replaceAll('>', '\\u003e')
}

const starters = `'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER`

describe('a rule cannot', () => {
  /** The place is that of the caret below the source. */
  const drawn = (rule: string, column: number, message: string): string =>
    `compilation failed: ERROR: <input>:1:${column}: ${message}\n | ${rule}\n | ${'.'.repeat(column - 1)}^`

  test.each<[string, string, number, string]>([
    ['name a field that is not there', 'self.nothing == 1', 5, "undefined field 'nothing'"],
    ['name a variable that is not there', 'nobody == 1', 1, "undeclared reference to 'nobody' (in container '')"],
    ['call what is not there', 'self.size.twice() == 1', 16, "undeclared reference to 'twice' (in container '')"],
    [
      'compare what cannot be equal',
      "self.size == 'a'",
      11,
      "found no matching overload for '_==_' applied to '(int, string)'",
    ],
    ['mix types in a list', "[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"],
    ['have half a comparison', 'self.size ==', 13, `Syntax error: mismatched input '<EOF>' expecting {${starters}}`],
    ['have an open bracket', '(self.size == 1', 16, "Syntax error: missing ')' at '<EOF>'"],
    [
      'have an operator too many',
      'self.size == == 1',
      14,
      `Syntax error: extraneous input '==' expecting {${starters}}`,
    ],
    ['use a word of the language', 'self.size == for', 14, 'reserved identifier: for'],
    ['have a pattern that is none', "self.name.matches('[')", 19, 'invalid matches argument'],
    ['have a duration that is none', "duration('x') == duration('1s')", 10, 'invalid duration argument'],
    ['ask for the presence of a value', 'has(self)', 5, 'invalid argument to has() macro'],
    [
      'run over a number',
      'self.size.all(x, true)',
      5,
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ['have a condition that is none', 'self.size && true', 5, "expected type 'bool' but found 'int'"],
  ])('%s', async (_, rule, column, message) => {
    const field = `${root}.x-kubernetes-validations[0].rule`
    const cause = `${field}: Invalid value: ${shown({ rule })}: ${drawn(rule, column, message)}`
    expectInvalid(await send(withRule(rule)), subject(), cause)
  })

  const rule = (name = 'rule') => `${root}.x-kubernetes-validations[0].${name}`
  test.each<[string, Tree, Cause[]]>([
    [
      'be no truth',
      withRule('self.size'),
      [`${rule()}: Invalid value: ${shown({ rule: 'self.size' })}: cel expression must evaluate to a bool`],
    ],
    [
      'be made words of another type',
      withRule({ rule: 'true', messageExpression: '1' }),
      [
        `${rule('messageExpression')}: Invalid value: ${shown({ rule: 'true', messageExpression: '1' })}: messageExpression must evaluate to a string`,
      ],
    ],
    [
      'have an optional old value without asking for it',
      withRule({ rule: 'true', optionalOldSelf: true }),
      [`${rule('optionalOldSelf')}: Invalid value: true: may not be set if oldSelf is not used in rule`],
    ],
    [
      'ask for the old value of an item without keys',
      {
        type: 'object',
        properties: {
          list: {
            type: 'array',
            maxItems: 5,
            items: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
          },
        },
      },
      [
        `${root}.properties[list].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${root}.properties[list]`,
      ],
    ],
    [
      'stand where there is no type',
      {
        type: 'object',
        properties: {
          any: { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule: 'true' }] },
        },
      },
      [
        `${root}.properties[any].x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations`,
      ],
    ],
  ])('%s', async (_, schema, causes) => {
    expectInvalid(await send(schema), subject(), ...causes)
  })
})

describe('a rule is too dear', () => {
  const advice =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
  const list = (items: Tree, rest: Tree = {}): Tree => ({ type: 'array', items, ...rest })
  const dear = (properties: Tree, rule: string): Tree => ({
    type: 'object',
    properties,
    'x-kubernetes-validations': [{ rule }],
  })
  const field = `${root}.x-kubernetes-validations[0].rule`
  const contributed = `${field}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`
  const total = (factor: string) =>
    `${root}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ${factor} ${advice}`

  test('by far', async () => {
    const schema = dear({ list: list({ type: 'string' }) }, 'self.list.all(x, self.list.all(y, x == y))')
    const own = `${field}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`
    expectInvalid(await send(schema), subject(), own, contributed, total('more than 100x'))
  })

  test.each([
    ['a little', 1300, '1.014780x'],
    ['somewhat', 2000, '2.4x'],
  ])('by %s', async (_, maxItems, factor) => {
    const schema = dear(
      { list: list({ type: 'integer' }, { maxItems }) },
      'self.list.all(x, self.list.exists(y, x == y))',
    )
    const { causes } = (await send(schema)).body['details'] as { readonly causes: readonly Tree[] }
    expect(causes[0]).toEqual({
      reason: 'FieldValueForbidden',
      field,
      message: `Forbidden: estimated rule cost exceeds budget by factor of ${factor} ${advice}`,
    })
  })

  test('and is not where limits are set', async () => {
    const limited = list({ type: 'string', maxLength: 10 }, { maxItems: 100 })
    expectStatus(await send(dear({ list: limited }, 'self.list.all(x, self.list.all(y, x == y))')), 201)
  })
})
