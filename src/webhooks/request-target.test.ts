import { describe, expect, test } from 'vitest'
import { parseTarget } from './request-target.ts'

const post = (url: string, path = '') => parseTarget({ method: 'POST', url }, path)

describe('the handler that is meant', () => {
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
  ])('%s under "%s" is "%s"', (url, path, expected) => {
    expect(post(url, path).webhook).toBe(expected)
  })

  test.each([
    ['/other/fn', '/hooks'],
    ['/hooksfn', '/hooks'],
    ['/', '/hooks'],
    ['http://elsewhere/hooks/fn', '/hooks'],
    ['*', ''],
  ])('%s is nothing under "%s"', (url, path) => {
    expect(() => post(url, path)).toThrow(expect.objectContaining({ status: 404 }))
  })

  test('what is badly encoded is refused', () => {
    expect(() => post('/%zz')).toThrow(expect.objectContaining({ status: 400 }))
  })

  test.each(['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE'])('%s asks for nothing', (method) => {
    expect(() => parseTarget({ method, url: '/fn' }, '')).toThrow(expect.objectContaining({ status: 405 }))
  })
})

describe('how long the answer is waited for', () => {
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
  ])('%s: %i ms', (query, expected) => {
    expect(post(`/fn?${query}`).timeoutMs).toBe(expected)
  })

  test('a long query is read at once', () => {
    expect(post(`/fn?timeout=${'1'.repeat(8000)}x`).timeoutMs).toBe(30_000)
    expect(post(`/fn?timeout=${'1s'.repeat(4000)}`).timeoutMs).toBe(30_000)
  })
})
