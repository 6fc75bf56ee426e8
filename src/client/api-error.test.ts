import { describe, expect, test } from 'vitest'
import { KopfError } from '../errors.ts'
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
  isTooManyRequests,
  isUnauthorized,
  isUnprocessable,
  parseRetryAfter,
  toApiError,
} from './api-error.ts'

const call = { method: 'GET', path: '/api/v1/pods' } as const

function status(code: number, rest: object = {}): string {
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...rest })
}

describe('API errors', () => {
  test('an API error has the request, the status, the reason and the message of the response', () => {
    const text = status(404, { reason: 'NotFound', message: 'pods "a" not found', details: { name: 'a' } })
    const error = toApiError(call, { status: 404, text })
    expect(error).toBeInstanceOf(KopfError)
    expect(error).toMatchObject({
      name: 'ApiError',
      code: 'KOPF_API',
      status: 404,
      reason: 'NotFound',
      details: { name: 'a' },
      message: 'Cannot GET /api/v1/pods: 404 NotFound: pods "a" not found',
    })
  })

  test('an API error quotes a plain text response on one line, cut to 256 characters', () => {
    const error = toApiError(call, { status: 502, text: `bad\r\ngateway ${'x'.repeat(1000)}` })
    const told = error.message.slice('Cannot GET /api/v1/pods: 502: '.length)
    expect(told).toHaveLength(256)
    expect(told).toMatch(/^bad gateway x+\.\.\.$/)
  })

  test('an API error does not quote a JSON response that is not a Status', () => {
    const text = JSON.stringify({ kind: 'Secret', message: 'hush', data: { a: 'hush' } })
    expect(toApiError(call, { status: 500, text }).message).toBe('Cannot GET /api/v1/pods: 500')
  })

  test.each(['{"kind":"Status"', 'null', '[]', '', '{"kind":"Status","message":5,"reason":{},"details":[]}'])(
    'an API error is made from the malformed response %j',
    (text) => {
      expect(toApiError(call, { status: 500, text })).toMatchObject({ status: 500, reason: '', details: {} })
    },
  )

  test('an API error takes its retry delay from the Retry-After header or from the details of the Status', () => {
    const text = status(429, { details: { retryAfterSeconds: 3 } })
    expect(toApiError(call, { status: 429, text }).retryAfterMs).toBe(3000)
    expect(toApiError(call, { status: 429, text, retryAfterMs: 5000 }).retryAfterMs).toBe(5000)
    expect(toApiError(call, { status: 429, text: status(429) }).retryAfterMs).toBeUndefined()
  })
})

test.each([
  ['5', 5000],
  [' 1.5 ', 1500],
  ['0', 0],
  ['Tue, 01 Jan 2030 00:00:10 GMT', 10_000],
  ['Tue, 01 Jan 2019 00:00:10 GMT', 0],
  ['soon', undefined],
  ['-5', 0],
  ['', undefined],
  [undefined, undefined],
  [['7', '8'], 7000],
])('the Retry-After header %j is parsed as %j ms', (header, expected) => {
  const told = parseRetryAfter(header, Date.UTC(2030, 0, 1))
  // Some engines parse "-5" as a date in the past, which also means no delay.
  expect(header === '-5' ? (told ?? 0) : told).toBe(expected)
})

const predicates = {
  isNotFound,
  isConflict,
  isAlreadyExists,
  isGone,
  isUnauthorized,
  isForbidden,
  isUnprocessable,
  isTooManyRequests,
}

test.each([
  [404, '', 'isNotFound'],
  [409, 'Conflict', 'isConflict'],
  [409, '', 'isConflict'],
  [409, 'AlreadyExists', 'isAlreadyExists'],
  [410, 'Expired', 'isGone'],
  [401, '', 'isUnauthorized'],
  [403, '', 'isForbidden'],
  [422, '', 'isUnprocessable'],
  [429, '', 'isTooManyRequests'],
  [500, '', undefined],
])('an API error %d %s satisfies only the predicate %s', (code, reason, expected) => {
  const error = new ApiError({ ...call, status: code, reason })
  const names = Object.entries(predicates).filter(([, is]) => is(error))
  expect(names.map(([name]) => name)).toEqual(expected === undefined ? [] : [expected])
})

test.each([undefined, null, new Error('x'), { status: 404 }])(
  'the value %j satisfies no predicate of API errors',
  (value) => {
    for (const is of Object.values(predicates)) expect(is(value)).toBe(false)
  },
)
