import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { toAuthHeaders, toAuthorization } from '../http/auth-headers.ts'
import { toTlsOptions } from '../http/tls.ts'
import { ConnectionInfo, type ConnectionInfoOptions } from './connection-info.ts'
import { readCredentialFiles } from './credential-files.ts'

const server = 'https://10.0.0.1:6443'

describe('ConnectionInfo', () => {
  test('a ConnectionInfo reveals the options it was created with', () => {
    const expiration = new Date(0)
    const info = new ConnectionInfo({ server, token: 'abc', defaultNamespace: 'ns', priority: 5, expiration })
    expect(info).toMatchObject({ server, defaultNamespace: 'ns', priority: 5, expiration })
    expect(info.reveal()).toEqual({ server, token: 'abc', defaultNamespace: 'ns', priority: 5, expiration })
    expect(new ConnectionInfo({ server }).priority).toBe(0)
  })

  test('a ConnectionInfo of another copy of the package is an instance of ConnectionInfo, and a look-alike is not', async () => {
    vi.resetModules()
    const copy = await import('./connection-info.ts')
    expect(copy.ConnectionInfo).not.toBe(ConnectionInfo)
    expect(new copy.ConnectionInfo({ server }) instanceof ConnectionInfo).toBe(true)
    expect({ server, reveal: () => ({ server }) } instanceof ConnectionInfo).toBe(false)
  })

  test.each<[string, object]>([
    ['http://10.0.0.1:8080', { token: 'a' }],
    ['http://example.com', { tokenPath: '/token' }],
    ['http://localhost.example.com', { username: 'me', password: 'a' }],
    ['http://127.0.0.1.example.com', { token: 'a' }],
    ['http://[fe80::1]:80', { scheme: 'Negotiate' }],
    ['http://127.0.0.1:8080', { token: 'a', proxyUrl: 'http://proxy:3128' }],
  ])('a ConnectionInfo refuses plain HTTP to %s with the credentials %j', (plain, options) => {
    expect(() => new ConnectionInfo({ server: plain, ...options })).toThrow('use an https:// address')
  })

  test.each(['http://127.0.0.1:1', 'http://127.1.2.3', 'http://localhost:1', 'http://a.localhost', 'http://[::1]:1'])(
    'a ConnectionInfo accepts plain HTTP with credentials to the loopback address %s',
    (plain) => {
      expect(new ConnectionInfo({ server: plain, token: 'a' }).server).toBe(plain)
    },
  )

  test('a ConnectionInfo accepts plain HTTP to a remote server without credentials', () => {
    expect(new ConnectionInfo({ server: 'http://10.0.0.1:8080', impersonate: { user: 'me' } }).priority).toBe(0)
  })

  const secret = 'hush-hush'
  const keyPair = { certificateData: secret, privateKeyData: secret }

  test.each<[string, ConnectionInfoOptions]>([
    ['token', { server, token: secret }],
    ['password', { server, username: 'me', password: secret }],
    ['key', { server, ...keyPair }],
    ['proxy', { server, proxyUrl: `https://me:${secret}@proxy` }],
  ])('a ConnectionInfo never prints its %s', (_, options) => {
    const info = new ConnectionInfo(options)
    const texts = [
      inspect(info),
      inspect({ deep: { info } }, { depth: 10, showHidden: true }),
      JSON.stringify({ info }),
      `${info}`,
      JSON.stringify({ ...info }),
    ]
    for (const text of texts) expect(text).not.toContain(secret)
    expect(texts[0]).toContain(server)
    expect(texts[0]).toContain('(hidden)')
  })

  test.each<[string, object]>([
    ['both `caPath` and `caData` are given; give one of them', { caPath: 'a', caData: 'b' }],
    [
      'both `certificatePath` and `certificateData` are given',
      { certificatePath: 'a', certificateData: 'b', privateKeyData: 'c' },
    ],
    [
      'both `privateKeyPath` and `privateKeyData` are given',
      { privateKeyPath: 'a', privateKeyData: 'b', certificateData: 'c' },
    ],
    ['both `token` and `username` are given', { token: 'a', username: 'b' }],
    ['has no private key', { certificateData: 'a' }],
    ['has no certificate', { privateKeyPath: 'a' }],
    ['`token` is empty or has spaces, line breaks', { token: 'a\nb' }],
    ['`token` is empty', { token: '' }],
    ['`server` is missing', { server: undefined }],
    ['`server` is "10.0.0.1"; expected an address', { server: '10.0.0.1' }],
    ['`server` is "ftp://x"; expected an address', { server: 'ftp://x' }],
    ['`server` has credentials in it', { server: 'https://me:hush@x' }],
    ['both `tokenPath` and `username` are given', { tokenPath: 'a', username: 'b' }],
    ['`proxyUrl` is that of a SOCKS proxy, which is not supported', { proxyUrl: 'socks5://me:hush@proxy' }],
    ['`proxyUrl` is not a valid address', { proxyUrl: 'hush' }],
    ['`expiration` is not a date', { expiration: '2030-01-01' }],
    ['`expiration` is not a date', { expiration: new Date('hush') }],
    ['`impersonate` has no `user`', { impersonate: { groups: ['a'] } }],
    ['`impersonate` has line breaks', { impersonate: { user: 'a', groups: ['hush\nb'] } }],
  ])('a ConnectionInfo is refused: %s', (message, options) => {
    const make = () => new ConnectionInfo({ server, ...options } as ConnectionInfoOptions)
    expect(make).toThrow(`Cannot use the connection info: `)
    expect(make).toThrow(message)
    expect(make).not.toThrow('hush')
  })
})

test.each<[object, string | undefined]>([
  [{}, undefined],
  [{ token: 'abc' }, 'Bearer abc'],
  [{ token: 'abc', scheme: 'Custom' }, 'Custom abc'],
  [{ scheme: 'Negotiate' }, 'Negotiate'],
  [{ username: 'me', password: 'ключ' }, `Basic ${Buffer.from('me:ключ').toString('base64')}`],
  [{ username: 'me' }, `Basic ${Buffer.from('me:').toString('base64')}`],
])('the credentials %j give the expected Authorization header', (options, expected) => {
  expect(toAuthorization({ server, ...options })).toBe(expected)
})

test.each<[object, object]>([
  [{}, {}],
  [{ token: 'abc' }, { authorization: 'Bearer abc' }],
  [{ impersonate: { user: 'jane' } }, { 'impersonate-user': 'jane' }],
  [
    {
      token: 'abc',
      impersonate: { user: 'jane', uid: '7', groups: ['a', 'b'], extra: { 'acme.com/Why%é': ['x', 'y'] } },
    },
    {
      authorization: 'Bearer abc',
      'impersonate-user': 'jane',
      'impersonate-uid': '7',
      'impersonate-group': ['a', 'b'],
      'impersonate-extra-acme.com%2Fwhy%25%C3%A9': ['x', 'y'],
    },
  ],
])('the credentials %j give the expected request headers', (options, expected) => {
  expect(toAuthHeaders({ server, ...options })).toEqual(expected)
})

const brokenPair = {
  certificateData: '-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----',
  privateKeyData: '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----',
}

describe('TLS options', () => {
  test.each([
    ['`caData` is neither PEM nor base64 of PEM', { caData: 'hush' }],
    ['the file "/nowhere/ca.crt" is not there', { caPath: '/nowhere/ca.crt' }],
    ['is not PEM', { caPath: 'package.json' }],
    ['cannot be read, or they do not belong together', brokenPair],
  ])('a certificate is refused: %s', (message, options) => {
    const use = () => toTlsOptions(readCredentialFiles(new ConnectionInfo({ server, ...options })).reveal())
    expect(use).toThrow(message)
    expect(use).not.toThrow('hush')
  })

  test('TLS options require a valid server certificate unless `insecure` is set', () => {
    expect(toTlsOptions({ server }).rejectUnauthorized).toBe(true)
    expect(toTlsOptions({ server, insecure: true }).rejectUnauthorized).toBe(false)
    expect(toTlsOptions({ server, tlsServerName: 'x' }).servername).toBe('x')
  })
})
