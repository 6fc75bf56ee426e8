/** What rules in CEL once made two servers answer differently: definitions that are tried, and objects of those that are made. */
import type { Tree } from '../../support/answers.ts'
import type { Command } from './commands.ts'
import { ruledDefinition } from './definitions.ts'
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
    name: 'a default has to agree with the rules of its schema',
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
    name: 'what is made of constants alone is made ahead, also where it is anything',
    commands: [
      tried({ text: ruled({ type: 'string' }, { rule: 'true', messageExpression: "'%d'.format([int(dyn('a'))])" }) }),
    ],
  },
  {
    name: 'lists and maps that are to be formatted are looked into',
    commands: [
      tried({ text: ruled({ type: 'string' }, { rule: "'%s'.format([{'a': optional.of('b')}]) == ''" }) }),
      tried({ text: ruled({ type: 'string' }, { rule: "'%s'.format([[quantity('1')]]) == ''" }) }),
    ],
  },
  {
    name: 'a rule that is no program may have used its old value',
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
    name: 'a sum of quantities is equal to others, and others to none',
    commands: [
      definition({
        left: ruled({ type: 'string' }, { rule: "quantity('2').sub(1) == quantity('1')" }),
        right: ruled({ type: 'string' }, { rule: "quantity('1') == quantity('2').sub(1)" }),
      }),
      written({ left: 'a', right: 'a' }),
    ],
  },
  {
    name: 'a power of ten is written without spaces',
    commands: [tried({ count: ruled(integer, { rule: 'false', messageExpression: "'%e'.format([1e300])" }) })],
  },
  {
    name: 'types that are free are counted from nothing',
    commands: [tried({ text: ruled({ type: 'string' }, { rule: "self == 'a' || optional.none()" }) })],
  },
  {
    name: 'what fits its format and cannot be read is no matter to rules that do not read it',
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
