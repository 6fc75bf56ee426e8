/**
 * Certificates, made when they are needed: an authority of one's own and what it signs. The encoder is loaded only then.
 * Used by the embedded server and the webhook servers to serve TLS, and by the tools that start a real control plane.
 */
import { webcrypto } from 'node:crypto'

export interface KeyPair {
  readonly certPem: string
  readonly keyPem: string
}

/** From an hour before `nowMs`, for clocks that were set back, until `lifetimeMs` after it. */
export interface Validity {
  /** The present unless told. */
  readonly nowMs?: number
  /** A year unless told. */
  readonly lifetimeMs?: number
}

export interface CertificateRequest extends Validity {
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** Host names and addresses: makes a certificate for serving; without any, one for a client. */
  readonly hosts?: readonly string[]
  /** A year unless told. */
  readonly lifetimeMs?: number
}

const signing = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
/** How long before it was made a certificate is valid: by this much a clock may be behind. */
export const backdatedMs = 3_600_000
const yearMs = 365 * 24 * 3_600_000

type Encoder = typeof import('@peculiar/x509')

let encoder: Encoder | undefined

/** The encoder's dependency container does not load without the metadata API, and must find it in place. */
async function loadEncoder(): Promise<Encoder> {
  if (encoder !== undefined) return encoder
  await import('reflect-metadata')
  encoder = await import('@peculiar/x509')
  return encoder
}

export class CertificateAuthority {
  readonly caPem: string
  readonly #key: webcrypto.CryptoKey
  readonly #encoder: Encoder

  private constructor(encoder: Encoder, caPem: string, key: webcrypto.CryptoKey) {
    this.#encoder = encoder
    this.caPem = caPem
    this.#key = key
  }

  static async create(name: string, validity: Validity = {}): Promise<CertificateAuthority> {
    // The keys are made elsewhere meanwhile.
    const [keys, encoder] = await Promise.all([generateKeys(), loadEncoder()])
    const { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509CertificateGenerator } = encoder
    const { SubjectKeyIdentifierExtension } = encoder
    const certificate = await X509CertificateGenerator.createSelfSigned({
      ...toDates(validity),
      name: [{ CN: [name] }],
      keys,
      signingAlgorithm: signing,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        // By this, authorities of one name are told apart where several are trusted.
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return new CertificateAuthority(encoder, certificate.toString('pem'), keys.privateKey)
  }

  /** One that was made before, from what `exportPair` has given. */
  static async load({ certPem, keyPem }: KeyPair): Promise<CertificateAuthority> {
    const der = Buffer.from(keyPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
    const key = await webcrypto.subtle.importKey('pkcs8', der, signing, true, ['sign'])
    return new CertificateAuthority(await loadEncoder(), certPem, key)
  }

  /** With the key that signs: for whoever keeps it as a secret. */
  async exportPair(): Promise<KeyPair> {
    return { certPem: this.caPem, keyPem: await exportPrivateKey(this.#key) }
  }

  async issue({ commonName, organizations = [], hosts = [], ...validity }: CertificateRequest): Promise<KeyPair> {
    const { AuthorityKeyIdentifierExtension, SubjectKeyIdentifierExtension } = this.#encoder
    const { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension } = this.#encoder
    const { Name, SubjectAlternativeNameExtension, X509Certificate, X509CertificateGenerator } = this.#encoder
    const keys = await generateKeys()
    const authority = new X509Certificate(this.caPem)
    const usage = hosts.length > 0 ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth
    const certificate = await X509CertificateGenerator.create({
      ...toDates(validity),
      subject: new Name([...organizations.map((name) => toAttribute('O', name)), toAttribute('CN', commonName)]),
      issuer: authority.subjectName,
      publicKey: keys.publicKey,
      signingKey: this.#key,
      signingAlgorithm: signing,
      extensions: [
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([usage]),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        await AuthorityKeyIdentifierExtension.create(authority),
        ...(hosts.length > 0 ? [new SubjectAlternativeNameExtension(hosts.map(toGeneralName))] : []),
      ],
    })
    return { certPem: certificate.toString('pem'), keyPem: await exportPrivateKey(keys.privateKey) }
  }
}

/** Said to be text: plain strings are looked through for a notation of bytes. */
function toAttribute(type: 'O' | 'CN', utf8String: string): Record<string, Array<{ utf8String: string }>> {
  return { [type]: [{ utf8String }] }
}

function toGeneralName(host: string): { type: 'ip' | 'dns'; value: string } {
  return { type: /^[\d.]+$|:/.test(host) ? 'ip' : 'dns', value: host }
}

function toDates({ nowMs = Date.now(), lifetimeMs = yearMs }: Validity): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(nowMs - backdatedMs), notAfter: new Date(nowMs + lifetimeMs) }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(signing, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
}

async function exportPrivateKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}/g, '$&\n').trimEnd()}\n-----END PRIVATE KEY-----\n`
}
