/**
 * Creates a certificate authority and issues certificates, with ECDSA keys of the curve P-256. Used by the embedded server, the webhook servers and the
 * endpoints of src/serving to serve TLS, and by the tools that start a real control plane. x509/certificate.ts writes the certificates.
 */
import { createPrivateKey, generateKeyPair, type KeyObject, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { authorityExtensions, encodeName, leafExtensions, readIssuer, signCertificate } from './x509/certificate.ts'

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

/** The start of validity before the time of issue: a client's clock may be this much behind. */
export const backdatedMs = 3_600_000
const yearMs = 365 * 24 * 3_600_000

export class CertificateAuthority {
  readonly caPem: string
  readonly #key: KeyObject

  private constructor(caPem: string, key: KeyObject) {
    this.caPem = caPem
    this.#key = key
  }

  static async create(name: string, validity: Validity = {}): Promise<CertificateAuthority> {
    const { publicKey, privateKey } = await generateKeys()
    const subject = encodeName({ commonName: name })
    const extensions = authorityExtensions(publicKey)
    const content = { ...toTimes(validity), subject, issuer: subject, publicKey, extensions }
    return new CertificateAuthority(signCertificate(content, privateKey), privateKey)
  }

  /** Loads an authority from the result of `exportPair`. */
  static async load({ certPem, keyPem }: KeyPair): Promise<CertificateAuthority> {
    const key = createPrivateKey(keyPem)
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      throw new TypeError('Cannot sign certificates with the key of the CA: it is no ECDSA key of the curve P-256')
    return new CertificateAuthority(certPem, key)
  }

  /** The CA certificate with its private key, to be stored as a secret. */
  async exportPair(): Promise<KeyPair> {
    return { certPem: this.caPem, keyPem: exportPrivateKey(this.#key) }
  }

  async issue({ commonName, organizations, hosts = [], ...validity }: CertificateRequest): Promise<KeyPair> {
    const { publicKey, privateKey } = await generateKeys()
    const issuer = readIssuer(new X509Certificate(this.caPem).raw)
    const content = {
      ...toTimes(validity),
      subject: encodeName({ commonName, ...(organizations && { organizations }) }),
      issuer: issuer.name,
      publicKey,
      extensions: leafExtensions(publicKey, issuer, hosts),
    }
    return { certPem: signCertificate(content, this.#key), keyPem: exportPrivateKey(privateKey) }
  }
}

function toTimes({ nowMs = Date.now(), lifetimeMs = yearMs }: Validity): { notBeforeMs: number; notAfterMs: number } {
  return { notBeforeMs: nowMs - backdatedMs, notAfterMs: nowMs + lifetimeMs }
}

/** The keys are generated on another thread. */
async function generateKeys(): Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
}

function exportPrivateKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
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
