/** Certificates as Node, OpenSSL and another implementation of X.509 read them. */
// The other implementation needs the metadata API, which has to be loaded before it.
import 'reflect-metadata'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CertificateAuthority } from '../certificates.ts'
import { readIssuer } from './certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'kopf-x509-'))
let authority: CertificateAuthority

beforeAll(async () => {
  authority = await CertificateAuthority.create('the authority')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const openssl = (args: readonly string[], input: string = '') =>
  execFileSync('openssl', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] })

const show = (pem: string) => openssl(['x509', '-noout', '-text', '-nameopt', 'utf8,sep_comma_plus,show_type'], pem)

/** The result of `openssl verify` with the strict rules of RFC 5280. */
function verify(caPem: string, certPem: string, ...options: readonly string[]): string {
  const [ca, leaf] = ['ca.pem', 'leaf.pem'].map((name) => join(folder, name))
  writeFileSync(ca!, caPem)
  writeFileSync(leaf!, certPem)
  return openssl(['verify', '-x509_strict', '-CAfile', ca!, ...options, leaf!])
}

describe('OpenSSL', () => {
  test('OpenSSL shows the extensions of a CA', () => {
    const text = show(authority.caPem)
    expect(text).toContain('Version: 3 (0x2)')
    expect(text).toContain('Issuer: CN=UTF8STRING:the authority')
    expect(text).toMatch(/Basic Constraints: critical\s+CA:TRUE\n/)
    expect(text).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
    expect(text).toMatch(/Public-Key: \(256 bit\)[\s\S]*NIST CURVE: P-256/)
    expect(text.match(/Signature Algorithm: ecdsa-with-SHA256/g)).toHaveLength(2)
    expect(openssl(['x509', '-noout', '-ext', 'subjectKeyIdentifier'], authority.caPem)).toMatch(/([\dA-F]{2}:){19}/)
  })

  test('OpenSSL shows the extensions of a server certificate', async () => {
    const hosts = [
      'localhost',
      '127.0.0.1',
      '::1',
      '*.example.com',
      '2001:db8::ffff:10.1.2.3',
      'fe80::1%eth0',
      'bücher.example',
    ]
    const text = show((await authority.issue({ commonName: 'a server', hosts })).certPem)
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/)
    expect(text).toMatch(/Extended Key Usage: \s+TLS Web Server Authentication\n/)
    expect(text).toContain(
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:*.example.com, IP Address:2001:DB8:0:0:0:FFFF:A01:203, ' +
        'IP Address:FE80:0:0:0:0:0:0:1, DNS:xn--bcher-kva.example',
    )
    expect(text).not.toContain('Basic Constraints')
  })

  test('OpenSSL shows the extensions of a client certificate', async () => {
    const text = show(
      (await authority.issue({ commonName: 'jane', organizations: ['system:masters', 'Ключ'] })).certPem,
    )
    expect(text).toContain('Subject: O=UTF8STRING:system:masters,O=UTF8STRING:Ключ,CN=UTF8STRING:jane')
    expect(text).toMatch(/Extended Key Usage: \s+TLS Web Client Authentication\n/)
    expect(text).not.toContain('Subject Alternative Name')
  })

  test('OpenSSL finds the key identifier of the CA in the certificates that it has signed', async () => {
    const { certPem } = await authority.issue({ commonName: 'x' })
    const read = (extension: string, pem: string) =>
      openssl(['x509', '-noout', '-ext', extension], pem).match(/([\dA-F]{2}:){19}[\dA-F]{2}/)![0]
    expect(read('authorityKeyIdentifier', certPem)).toBe(read('subjectKeyIdentifier', authority.caPem))
    expect(read('subjectKeyIdentifier', certPem)).not.toBe(read('subjectKeyIdentifier', authority.caPem))
  })

  test('OpenSSL verifies certificates for their purpose only', async () => {
    const server = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    const client = await authority.issue({ commonName: 'jane' })
    expect(verify(authority.caPem, server.certPem, '-purpose', 'sslserver', '-verify_hostname', 'localhost')).toMatch(
      /OK/,
    )
    expect(verify(authority.caPem, client.certPem, '-purpose', 'sslclient')).toMatch(/OK/)
    expect(() => verify(authority.caPem, server.certPem, '-purpose', 'sslclient')).toThrow(/unsuitable|unsupported/)
    expect(() => verify(authority.caPem, server.certPem, '-verify_hostname', 'example.com')).toThrow(
      /hostname mismatch/,
    )
    const { caPem } = await CertificateAuthority.create('the authority')
    expect(() => verify(caPem, server.certPem)).toThrow(/unable to get local issuer/)
  })

  test('OpenSSL verifies certificates that are valid across the year 2050', async () => {
    const nowMs = Date.UTC(2049, 11, 31, 12)
    const validity = { nowMs, lifetimeMs: 24 * 3_600_000 }
    const late = await CertificateAuthority.create('late', validity)
    const { certPem } = await late.issue({ commonName: 'x', hosts: ['localhost'], ...validity })
    const at = (ms: number) => verify(late.caPem, certPem, '-attime', String(ms / 1000))
    expect(at(nowMs)).toMatch(/OK/)
    expect(at(Date.UTC(2050, 0, 1, 11))).toMatch(/OK/)
    expect(() => at(Date.UTC(2050, 0, 1, 13))).toThrow(/expired/)
    expect(() => at(Date.UTC(2049, 11, 31, 10))).toThrow(/not yet valid/)
  })
})

describe('CAs of other tools', () => {
  /** `openssl req` writes names and key identifiers in other ways than this code. */
  function createForeignCa(...extensions: readonly string[]): { readonly certPem: string; readonly keyPem: string } {
    const keyPem = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'])
    const key = join(folder, 'ca.key')
    writeFileSync(key, keyPem)
    const config = join(folder, 'ca.cnf')
    const lines = [
      '[req]',
      'distinguished_name = dn',
      'x509_extensions = ext',
      'string_mask = nombstr',
      '[dn]',
      '[ext]',
    ]
    writeFileSync(config, [...lines, 'basicConstraints = critical, CA:TRUE', ...extensions, ''].join('\n'))
    const subject = '/C=DE/O=Another company/CN=another CA'
    return { keyPem, certPem: openssl(['req', '-x509', '-new', '-config', config, '-key', key, '-subj', subject]) }
  }

  test.each([
    ['a key identifier of its own', ['subjectKeyIdentifier = 0102030405', 'keyUsage = critical, keyCertSign']],
    ['a key identifier of the usual form', ['subjectKeyIdentifier = hash', 'keyUsage = critical, keyCertSign']],
  ])('a CA with %s signs certificates that OpenSSL verifies', async (_, extensions) => {
    const pair = createForeignCa(...extensions)
    const loaded = await CertificateAuthority.load(pair)
    const { certPem } = await loaded.issue({ commonName: 'x', hosts: ['localhost'] })
    expect(verify(pair.certPem, certPem)).toMatch(/OK/)
    // Go compares the names byte by byte.
    const subject = readIssuer(new X509Certificate(pair.certPem).raw).name
    expect(new X509Certificate(certPem).raw.includes(subject)).toBe(true)
  })

  test('a CA without a key identifier signs certificates without one', async () => {
    const pair = createForeignCa('subjectKeyIdentifier = none')
    const { certPem } = await (await CertificateAuthority.load(pair)).issue({ commonName: 'x', hosts: ['localhost'] })
    expect(show(certPem)).not.toContain('Authority Key Identifier')
    const issued = new X509Certificate(certPem)
    expect(issued.checkIssued(new X509Certificate(pair.certPem))).toBe(true)
    expect(issued.verify(new X509Certificate(pair.certPem).publicKey)).toBe(true)
  })

  test('a CA with a key of another type is refused', async () => {
    const keyPem = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'])
    const failing = CertificateAuthority.load({ certPem: authority.caPem, keyPem })
    await expect(failing).rejects.toThrow('it is no ECDSA key of the curve P-256')
  })
})

test('a host that is neither a name nor an address is refused', async () => {
  for (const host of ['a b', 'a\0.example.com', 'tab\t', 'ü ü', ''])
    await expect(authority.issue({ commonName: 'x', hosts: [host] })).rejects.toThrow(
      `Cannot issue a certificate for ${JSON.stringify(host)}: it is neither a host name nor an IP address`,
    )
})

test('serial numbers are positive, have 128 bits and do not repeat', async () => {
  const numbers = new Set<string>()
  for (let count = 0; count < 50; count += 1) {
    const { serialNumber } = new X509Certificate((await authority.issue({ commonName: 'x' })).certPem)
    expect(serialNumber).toMatch(/^[4-7][\dA-F]{31}$/)
    numbers.add(serialNumber)
  }
  expect(numbers.size).toBe(50)
})

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 })
const addresses = fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain())
const requests = fc.record({
  commonName: words,
  organizations: fc.array(words, { maxLength: 3 }),
  hosts: fc.array(addresses, { maxLength: 40 }),
  nowMs: fc.integer({ min: Date.UTC(1951, 0), max: Date.UTC(9000, 0) }),
  lifetimeMs: fc.integer({ min: 0, max: 900 * 365 * 24 * 3_600_000 }),
})

test('Node and another implementation read any certificate as it was requested', async () => {
  await fc.assert(
    fc.asyncProperty(requests, async (request) => {
      const { certPem } = await authority.issue(request)
      const node = new X509Certificate(certPem)
      const other = new x509.X509Certificate(certPem)
      const toSeconds = (ms: number) => Math.floor(ms / 1000) * 1000
      expect(Date.parse(node.validFrom)).toBe(toSeconds(request.nowMs - 3_600_000))
      expect(Date.parse(node.validTo)).toBe(toSeconds(request.nowMs + request.lifetimeMs))
      expect([other.notBefore, other.notAfter].map(Number)).toEqual([node.validFrom, node.validTo].map(Date.parse))
      expect(other.subjectName.getField('CN')).toEqual([request.commonName])
      expect(other.subjectName.getField('O')).toEqual(request.organizations)
      expect(other.serialNumber.toUpperCase()).toBe(node.serialNumber)
      for (const host of request.hosts) {
        expect(node.checkHost(host) ?? node.checkIP(host), host).toBeDefined()
      }
      const names = other.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? []
      expect(names.map(({ type }) => type)).toEqual(
        request.hosts.map((host) => (/^[\d.]+$|:/.test(host) ? 'ip' : 'dns')),
      )
      expect(node.verify(new X509Certificate(authority.caPem).publicKey)).toBe(true)
      expect(await other.verify({ publicKey: new x509.X509Certificate(authority.caPem), signatureOnly: true })).toBe(
        true,
      )
    }),
    { numRuns: 60 },
  )
})
