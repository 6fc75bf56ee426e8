import { expect, test } from 'vitest'
import { AdmissionError, PermanentError, TemporaryError } from '../../errors.ts'
import { toVerdict } from './verdict.ts'

const nothing = { errors: [], warnings: [], edits: [] }

test('nothing said is a yes', () => {
  expect(toVerdict(nothing)).toEqual({ allowed: true, warnings: [], patch: undefined, status: undefined })
})

const admission = new AdmissionError('a', { status: 409 })
const permanent = new PermanentError('p')
const temporary = new TemporaryError('t')
const other = new Error('o')
const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error('hands off')
    },
    getPrototypeOf() {
      throw new Error('hands off')
    },
  },
)

test.each<[string, readonly unknown[], { code: number; message: string }]>([
  ['the first of two alike', [other, new Error('second')], { code: 500, message: 'o' }],
  ['an admission error before all', [other, temporary, permanent, admission], { code: 409, message: 'a' }],
  ['a permanent one before a temporary one', [temporary, permanent], { code: 500, message: 'p' }],
  ['a temporary one before others', [other, temporary], { code: 500, message: 't' }],
  ['what cannot be looked at', [unreadable], { code: 500, message: 'an error that cannot be read' }],
  ['a status that is none', [new AdmissionError('a', { status: Number.NaN })], { code: 500, message: 'a' }],
  ['a status of success', [new AdmissionError('a', { status: 204 })], { code: 500, message: 'a' }],
  [
    'a status of a class of its own',
    [new (class Own extends AdmissionError {})('a', { status: 401 })],
    { code: 401, message: 'a' },
  ],
])('a refusal tells %s', (_name, errors, status) => {
  expect(toVerdict({ ...nothing, errors })).toMatchObject({ allowed: false, status })
})

test('edits are told in base64, with integers of any size', () => {
  const edits = [{ op: 'add', path: '/a', value: 9223372036854775807n as never } as const]
  const { patch } = toVerdict({ ...nothing, edits })
  expect(Buffer.from(patch!, 'base64').toString()).toBe('[{"op":"add","path":"/a","value":9223372036854775807}]')
})
