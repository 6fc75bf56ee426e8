import { describe, expect, test } from 'vitest'
import { toAccessibleAddr, toHosts, toUrl } from './addresses.ts'

describe('accessible host', () => {
  test.each([
    [undefined, 'localhost'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '::1'],
    ['0:0:0:0:0:0:0:0', '::1'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['10.1.2.3', '10.1.2.3'],
    ['example.com', 'example.com'],
  ])('a server that listens on %s is reached as %s', (addr, expected) => {
    expect(toAccessibleAddr(addr)).toBe(expected)
  })
})

describe('webhook URLs', () => {
  test.each([
    [{ scheme: 'https', host: 'localhost', port: 443, path: '' }, 'https://localhost'],
    [{ scheme: 'http', host: 'localhost', port: 80, path: '' }, 'http://localhost'],
    [{ scheme: 'http', host: 'localhost', port: 443, path: '' }, 'http://localhost:443'],
    [{ scheme: 'https', host: 'localhost', port: 80, path: '' }, 'https://localhost:80'],
    [{ scheme: 'https', host: '::1', port: 9443, path: '/hooks' }, 'https://[::1]:9443/hooks'],
    [{ scheme: 'https', host: '127.0.0.1', port: 9443, path: '' }, 'https://127.0.0.1:9443'],
  ] as const)('the URL of %j is composed', (parts, expected) => {
    expect(toUrl(parts)).toBe(expected)
  })
})

describe('hosts of certificates', () => {
  test('a certificate has each host once, and no wildcard address', () => {
    expect(toHosts(['localhost', 'localhost', '0.0.0.0', '::', '10.0.0.1']).hosts).toEqual(['localhost', '10.0.0.1'])
  })

  test('the common name of a certificate is its first host name, or else its first address', () => {
    expect(toHosts(['127.0.0.1', 'one', 'two']).commonName).toBe('one')
    expect(toHosts(['127.0.0.1', '::1']).commonName).toBe('127.0.0.1')
  })
})
