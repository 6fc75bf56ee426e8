import { expect, test } from 'vitest'
import { ConnectionError, toConnectionError, toTimeout } from './connection-error.ts'

const call = { method: 'GET', path: '/api' } as const

test.each([
  [{ code: 'ECONNREFUSED', address: '127.0.0.1', port: 6443 }, 'refused', 'nothing listens at 127.0.0.1:6443', false],
  [{ code: 'ECONNREFUSED', address: '::1', port: 6443 }, 'refused', 'nothing listens at [::1]:6443', false],
  [{ code: 'ECONNREFUSED' }, 'refused', "nothing listens at the server's address", false],
  [{ code: 'ENOTFOUND', hostname: 'nowhere' }, 'unknown-host', 'the host "nowhere" is not known', false],
  [{ code: 'EHOSTUNREACH', address: '10.0.0.1', port: 443 }, 'unreachable', 'no route to 10.0.0.1:443', false],
  [{ code: 'ECONNRESET' }, 'broken', 'the connection broke', true],
  [{ code: 'ETIMEDOUT' }, 'timeout', 'did not answer in time', true],
  [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'certificate', 'not signed by an authority that is trusted', false],
  [{ code: 'CERT_HAS_EXPIRED' }, 'certificate', 'has expired', false],
  [{ code: 'ERR_TLS_CERT_ALTNAME_INVALID', host: 'x' }, 'certificate', 'is not for "x"', false],
  [{ code: 'EPROTO' }, 'protocol', 'http:// and https://', false],
  [{ code: 'HPE_INVALID_CONSTANT' }, 'protocol', 'not HTTP', false],
  [{ code: 'ESTRANGE', message: 'strange' }, 'broken', 'strange', true],
  [undefined, 'broken', 'undefined', true],
  ['text', 'broken', 'text', true],
])('the cause %j becomes a connection error with an explanation', (cause, problem, sentence, mayHaveArrived) => {
  const error = toConnectionError(call, cause)
  expect(error).toMatchObject({ name: 'ConnectionError', code: 'KOPF_CONNECTION', problem, mayHaveArrived })
  expect(error.message).toMatch(/^Cannot GET \/api: /)
  expect(error.message).toContain(sentence)
  expect(error.cause).toBe(cause)
})

test('a connection error is not wrapped a second time', () => {
  const error = toTimeout(call, 'an answer', 5000)
  expect(toConnectionError(call, error)).toBe(error)
  expect(error).toBeInstanceOf(ConnectionError)
  expect(error).toMatchObject({ problem: 'timeout', mayHaveArrived: true })
  expect(error.message).toContain('an answer did not come within 5 s')
})
