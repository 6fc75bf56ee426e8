/** CEL rules that a CRD cannot have: syntax errors, type errors, oldSelf where no old value can be found, or too high a cost. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crd, crdsPath } from '../../../support/crds.ts'
import { type Cause, expectInvalid, expectStatus } from '../../../support/expectations.ts'

const cluster = useCluster()
const root = 'spec.validation.openAPIV3Schema'
const text = { type: 'string', maxLength: 20 }

const properties: Tree = {
  name: text,
  size: { type: 'integer' },
  list: { type: 'array', maxItems: 5, items: { type: 'integer' } },
  open: { type: 'string' },
}

/** A dry run. */
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

describe('CEL rules that do not compile', () => {
  /** The message of the CEL compiler, with a caret under the column of the source. */
  const drawn = (rule: string, column: number, message: string): string =>
    `compilation failed: ERROR: <input>:1:${column}: ${message}\n | ${rule}\n | ${'.'.repeat(column - 1)}^`

  test.each<[string, string, number, string]>([
    ['name an unknown field', 'self.nothing == 1', 5, "undefined field 'nothing'"],
    ['name an unknown variable', 'nobody == 1', 1, "undeclared reference to 'nobody' (in container '')"],
    ['call an unknown function', 'self.size.twice() == 1', 16, "undeclared reference to 'twice' (in container '')"],
    [
      'compare values of different types',
      "self.size == 'a'",
      11,
      "found no matching overload for '_==_' applied to '(int, string)'",
    ],
    ['mix types in a list', "[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"],
    [
      'have an incomplete comparison',
      'self.size ==',
      13,
      `Syntax error: mismatched input '<EOF>' expecting {${starters}}`,
    ],
    ['have an unclosed parenthesis', '(self.size == 1', 16, "Syntax error: missing ')' at '<EOF>'"],
    [
      'have a duplicate operator',
      'self.size == == 1',
      14,
      `Syntax error: extraneous input '==' expecting {${starters}}`,
    ],
    ['use a reserved word', 'self.size == for', 14, 'reserved identifier: for'],
    ['have a malformed pattern', "self.name.matches('[')", 19, 'invalid matches argument'],
    ['have a malformed duration', "duration('x') == duration('1s')", 10, 'invalid duration argument'],
    ['use has() on a value without a field', 'has(self)', 5, 'invalid argument to has() macro'],
    [
      'iterate over a number',
      'self.size.all(x, true)',
      5,
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ['have a condition of another type than boolean', 'self.size && true', 5, "expected type 'bool' but found 'int'"],
  ])('a CEL rule cannot %s', async (_, rule, column, message) => {
    const field = `${root}.x-kubernetes-validations[0].rule`
    const cause = `${field}: Invalid value: ${shown({ rule })}: ${drawn(rule, column, message)}`
    expectInvalid(await send(withRule(rule)), subject(), cause)
  })

  const rule = (name = 'rule') => `${root}.x-kubernetes-validations[0].${name}`
  test.each<[string, Tree, Cause[]]>([
    [
      'have another result than a boolean',
      withRule('self.size'),
      [`${rule()}: Invalid value: ${shown({ rule: 'self.size' })}: cel expression must evaluate to a bool`],
    ],
    [
      'have a messageExpression of another type than string',
      withRule({ rule: 'true', messageExpression: '1' }),
      [
        `${rule('messageExpression')}: Invalid value: ${shown({ rule: 'true', messageExpression: '1' })}: messageExpression must evaluate to a string`,
      ],
    ],
    [
      'set optionalOldSelf without oldSelf in the rule',
      withRule({ rule: 'true', optionalOldSelf: true }),
      [`${rule('optionalOldSelf')}: Invalid value: true: may not be set if oldSelf is not used in rule`],
    ],
    [
      'use oldSelf for list items without keys',
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
      'stand where the schema has no type',
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
  ])('a CEL rule cannot %s', async (_, schema, causes) => {
    expectInvalid(await send(schema), subject(), ...causes)
  })
})

describe('CEL rules over the cost budget', () => {
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

  test('the API server refuses a CEL rule whose estimated cost exceeds the budget by more than 100 times', async () => {
    const schema = dear({ list: list({ type: 'string' }) }, 'self.list.all(x, self.list.all(y, x == y))')
    const own = `${field}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`
    expectInvalid(await send(schema), subject(), own, contributed, total('more than 100x'))
  })

  test.each([
    ['by a factor of 1.01', 1300, '1.014780x'],
    ['by a factor of 2.4', 2000, '2.4x'],
  ])('the API server refuses a CEL rule whose estimated cost exceeds the budget %s', async (_, maxItems, factor) => {
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

  test('the API server accepts a costly CEL rule where maxItems and maxLength limit its cost', async () => {
    const limited = list({ type: 'string', maxLength: 10 }, { maxItems: 100 })
    expectStatus(await send(dear({ list: limited }, 'self.list.all(x, self.list.all(y, x == y))')), 201)
  })
})
