import { describe, expect, test } from 'vitest'
import { toAccessibleAddr, toHosts, toUrl } from './addresses.ts'

describe('the name by which a server is reached', () => {
  test.each([
    [undefined, 'localhost'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '::1'],
    ['0:0:0:0:0:0:0:0', '::1'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['10.1.2.3', '10.1.2.3'],
    ['example.com', 'example.com'],
  ])('where it listens on %s: %s', (addr, expected) => {
    expect(toAccessibleAddr(addr)).toBe(expected)
  })
})

describe('a URL', () => {
  test.each([
    [{ scheme: 'https', host: 'localhost', port: 443, path: '' }, 'https://localhost'],
    [{ scheme: 'http', host: 'localhost', port: 80, path: '' }, 'http://localhost'],
    [{ scheme: 'http', host: 'localhost', port: 443, path: '' }, 'http://localhost:443'],
    [{ scheme: 'https', host: 'localhost', port: 80, path: '' }, 'https://localhost:80'],
    [{ scheme: 'https', host: '::1', port: 9443, path: '/hooks' }, 'https://[::1]:9443/hooks'],
    [{ scheme: 'https', host: '127.0.0.1', port: 9443, path: '' }, 'https://127.0.0.1:9443'],
  ] as const)('%j', (parts, expected) => {
    expect(toUrl(parts)).toBe(expected)
  })
})

describe('what a certificate is for', () => {
  test('each name once, and no address that stands for all', () => {
    expect(toHosts(['localhost', 'localhost', '0.0.0.0', '::', '10.0.0.1']).hosts).toEqual(['localhost', '10.0.0.1'])
  })

  test('the first name that is no address is its common name, else the first address', () => {
    expect(toHosts(['127.0.0.1', 'one', 'two']).commonName).toBe('one')
    expect(toHosts(['127.0.0.1', '::1']).commonName).toBe('127.0.0.1')
  })
})
