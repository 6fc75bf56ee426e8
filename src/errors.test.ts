import { expect, test, vi } from 'vitest'
import { HandlerTimeoutError, KopfError, PermanentError, TemporaryError } from './errors.ts'

class Busy extends TemporaryError {}

test.each([
  [new TemporaryError('x'), [KopfError, TemporaryError], [PermanentError, Busy]],
  [new HandlerTimeoutError('x'), [KopfError, PermanentError, HandlerTimeoutError], [TemporaryError]],
  [new Busy('x'), [KopfError, TemporaryError, Busy], [PermanentError]],
  [new Error('x'), [], [KopfError, TemporaryError, Busy]],
  [undefined, [], [KopfError]],
])('the error %s is an instance of its own classes and of no other', (error, classes, others) => {
  for (const one of classes) expect(error instanceof one).toBe(true)
  for (const one of others) expect(error instanceof one).toBe(false)
})

test('an error of another copy of the package is recognized', async () => {
  vi.resetModules()
  const copy = await import('./errors.ts')
  expect(copy.TemporaryError).not.toBe(TemporaryError)
  expect(new copy.TemporaryError('x') instanceof TemporaryError).toBe(true)
  expect(new copy.TemporaryError('x') instanceof PermanentError).toBe(false)
})

test('a temporary error has a delay of a minute by default', () => {
  expect(new TemporaryError('x').delay).toBe(60)
  expect(new TemporaryError('x', { delay: null }).delay).toBeNull()
  expect(new TemporaryError('x', { delay: '5s' }).delay).toBe('5s')
})
