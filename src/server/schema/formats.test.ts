/** crds/recorded.test.ts compares more formats, with their messages, with kube-apiserver. */
import { describe, expect, test } from 'vitest'
import { findFormat, isSupportedFormat } from './formats.ts'
import { parseGoUrl } from './go-url.ts'

const table: Record<string, { good: string[]; bad: string[] }> = {
  date: { good: ['2024-02-29', '0000-01-01'], bad: ['2023-02-29', '2024-2-1', '2024-13-01', ''] },
  'date-time': {
    good: ['2024-01-01T00:00:00Z', '2024-01-01t23:59:59.123+01:00'],
    bad: ['2024-01-01T24:00:00Z', '2024-01-01T00:00:00', '2024-01-01 00:00:00Z'],
  },
  duration: { good: ['1h30m', '1.5s', '0', '2 days', '-1s', '1wk'], bad: ['', '1', 'soon', '5 fortnights'] },
  ipv4: { good: ['1.2.3.4', '010.2.3.4', '::ffff:1.2.3.4'], bad: ['1.2.3', '1.2.3.256', '1.2.3.4.5', '::1'] },
  ipv6: {
    good: ['::', '::1', '1:2:3:4:5:6:7:8', '1::8'],
    bad: ['1.2.3.4', ':::', '1:2', '::1%eth0', '12345::', '1:2:3:4:5:6:7::8:9'],
  },
  cidr: { good: ['10.0.0.0/8', '::/0'], bad: ['10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/-1'] },
  mac: { good: ['01:23:45:67:89:ab', '0123.4567.89ab', '0123456789ab'], bad: ['01:23:45:67:89', '01:23-45:67:89:ab'] },
  uuid: { good: ['e34b5f8e-2d5a-1d2b-8d5c-2c5e5b0f3a3a', 'E34B5F8E2D5A4D2B8D5C2C5E5B0F3A3A'], bad: ['x', ''] },
  uuid4: { good: ['e34b5f8e-2d5a-4d2b-8d5c-2c5e5b0f3a3a'], bad: ['e34b5f8e-2d5a-1d2b-8d5c-2c5e5b0f3a3a'] },
  email: { good: ['a@b', 'A B <a@b.c>', '"a b"@c'], bad: ['a', 'a@', '@b', 'a b@c', 'a..b@c', 'a@b, c@d'] },
  uri: { good: ['https://x/y', '/a', 'urn:a', 'http://[::1]:80/'], bad: ['a', '', 'http://a b', 'http://x:y', '/%zz'] },
  hostname: { good: ['a', 'a-', 'a.bc', 'A.COM', 'é.com'], bad: ['', '-a', 'a_b', '1.2.3.4', 'a'.repeat(64)] },
  byte: { good: ['YWJj', 'YWI='], bad: ['YWI', 'YWJ-', ''] },
  'k8s-short-name': { good: ['a-b', '1'], bad: ['A', 'a.b', '-a', 'a'.repeat(64)] },
  'k8s-long-name': { good: ['a.b', 'a'.repeat(253)], bad: ['a..b', 'a'.repeat(254)] },
}

describe.each(Object.entries(table))('the format %s', (format, { good, bad }) => {
  const check = findFormat(format)!
  test.each(good)('takes %j', (text) => expect(check(text)).toBe(true))
  test.each(bad)('refuses %j', (text) => expect(check(text)).toBe(false))
})

test('formats belong to types', () => {
  expect(isSupportedFormat(['integer'], 'int32')).toBe(true)
  expect(isSupportedFormat(['string'], 'int32')).toBe(false)
  expect(isSupportedFormat(['string'], 'date-time')).toBe(true)
  expect(isSupportedFormat([], 'date')).toBe(true)
  expect(isSupportedFormat(['object'], 'date')).toBe(false)
  expect(isSupportedFormat(['string'], 'colour')).toBe(false)
})

test('no text makes a format slow', () => {
  const began = performance.now()
  for (const format of Object.keys(table)) {
    for (const unit of ['a', 'a.', '1 ', ':', '-', '"', 'a@']) findFormat(format)!(unit.repeat(20_000))
  }
  expect(performance.now() - began).toBeLessThan(5_000)
})

test('URLs are taken apart as Go does', () => {
  expect(parseGoUrl('HTTPS://u:p@h.example.com:8443/a?b=c#d')).toEqual({
    url: { scheme: 'https', user: 'u:p', host: 'h.example.com:8443', path: '/a', query: 'b=c', fragment: 'd' },
  })
  expect(parseGoUrl(':x')).toEqual({ problem: 'parse ":x": missing protocol scheme' })
})
