import { describe, expect, test } from 'vitest'
import { HandlerRetriesError, HandlerTimeoutError, PermanentError, TemporaryError } from '../errors.ts'
import { describeError, nameError } from '../util/log/describe-error.ts'
import type { ErrorsMode } from './options.ts'
import { ChildrenRetry, checkLimits, type HandlerAttempt, toErrorOutcome, toOutcome } from './outcomes.ts'

interface Given {
  readonly errors?: ErrorsMode
  readonly timeoutMs?: number
  readonly limit?: number
  readonly backoffMs?: number
  readonly runtimeMs?: number
  readonly retries?: number
}

function attemptOf({
  errors = 'temporary',
  timeoutMs,
  limit,
  backoffMs,
  runtimeMs = 0,
  retries = 0,
}: Given): HandlerAttempt {
  return {
    handler: { id: 'h', errors, timeoutMs, retries: limit, backoffMs },
    startedMs: 1000,
    nowMs: 1000 + runtimeMs,
    retries,
    defaultBackoffMs: 60_000,
  }
}

test('the return value of a handler is its result', () => {
  expect(toOutcome({ a: 1 })).toEqual({ type: 'done', result: { a: 1 } })
})

describe('limits', () => {
  test.each<[Given, string | undefined]>([
    [{}, undefined],
    [{ timeoutMs: 10_000, runtimeMs: 9_999 }, undefined],
    [{ timeoutMs: 10_000, runtimeMs: 10_000 }, 'Handler "h" has timed out after 10 seconds'],
    [{ timeoutMs: 0 }, 'Handler "h" has timed out after 0 seconds'],
    [{ limit: 3, retries: 2 }, undefined],
    [{ limit: 3, retries: 3 }, 'Handler "h" has exceeded 3 retries'],
    [{ limit: 0 }, 'Handler "h" has exceeded 0 retries'],
    [{ timeoutMs: 1, runtimeMs: 1000, limit: 1, retries: 5 }, 'Handler "h" has timed out after 1 seconds'],
  ])('the limits of the attempt %j are checked before the call', (given, message) => {
    const failed = checkLimits(attemptOf(given))
    expect(failed && describeError(failed.error)).toBe(message)
  })

  test('an exceeded limit is an error that users can catch', () => {
    expect(checkLimits(attemptOf({ timeoutMs: 0 }))?.error).toBeInstanceOf(HandlerTimeoutError)
    expect(checkLimits(attemptOf({ limit: 0 }))?.error).toBeInstanceOf(HandlerRetriesError)
  })
})

describe('temporary errors', () => {
  test.each<[TemporaryError, number]>([
    [new TemporaryError('x'), 60_000],
    [new TemporaryError('x', { delay: 10 }), 10_000],
    [new TemporaryError('x', { delay: '500ms' }), 500],
    [new TemporaryError('x', { delay: 0 }), 0],
    [new TemporaryError('x', { delay: null }), 0],
    [new TemporaryError('x', { delay: -5 }), 0],
    [new TemporaryError('x', { delay: Number.NaN }), 60_000],
    [new TemporaryError('x', { delay: 'soon' as never }), 60_000],
  ])('the error %o is retried after %d ms', (error, delayMs) => {
    expect(toErrorOutcome(error, attemptOf({ errors: 'permanent' }))).toEqual({ type: 'retry', delayMs, error })
  })

  test('an infinite delay gives a date that can be stored', () => {
    const outcome = toErrorOutcome(new TemporaryError('x', { delay: Number.POSITIVE_INFINITY }), attemptOf({}))
    expect(outcome.type === 'retry' && new Date(Date.now() + outcome.delayMs).toISOString()).toBeTruthy()
  })

  test.each<[Given, 'retry' | 'timeout' | 'retries']>([
    [{ timeoutMs: 20_000, runtimeMs: 9_999 }, 'retry'],
    [{ timeoutMs: 20_000, runtimeMs: 10_000 }, 'timeout'],
    [{ limit: 2, retries: 0 }, 'retry'],
    [{ limit: 2, retries: 1 }, 'retries'],
    [{ limit: 1, retries: 0 }, 'retries'],
    [{ timeoutMs: 10_000, limit: 1 }, 'timeout'],
  ])('the limits of the attempt %j are checked ahead of a delay of 10 seconds: %s', (given, expected) => {
    for (const error of [new TemporaryError('why', { delay: 10 }), new Error('why')]) {
      const outcome = toErrorOutcome(error, attemptOf({ backoffMs: 10_000, ...given }))
      const type = { retry: Error, timeout: HandlerTimeoutError, retries: HandlerRetriesError }[expected]
      expect(outcome.type).toBe(expected === 'retry' ? 'retry' : 'failed')
      expect('error' in outcome && outcome.error).toBeInstanceOf(type)
      expect('error' in outcome && describeError(outcome.error)).toContain('why')
    }
  })
})

describe('arbitrary errors', () => {
  const error = new Error('x')

  test.each<[string, unknown, Given, object]>([
    ['an arbitrary error', error, {}, { type: 'retry', delayMs: 60_000, error }],
    ['an arbitrary error with a backoff', error, { backoffMs: 5 }, { type: 'retry', delayMs: 5, error }],
    ['an arbitrary error with a zero backoff', error, { backoffMs: 0 }, { type: 'retry', delayMs: 0, error }],
    ['an arbitrary error in the mode permanent', error, { errors: 'permanent' }, { type: 'failed', error }],
    [
      'an arbitrary error in the mode ignored',
      error,
      { errors: 'ignored' },
      { type: 'done', result: undefined, ignoredError: error },
    ],
    [
      'an arbitrary error in the mode ignored, whatever the limits',
      error,
      { errors: 'ignored', limit: 1 },
      { type: 'done', result: undefined, ignoredError: error },
    ],
    ['undefined', undefined, {}, { type: 'retry', delayMs: 60_000, error: undefined }],
    ['a thrown string', 'oops', {}, { type: 'retry', delayMs: 60_000, error: 'oops' }],
  ])('an error of a handler gets the outcome of its mode: %s', (_name, thrown, given, expected) => {
    expect(toErrorOutcome(thrown, attemptOf(given))).toEqual(expected)
  })

  test.each(['temporary', 'permanent', 'ignored'] as const)('a permanent error is final in the mode %s', (errors) => {
    const permanent = new PermanentError('x')
    expect(toErrorOutcome(permanent, attemptOf({ errors }))).toEqual({ type: 'failed', error: permanent })
  })

  test('an unfinished sub-handler is not a failure, so no limit of its parent applies', () => {
    const outcome = toErrorOutcome(
      new ChildrenRetry(7, { hasAsked: false }),
      attemptOf({ limit: 1, timeoutMs: 1, runtimeMs: 5 }),
    )
    expect(outcome).toMatchObject({ type: 'retry', delayMs: 7 })
  })
})

describe('error descriptions', () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('no')
      },
      getPrototypeOf() {
        throw new Error('no')
      },
      ownKeys() {
        throw new Error('no')
      },
    },
  )
  const throwingGetter = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no')
    },
  })

  const cases: [unknown, string][] = [
    [new Error('x'), 'x'],
    [new TypeError(''), 'TypeError()'],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'AggregateError(ECONNREFUSED)'],
    ['oops', 'oops'],
    ['', '""'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [10n, '10'],
    [Symbol('s'), 'Symbol(s)'],
    [function broken() {}, 'function broken()'],
    [{ message: 'like an error' }, 'like an error'],
    [{ password: 'hidden', code: 5 }, 'Object {password, code}'],
    [Object.create(null), 'Object {}'],
    [hostile, 'an error that cannot be read'],
    [throwingGetter, 'an error that cannot be read'],
  ]

  // Cases are passed by index, since vitest would format a hostile value for the title.
  test.each(cases.map(([, text], index) => [index, text] as const))(
    'the description of thrown value %d is: %s',
    (index, text) => {
      expect(describeError(cases[index]![0])).toBe(text)
    },
  )

  test('the description of an error is cut between characters', () => {
    const text = describeError('🙂'.repeat(5000))
    expect(text.length).toBeLessThanOrEqual(4000)
    expect(text).toMatch(/^(🙂)+…$/u)
  })

  test('a thrown value with hostile properties still has an outcome and a name', () => {
    expect(toErrorOutcome(hostile, attemptOf({ limit: 1 })).type).toBe('failed')
    expect(nameError(hostile)).toBe('Object')
  })

  test.each<[unknown, string]>([
    [new TemporaryError('x'), 'TemporaryError'],
    [new RangeError('x'), 'RangeError'],
    ['x', 'string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{}, 'Object'],
  ])('the name of %o is %s', (error, name) => {
    expect(nameError(error)).toBe(name)
  })
})
