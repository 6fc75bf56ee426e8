import { describe, expect, test } from 'vitest'
import { ApiError, isNotFound } from '../../client/api-error.ts'
import { HandlerRetriesError, HandlerTimeoutError, KopfError, PermanentError, TemporaryError } from '../../errors.ts'
import { carry, carryField, restore } from './carried-errors.ts'

/** To another thread, and what is there then. */
function cross<T>(thrown: T): T {
  return restore(structuredClone(carry(thrown))) as T
}

class Impatient extends TemporaryError {}
class Strange extends TypeError {
  override name = 'Strange'
  readonly where = { line: 3 }
  readonly handler = () => {}
}

describe('an error', () => {
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
  ])('is the same one there: %s', (error, type) => {
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

  test('is judged by the same predicates', () => {
    expect(isNotFound(cross(new ApiError({ method: 'GET', path: '/x', status: 404, reason: 'NotFound' })))).toBe(true)
  })

  test('of a class that is not known there is of the nearest one that is, with all that can be copied', () => {
    const there = cross(new Strange('odd'))
    expect(there).toBeInstanceOf(TypeError)
    expect(there.name).toBe('Strange')
    expect({ ...there }).toEqual({ where: { line: 3 } })
  })

  test('brings its causes along', () => {
    const there = cross(new Error('outer', { cause: new TemporaryError('inner', { cause: 'text' }) }))
    expect(there.cause).toBeInstanceOf(TemporaryError)
    expect((there.cause as Error).cause).toBe('text')
    const all = cross(new AggregateError([new RangeError('one'), 2], 'several'))
    expect(all).toBeInstanceOf(AggregateError)
    expect(all.errors).toEqual([new RangeError('one'), 2])
  })

  test('that causes itself has an end', () => {
    const error = new Error('round')
    error.cause = error
    let depth = 0
    for (let one: unknown = cross(error); one !== undefined; one = (one as Error).cause) depth += 1
    expect(depth).toBe(7)
  })

  test('of an abort is known by its name', () => {
    const there = cross(new DOMException('Stopped', 'AbortError'))
    expect(there).toBeInstanceOf(Error)
    expect(there).toMatchObject({ name: 'AbortError', message: 'Stopped' })
  })
})

describe('what is no error', () => {
  test.each([['text'], [null], [undefined], [3n], [{ code: 1 }]])('crosses as it is: %s', (thrown) => {
    expect(cross(thrown)).toEqual(thrown)
  })

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
  ])('becomes an error that says what it was where it cannot be copied: %s', (_, thrown, message) => {
    expect(cross(thrown)).toMatchObject({ message })
  })

  test('is shown in a log line as it would be without a thread', () => {
    expect(restore(carryField({ fn: () => {}, n: 1 }))).toEqual({ fn: '[function]', n: 1 })
    expect(restore(carryField(new Map([['a', 1]])))).toEqual(new Map([['a', 1]]))
  })
})
