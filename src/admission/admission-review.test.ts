import { expect, test } from 'vitest'
import { AdmissionError, PermanentError, TemporaryError } from '../errors.ts'
import { toAdmissionResponse } from './admission-review.ts'

const nothing = { errors: [], warnings: [], edits: [] }

test('an admission review without errors is allowed', () => {
  expect(toAdmissionResponse(nothing)).toEqual({ allowed: true, warnings: [], patch: undefined, status: undefined })
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
  ['the first of two equal errors', [other, new Error('second')], { code: 500, message: 'o' }],
  ['an admission error before all other errors', [other, temporary, permanent, admission], { code: 409, message: 'a' }],
  ['a permanent error before a temporary error', [temporary, permanent], { code: 500, message: 'p' }],
  ['a temporary error before other errors', [other, temporary], { code: 500, message: 't' }],
  [
    'a fixed text for an error that cannot be read',
    [unreadable],
    { code: 500, message: 'an error that cannot be read' },
  ],
  [
    'the status 500 instead of an invalid status',
    [new AdmissionError('a', { status: Number.NaN })],
    { code: 500, message: 'a' },
  ],
  [
    'the status 500 instead of a success status',
    [new AdmissionError('a', { status: 204 })],
    { code: 500, message: 'a' },
  ],
  [
    'the status of a subclass of AdmissionError',
    [new (class Own extends AdmissionError {})('a', { status: 401 })],
    { code: 401, message: 'a' },
  ],
])('a denied admission review has %s', (_name, errors, status) => {
  expect(toAdmissionResponse({ ...nothing, errors })).toMatchObject({ allowed: false, status })
})

test('the patch of an admission response is in base64 and keeps large integers', () => {
  const edits = [{ op: 'add', path: '/a', value: 9223372036854775807n as never } as const]
  const { patch } = toAdmissionResponse({ ...nothing, edits })
  expect(Buffer.from(patch!, 'base64').toString()).toBe('[{"op":"add","path":"/a","value":9223372036854775807}]')
})
