/** Kept sequences with CEL rules: CRDs as dry runs, and objects of created CRDs. */
import type { Tree } from '../../../support/answers.ts'
import type { Command } from './commands.ts'
import { ruledDefinition } from './fuzzed-resources.ts'
import { create, type KeptCase } from './kept-cases.ts'

function definition(properties: Tree, query: Record<string, string> = {}): Command {
  const spec = { type: 'object', properties }
  return {
    method: 'POST',
    resource: 'definitions',
    query,
    body: ruledDefinition({ type: 'object', properties: { spec } }),
  }
}

const tried = (properties: Tree): Command => definition(properties, { dryRun: 'All' })
const ruled = (schema: Tree, ...rules: Tree[]): Tree => ({ ...schema, 'x-kubernetes-validations': rules })
const written = (spec: Tree): Command => ({ ...create('ruled', { name: 'a' }, { spec }), query: { dryRun: 'All' } })

const integer: Tree = { type: 'integer', default: 3 }
const dateTime: Tree = { type: 'string', format: 'date-time' }
const bytes: Tree = { type: 'string', format: 'byte' }
const duration: Tree = { type: 'string', format: 'duration' }

export const ruleCases: readonly KeptCase[] = [
  {
    name: 'a default must satisfy the CEL rules of its schema',
    commands: [
      tried({ count: ruled(integer, { rule: 'self > 3' }) }),
      tried({ count: ruled(integer, { rule: 'self > oldSelf', reason: 'FieldValueForbidden' }) }),
      tried({ count: ruled(integer, { rule: 'oldSelf.hasValue()', optionalOldSelf: true }) }),
      tried({
        count: ruled(integer, { rule: "double('a') > 1.0" }),
        other: ruled({ type: 'string' }, { rule: 'self' }),
      }),
      tried({
        nested: { type: 'object', default: {}, properties: { count: ruled(integer, { rule: 'self < 3' }) } },
      }),
    ],
  },
  {
    name: 'constant CEL expressions are folded at compile time, also of dynamic type',
    commands: [
      tried({ text: ruled({ type: 'string' }, { rule: 'true', messageExpression: "'%d'.format([int(dyn('a'))])" }) }),
    ],
  },
  {
    name: 'the CEL function format checks the elements of lists and maps',
    commands: [
      tried({ text: ruled({ type: 'string' }, { rule: "'%s'.format([{'a': optional.of('b')}]) == ''" }) }),
      tried({ text: ruled({ type: 'string' }, { rule: "'%s'.format([[quantity('1')]]) == ''" }) }),
    ],
  },
  {
    name: 'a CEL rule that does not compile may use oldSelf',
    commands: [
      tried({
        text: ruled({ type: 'string' }, { rule: "bool('a') && oldSelf.hasValue()", optionalOldSelf: true }),
        number: ruled({ type: 'string' }, { rule: "int('a')" }),
        words: ruled({ type: 'string' }, { rule: 'true', messageExpression: "int('a')" }),
        has: ruled({ type: 'string' }, { rule: 'has(true.a) || has(self.a)' }),
      }),
    ],
  },
  {
    name: 'the equality of CEL quantities depends on which side is computed',
    commands: [
      definition({
        left: ruled({ type: 'string' }, { rule: "quantity('2').sub(1) == quantity('1')" }),
        right: ruled({ type: 'string' }, { rule: "quantity('1') == quantity('2').sub(1)" }),
      }),
      written({ left: 'a', right: 'a' }),
    ],
  },
  {
    name: 'the CEL format %e prints exponents without spaces',
    commands: [tried({ count: ruled(integer, { rule: 'false', messageExpression: "'%e'.format([1e300])" }) })],
  },
  {
    name: 'free type variables of CEL are numbered from zero',
    commands: [tried({ text: ruled({ type: 'string' }, { rule: "self == 'a' || optional.none()" }) })],
  },
  {
    name: 'values that fit their format and cannot be parsed fail only rules that read them',
    commands: [
      definition({
        unread: ruled(dateTime, { rule: 'false' }),
        read: ruled(dateTime, { rule: "self > timestamp('2024-01-01T00:00:00Z')" }),
        excused: ruled(dateTime, { rule: "self > timestamp('2024-01-01T00:00:00Z') || true" }),
        bytes: ruled(bytes, { rule: 'size(self) == 2' }),
        long: ruled(duration, { rule: "self > duration('0')" }),
      }),
      written({ unread: '2024-01-01T00:00:00z' }),
      written({ read: '2024-01-01T00:00:00z' }),
      written({ read: '2024-01-01t00:00:00Z' }),
      written({ read: '2024-01-01T00:00:00,5+99:99' }),
      written({ excused: '2024-01-01T00:00:00z' }),
      written({ bytes: '/wA=' }),
      written({ bytes: 'A+A=' }),
      written({ long: '9223372037s' }),
    ],
  },
]
