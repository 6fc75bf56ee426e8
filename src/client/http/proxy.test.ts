import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { findProxy, isExempt } from './proxy.ts'

const server = 'https://api.example.com:6443'

beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, undefined)
    vi.stubEnv(name.toLowerCase(), undefined)
  }
})

afterEach(() => vi.unstubAllEnvs())

test.each<[string, string, boolean]>([
  ['https://api.example.com', '', false],
  ['https://api.example.com', '*', true],
  ['https://api.example.com', 'api.example.com', true],
  ['https://api.example.com', 'other, API.Example.com', true],
  ['https://api.example.com', 'example.com', true],
  ['https://api.example.com', '.example.com', true],
  ['https://api.example.com', '*.example.com', true],
  ['https://notexample.com', 'example.com', false],
  ['https://api.example.com', 'pi.example.com', false],
  ['https://api.example.com:6443', 'example.com:6443', true],
  ['https://api.example.com:6443', 'example.com:443', false],
  ['https://api.example.com', 'example.com:443', true],
  ['http://api.example.com', 'example.com:80', true],
  ['https://10.1.2.3', '10.1.2.3', true],
  ['https://10.1.2.3', '2.3', false],
  ['https://10.1.2.3', '10.0.0.0/8', true],
  ['https://11.1.2.3', '10.0.0.0/8', false],
  ['https://10.1.2.3', '10.0.0.0/99', false],
  ['https://10.1.2.3', 'fd00::/8', false],
  ['https://[fd00::1]:6443', 'fd00::/8', true],
  ['https://[fd00::1]:6443', 'fd00::1', true],
  ['https://[fd00::1]:6443', '[fd00::1]:6443', true],
  ['https://[fd00::1]:6443', '[fd00::1]:443', false],
  ['https://api.example.com', '10.0.0.0/8', false],
])('a request to %s with NO_PROXY "%s" is exempt from the proxy: %s', (url, list, expected) => {
  expect(isExempt(new URL(url), list)).toBe(expected)
})

test('the proxy of the environment is used only with `trustEnv`', () => {
  vi.stubEnv('HTTPS_PROXY', 'http://proxy:3128')
  expect(findProxy({ server })).toBeUndefined()
  expect(findProxy({ server, trustEnv: true })?.host).toBe('proxy:3128')
  vi.stubEnv('https_proxy', 'other:8080')
  expect(findProxy({ server, trustEnv: true })?.href).toBe('http://other:8080/')
  vi.stubEnv('NO_PROXY', 'example.com')
  expect(findProxy({ server, trustEnv: true })).toBeUndefined()
})

test('each protocol has its own proxy variable', () => {
  vi.stubEnv('HTTP_PROXY', 'http://plain:1')
  expect(findProxy({ server, trustEnv: true })).toBeUndefined()
  expect(findProxy({ server: 'http://x', trustEnv: true })?.host).toBe('plain:1')
})

test('a `proxyUrl` overrides the environment, including NO_PROXY', () => {
  vi.stubEnv('HTTPS_PROXY', 'http://proxy:3128')
  vi.stubEnv('NO_PROXY', '*')
  expect(findProxy({ server, trustEnv: true, proxyUrl: 'http://named' })?.host).toBe('named')
})

test('an unusable proxy in the environment is an error that does not contain the password', () => {
  vi.stubEnv('HTTPS_PROXY', 'socks5://me:hush@proxy')
  expect(() => findProxy({ server, trustEnv: true })).toThrow('HTTPS_PROXY of the environment is not the address')
  expect(() => findProxy({ server, trustEnv: true })).not.toThrow('hush')
})
