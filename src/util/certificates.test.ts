import { createPrivateKey, X509Certificate } from 'node:crypto'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { CertificateAuthority, type KeyPair } from './certificates.ts'

const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

let authority: CertificateAuthority
let stranger: CertificateAuthority
let serving: KeyPair
let client: KeyPair

beforeAll(async () => {
  authority = await CertificateAuthority.create('the-authority')
  stranger = await CertificateAuthority.create('the-authority')
  serving = await authority.issue({
    commonName: 'a-server',
    hosts: ['127.0.0.1', '::1', 'localhost', 'kubernetes.default.svc'],
  })
  client = await authority.issue({ commonName: 'jane', organizations: ['system:masters', 'developers'] })
})

const read = ({ certPem }: { certPem: string }) => new X509Certificate(certPem)

test('a certificate authority is self-signed', () => {
  const certificate = new X509Certificate(authority.caPem)
  expect(certificate.ca).toBe(true)
  expect(certificate.subject).toBe('CN=the-authority')
  expect(certificate.verify(certificate.publicKey)).toBe(true)
})

describe('issued certificates', () => {
  test('an issued certificate is signed by its authority, and not by another one with the same name', () => {
    for (const pair of [serving, client]) {
      expect(read(pair).issuer).toBe('CN=the-authority')
      expect(read(pair).verify(new X509Certificate(authority.caPem).publicKey)).toBe(true)
      expect(read(pair).verify(new X509Certificate(stranger.caPem).publicKey)).toBe(false)
    }
  })

  test('an issued certificate is not a certificate authority', () => {
    expect(read(serving).ca).toBe(false)
    expect(read(client).ca).toBe(false)
  })

  test('an issued certificate matches its key', () => {
    for (const pair of [serving, client]) expect(read(pair).checkPrivateKey(createPrivateKey(pair.keyPem))).toBe(true)
  })

  test('an issued certificate is valid for a year, and already valid for a clock that is behind', () => {
    const { validFrom, validTo } = read(serving)
    expect(Date.parse(validFrom)).toBeLessThan(Date.now() - 30 * 60_000)
    expect(Date.parse(validTo)).toBeGreaterThan(Date.now() + 360 * 24 * 3_600_000)
  })

  test('an issued certificate has a serial number of its own', () => {
    expect(read(serving).serialNumber).not.toBe(read(client).serialNumber)
  })
})

test('a server certificate names its hosts, and is for servers only', () => {
  const certificate = read(serving)
  expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(certificate.checkIP('::1')).toBeDefined()
  expect(certificate.checkHost('localhost')).toBe('localhost')
  expect(certificate.checkHost('kubernetes.default.svc')).toBe('kubernetes.default.svc')
  expect(certificate.checkHost('example.com')).toBeUndefined()
  expect(certificate.checkIP('127.0.0.2')).toBeUndefined()
  expect(certificate.keyUsage).toEqual([serverAuth])
})

test('a client certificate names its user and groups, and is for clients only', () => {
  const certificate = read(client)
  expect(certificate.subject.split('\n')).toEqual(['O=system:masters', 'O=developers', 'CN=jane'])
  expect(certificate.subjectAltName).toBeUndefined()
  expect(certificate.keyUsage).toEqual([clientAuth])
})

test.each(['Ключ, O=system:masters', 'a+b=c', '#x', ' spaces '])(
  'a common name is encoded literally: %j',
  async (commonName) => {
    const { subject } = read(await authority.issue({ commonName, organizations: ['one'] })).toLegacyObject()
    expect(subject).toEqual({ O: 'one', CN: commonName })
  },
)

test('a certificate authority that is loaded from its export signs as before', async () => {
  const loaded = await CertificateAuthority.load(await authority.exportPair())
  expect(loaded.caPem).toBe(authority.caPem)
  const issued = read(await loaded.issue({ commonName: 'later', hosts: ['localhost'] }))
  expect(issued.checkIssued(new X509Certificate(authority.caPem))).toBe(true)
  expect(issued.verify(new X509Certificate(authority.caPem).publicKey)).toBe(true)
})

test('a certificate is valid from an hour before the given time, for the given lifetime', async () => {
  const nowMs = Date.UTC(2040, 0, 1)
  const future = await CertificateAuthority.create('of-the-future', { nowMs, lifetimeMs: 7_200_000 })
  const pairs = [{ certPem: future.caPem }, await future.issue({ commonName: 'x', nowMs, lifetimeMs: 7_200_000 })]
  for (const { validFrom, validTo } of pairs.map(read)) {
    expect(Date.parse(validFrom)).toBe(nowMs - 3_600_000)
    expect(Date.parse(validTo)).toBe(nowMs + 7_200_000)
  }
})

describe('handshakes', () => {
  /** Returns whether the server authorizes the client; rejects if the client does not trust the server. */
  async function shakeHands(options: { ca: string; by: KeyPair; servername?: string }): Promise<boolean> {
    const { certPem: cert, keyPem: key } = serving
    const server = createServer({ cert, key, ca: authority.caPem, requestCert: true, rejectUnauthorized: false })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const accepted = new Promise<boolean>((resolve) => {
      server.once('secureConnection', (socket: TLSSocket) => resolve(socket.authorized))
    })
    const { ca, by, ...rest } = options
    const socket = connect({ host: '127.0.0.1', port, ca, cert: by.certPem, key: by.keyPem, ...rest })
    try {
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
      return await accepted
    } finally {
      socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }

  test('a handshake succeeds if both sides trust the authority', async () => {
    expect(await shakeHands({ ca: authority.caPem, by: client })).toBe(true)
    expect(await shakeHands({ ca: authority.caPem, by: client, servername: 'localhost' })).toBe(true)
  })

  test('a handshake does not authorize a client of another authority', async () => {
    expect(await shakeHands({ ca: authority.caPem, by: await stranger.issue({ commonName: 'jane' }) })).toBe(false)
  })

  test('a handshake does not authorize a client with a server certificate', async () => {
    expect(await shakeHands({ ca: authority.caPem, by: serving })).toBe(false)
  })

  test('a handshake fails with a server of another authority', async () => {
    await expect(shakeHands({ ca: stranger.caPem, by: client })).rejects.toThrow(/certificate|signature/)
  })

  test('a handshake fails with a server of another name', async () => {
    await expect(shakeHands({ ca: authority.caPem, by: client, servername: 'example.com' })).rejects.toThrow(/altnames/)
  })
})
