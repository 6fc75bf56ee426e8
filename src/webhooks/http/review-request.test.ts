import { describe, expect, test } from 'vitest'
import { parseTarget } from './review-request.ts'

const post = (url: string, path = '') => parseTarget({ method: 'POST', url }, path)

describe('requested handler', () => {
  test.each([
    ['/fn', '', 'fn'],
    ['/fn/sub', '', 'fn/sub'],
    ['/fn%2Fsub', '', 'fn/sub'],
    ['/a%20b/%C3%BC', '', 'a b/ü'],
    ['/', '', ''],
    ['/fn?timeout=10s', '', 'fn'],
    ['/hooks/fn', '/hooks', 'fn'],
    ['/hooks/', '/hooks', ''],
    ['/hooks', '/hooks', ''],
    ['/hooks?timeout=10s', '/hooks', ''],
    ['/hooks//fn', '/hooks', '/fn'],
    ['/../fn', '', '../fn'],
    ['/__proto__', '', '__proto__'],
  ])('the request %s under the path "%s" is for the handler "%s"', (url, path, expected) => {
    expect(post(url, path).webhook).toBe(expected)
  })

  test.each([
    ['/other/fn', '/hooks'],
    ['/hooksfn', '/hooks'],
    ['/', '/hooks'],
    ['http://elsewhere/hooks/fn', '/hooks'],
    ['*', ''],
  ])('the request %s is not found under the path "%s"', (url, path) => {
    expect(() => post(url, path)).toThrow(expect.objectContaining({ status: 404 }))
  })

  test('a request with an invalid encoding is refused', () => {
    expect(() => post('/%zz')).toThrow(expect.objectContaining({ status: 400 }))
  })

  test.each(['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE'])('a request with the method %s is refused', (method) => {
    expect(() => parseTarget({ method, url: '/fn' }, '')).toThrow(expect.objectContaining({ status: 405 }))
  })
})

describe('request timeout', () => {
  test.each([
    ['timeout=10s', 10_000],
    ['timeout=1.5s', 1500],
    ['timeout=500ms', 500],
    ['x=1&timeout=2s&y=2', 2000],
    ['timeout=0m5s', 5000],
    ['', 30_000],
    ['timeout=1m0s', 30_000],
    ['timeout=0s', 30_000],
    ['timeout=-5s', 30_000],
    ['timeout=soon', 30_000],
    ['notimeout=1s', 30_000],
    ['timeout=1e9s', 30_000],
  ])('the query %s gives a timeout of %i ms', (query, expected) => {
    expect(post(`/fn?${query}`).timeoutMs).toBe(expected)
  })

  test('a long query of a request is parsed at once', () => {
    expect(post(`/fn?timeout=${'1'.repeat(8000)}x`).timeoutMs).toBe(30_000)
    expect(post(`/fn?timeout=${'1s'.repeat(4000)}`).timeoutMs).toBe(30_000)
  })
})
