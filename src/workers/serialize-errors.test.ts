import { describe, expect, test } from 'vitest'
import { ApiError, isNotFound } from '../client/api-error.ts'
import { HandlerRetriesError, HandlerTimeoutError, KopfError, PermanentError, TemporaryError } from '../errors.ts'
import { deserializeError, serializeError, serializeField } from './serialize-errors.ts'

/** Carries a thrown value to another thread and returns the restored value. */
function cross<T>(thrown: T): T {
  return deserializeError(structuredClone(serializeError(thrown))) as T
}

class Impatient extends TemporaryError {}
class Strange extends TypeError {
  override name = 'Strange'
  readonly where = { line: 3 }
  readonly handler = () => {}
}

describe('errors across threads', () => {
  test.each([
    [new KopfError('KOPF_MINE', 'mine'), KopfError],
    [new TemporaryError('later', { delay: '5m' }), TemporaryError],
    [new TemporaryError('at once', { delay: null }), TemporaryError],
    [new Impatient('soon', { delay: 1 }), TemporaryError],
    [new PermanentError('never'), PermanentError],
    [new HandlerTimeoutError('too long'), HandlerTimeoutError],
    [new HandlerRetriesError('too often'), HandlerRetriesError],
    [new ApiError({ method: 'GET', path: '/x', status: 404, reason: 'NotFound' }), ApiError],
    [new TypeError('no function'), TypeError],
    [new Error('anything'), Error],
  ])('an error keeps its class across threads: %s', (error, type) => {
    const there = cross(error as Error)
    expect(there).not.toBe(error)
    expect(there).toBeInstanceOf(type)
    expect(there.name).toBe(error.name)
    expect(there.stack).toBe(error.stack)
    expect({ ...there }).toEqual(Object.fromEntries(Object.entries(error).filter(([key]) => key !== 'name')))
    expect(there.message).toBe(error.message)
    expect(there instanceof PermanentError).toBe(error instanceof PermanentError)
    expect(there instanceof TemporaryError).toBe(error instanceof TemporaryError)
  })

  test('an API error satisfies the same predicates across threads', () => {
    expect(isNotFound(cross(new ApiError({ method: 'GET', path: '/x', status: 404, reason: 'NotFound' })))).toBe(true)
  })

  test('an error of an unknown class becomes one of its nearest known class, with all fields that can be copied', () => {
    const there = cross(new Strange('odd'))
    expect(there).toBeInstanceOf(TypeError)
    expect(there.name).toBe('Strange')
    expect({ ...there }).toEqual({ where: { line: 3 } })
  })

  test('an error keeps its causes across threads', () => {
    const there = cross(new Error('outer', { cause: new TemporaryError('inner', { cause: 'text' }) }))
    expect(there.cause).toBeInstanceOf(TemporaryError)
    expect((there.cause as Error).cause).toBe('text')
    const all = cross(new AggregateError([new RangeError('one'), 2], 'several'))
    expect(all).toBeInstanceOf(AggregateError)
    expect(all.errors).toEqual([new RangeError('one'), 2])
  })

  test('an error that causes itself is carried with a finite depth', () => {
    const error = new Error('round')
    error.cause = error
    let depth = 0
    for (let one: unknown = cross(error); one !== undefined; one = (one as Error).cause) depth += 1
    expect(depth).toBe(7)
  })

  test('an abort error keeps its name across threads', () => {
    const there = cross(new DOMException('Stopped', 'AbortError'))
    expect(there).toBeInstanceOf(Error)
    expect(there).toMatchObject({ name: 'AbortError', message: 'Stopped' })
  })
})

describe('thrown values across threads', () => {
  test.each([['text'], [null], [undefined], [3n], [{ code: 1 }]])(
    'a thrown value that can be copied is carried unchanged: %s',
    (thrown) => {
      expect(cross(thrown)).toEqual(thrown)
    },
  )

  test.each([
    ['a function', () => {}, 'function ()'],
    ['a promise', Promise.resolve(), 'Promise {}'],
    [
      'hostile',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no')
          },
        },
      ),
      'an error that cannot be read',
    ],
  ])('a thrown value that cannot be copied becomes an error that describes it: %s', (_, thrown, message) => {
    expect(cross(thrown)).toMatchObject({ message })
  })

  test('a field of a log line is carried with the same text as without a thread', () => {
    expect(deserializeError(serializeField({ fn: () => {}, n: 1 }))).toEqual({ fn: '[function]', n: 1 })
    expect(deserializeError(serializeField(new Map([['a', 1]])))).toEqual(new Map([['a', 1]]))
  })
})
