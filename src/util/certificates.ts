/**
 * Certificates, made when they are needed: an authority of one's own and what it signs. The encoder is loaded only then.
 * Used by the embedded server to serve TLS, and by the tools that start a real control plane.
 */
import { webcrypto } from 'node:crypto'
import { createRequire } from 'node:module'

export interface KeyPair {
  readonly certPem: string
  readonly keyPem: string
}

export interface CertificateRequest {
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** Host names and addresses: makes a certificate for serving; without any, one for a client. */
  readonly hosts?: readonly string[]
}

const signing = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const hourMs = 3_600_000
const lifetimeMs = 365 * 24 * hourMs

type Encoder = typeof import('@peculiar/x509')

/**
 * The encoder's dependency container does not load without the metadata API, and must find it in place. Required and not
 * imported: of what is not a module, an import reads all files twice, which is a fifth of the time.
 */
function loadEncoder(): Encoder {
  const require = createRequire(import.meta.url)
  require('reflect-metadata')
  return require('@peculiar/x509') as Encoder
}

export class CertificateAuthority {
  readonly caPem: string
  readonly #keys: webcrypto.CryptoKeyPair
  readonly #name: string
  readonly #encoder: Encoder

  private constructor(encoder: Encoder, caPem: string, keys: webcrypto.CryptoKeyPair, name: string) {
    this.#encoder = encoder
    this.caPem = caPem
    this.#keys = keys
    this.#name = name
  }

  static async create(name: string): Promise<CertificateAuthority> {
    // The keys are made elsewhere meanwhile.
    const [keys, encoder] = await Promise.all([generateKeys(), loadEncoder()])
    const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509CertificateGenerator } = encoder
    const certificate = await X509CertificateGenerator.createSelfSigned({
      ...validity(),
      name: [{ CN: [name] }],
      keys,
      signingAlgorithm: signing,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    })
    return new CertificateAuthority(encoder, certificate.toString('pem'), keys, name)
  }

  async issue({ commonName, organizations = [], hosts = [] }: CertificateRequest): Promise<KeyPair> {
    const { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension } = this.#encoder
    const { Name, SubjectAlternativeNameExtension, X509CertificateGenerator } = this.#encoder
    const keys = await generateKeys()
    const usage = hosts.length > 0 ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth
    const certificate = await X509CertificateGenerator.create({
      ...validity(),
      subject: new Name([...organizations.map((name) => toAttribute('O', name)), toAttribute('CN', commonName)]),
      issuer: [{ CN: [this.#name] }],
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: signing,
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        ...(hosts.length > 0 ? [new SubjectAlternativeNameExtension(hosts.map(toGeneralName))] : []),
      ],
    })
    return { certPem: certificate.toString('pem'), keyPem: await exportPrivateKey(keys) }
  }
}

/** Said to be text: plain strings are looked through for a notation of bytes. */
function toAttribute(type: 'O' | 'CN', utf8String: string): Record<string, Array<{ utf8String: string }>> {
  return { [type]: [{ utf8String }] }
}

function toGeneralName(host: string): { type: 'ip' | 'dns'; value: string } {
  return { type: /^[\d.]+$|:/.test(host) ? 'ip' : 'dns', value: host }
}

/** From an hour ago, for clocks that were set back. */
function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - hourMs), notAfter: new Date(now + lifetimeMs) }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(signing, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
}

async function exportPrivateKey(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}/g, '$&\n').trimEnd()}\n-----END PRIVATE KEY-----\n`
}
