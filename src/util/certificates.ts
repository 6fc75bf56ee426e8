/**
 * Creates a certificate authority and issues certificates. The X.509 encoder is loaded on first use. Used by the embedded server, the webhook
 * servers and the endpoints of src/serving to serve TLS, and by the tools that start a real control plane.
 */
import { webcrypto } from 'node:crypto'

/** A certificate with its private key. */
export interface KeyPair {
  /** The certificate, in PEM. */
  readonly certPem: string
  /** The private key, in PEM. */
  readonly keyPem: string
}

/** A certificate is valid from an hour before `nowMs`, for clients with a slow clock, until `lifetimeMs` after it. */
export interface Validity {
  /** Default: the current time. */
  readonly nowMs?: number
  /** Default: a year. */
  readonly lifetimeMs?: number
}

export interface CertificateRequest extends Validity {
  readonly commonName: string
  readonly organizations?: readonly string[]
  /** Host names and addresses for a server certificate; without hosts, a client certificate is issued. */
  readonly hosts?: readonly string[]
  /** Default: a year. */
  readonly lifetimeMs?: number
}

const signing = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
/** The start of validity before the time of issue: a client's clock may be this much behind. */
export const backdatedMs = 3_600_000
const yearMs = 365 * 24 * 3_600_000

type Encoder = typeof import('@peculiar/x509')

let encoder: Encoder | undefined

/** The encoder needs the metadata API of reflect-metadata, which has to be loaded first. */
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
    // Keys are generated on another thread while the encoder loads.
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
        // Distinguishes trusted authorities of the same name.
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return new CertificateAuthority(encoder, certificate.toString('pem'), keys.privateKey)
  }

  /** Loads an authority from the result of `exportPair`. */
  static async load({ certPem, keyPem }: KeyPair): Promise<CertificateAuthority> {
    const der = Buffer.from(keyPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
    const key = await webcrypto.subtle.importKey('pkcs8', der, signing, true, ['sign'])
    return new CertificateAuthority(await loadEncoder(), certPem, key)
  }

  /** The CA certificate with its private key, to be stored as a secret. */
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

/** An attribute as explicit UTF-8: the encoder parses plain strings for a notation of bytes. */
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

/** The names of a certificate. */
export interface CertificateNames {
  readonly commonName: string
  readonly hosts: readonly string[]
}

/** The CA is never renewed: no process runs for so long. */
const caLifetimeMs = 20 * yearMs
/** Renewed after two thirds of the validity: the rest allows for wrong clocks and for failures. */
const renewAfterMs = (yearMs * 2) / 3

/** A certificate for a server without certificate files: issued in memory by a CA of its own, and renewed before it expires. */
export class SelfSigned {
  readonly #authority: CertificateAuthority
  readonly #names: CertificateNames
  #issued: { readonly pair: KeyPair; readonly atMs: number } | undefined

  private constructor(authority: CertificateAuthority, names: CertificateNames) {
    this.#authority = authority
    this.#names = names
  }

  /** `caName` is the common name of the CA. */
  static async create(caName: string, names: CertificateNames): Promise<SelfSigned> {
    return new SelfSigned(await CertificateAuthority.create(caName, { lifetimeMs: caLifetimeMs }), names)
  }

  /** The CA certificate. It stays the same when a certificate is renewed. */
  get caPem(): string {
    return this.#authority.caPem
  }

  /** Returns the same certificate until two thirds of its validity are over. */
  async issue(nowMs: number): Promise<KeyPair> {
    if (this.#issued === undefined || nowMs - this.#issued.atMs >= renewAfterMs) {
      const pair = await this.#authority.issue({ ...this.#names, lifetimeMs: yearMs })
      this.#issued = { pair, atMs: nowMs }
    }
    return this.#issued.pair
  }
}
