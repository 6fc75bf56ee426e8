/**
 * Parses and checks the content of the Secret of `WebhookServiceServer`: the trusted CAs, the key of the CA that signs, and the server certificate.
 * Invalid parts are left out. Pure. Called by shared-secret.ts. The descriptions of problems never contain the content, which includes private keys.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { backdatedMs, type KeyPair } from '../../util/certificates.ts'

interface TrustedCa {
  readonly certPem: string
  readonly issuedMs: number
  readonly expiresMs: number
}

/** The CA that signs new certificates. */
interface SigningCa extends TrustedCa {
  readonly keyPem: string
}

/** The certificate of the server. */
interface ServerCertificate extends KeyPair {
  readonly issuedMs: number
  readonly expiresMs: number
  /** The certificate of the CA that has signed it. */
  readonly issuerPem: string
}

export interface Keyring {
  /** All trusted CAs, oldest first. None of them has expired. */
  readonly authorities: readonly TrustedCa[]
  /** One of the `authorities`, with its key. */
  readonly signer: SigningCa | undefined
  /** A valid certificate for all hosts, signed by one of the `authorities`. */
  readonly serving: ServerCertificate | undefined
}

/** The data of a Secret: base64 by key. */
export type SecretData = Readonly<Record<string, string>>

export interface KeyringCheck {
  readonly keyring: Keyring
  /** Descriptions of the invalid parts, for the log. */
  readonly problems: readonly string[]
}

export interface Expectations {
  readonly hosts: readonly string[]
  readonly nowMs: number
}

export const emptyKeyring: Keyring = { authorities: [], signer: undefined, serving: undefined }

export function readKeyring(data: SecretData, expectations: Expectations): KeyringCheck {
  const problems: string[] = []
  const textOf = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
  const read = <T>(parse: () => T): T | undefined => {
    try {
      return parse()
    } catch (error) {
      problems.push(error instanceof KeyringProblem ? error.message : 'it cannot be parsed')
      return undefined
    }
  }
  const authorities = read(() => readAuthorities(textOf('ca.crt'), expectations)) ?? []
  const signer = read(() => readSigner(textOf('ca.key'), authorities))
  const pair = { certPem: textOf('tls.crt'), keyPem: textOf('tls.key') }
  const serving = read(() => readServing(pair, authorities, expectations))
  return { keyring: { authorities, signer, serving }, problems }
}

/** The data of the Secret for a keyring with a signer and a server certificate. */
export function toSecretData({ authorities, signer, serving }: Keyring): SecretData {
  const texts = {
    'ca.crt': authorities.map(({ certPem }) => `${certPem.trim()}\n`).join(''),
    'ca.key': signer?.keyPem ?? '',
    'tls.crt': serving?.certPem ?? '',
    'tls.key': serving?.keyPem ?? '',
  }
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]))
}

/** A problem with one key of the Secret. */
class KeyringProblem extends Error {}

function readAuthorities(text: string, { nowMs }: Expectations): TrustedCa[] {
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const certificates = pems.map((certPem) => ({ certPem, certificate: parseCertificate(certPem, 'ca.crt') }))
  const current = certificates.filter(({ certificate }) => certificate.ca && isCurrent(certificate, nowMs))
  if (current.length === 0) throw new KeyringProblem('"ca.crt" has no valid CA certificate')
  return current.map(({ certPem, certificate }) => ({ certPem, ...validityOf(certificate) }))
}

function readSigner(keyPem: string, authorities: readonly TrustedCa[]): SigningCa {
  const key = parseKey(keyPem, 'ca.key')
  const authority = authorities.findLast(({ certPem }) => new X509Certificate(certPem).checkPrivateKey(key))
  if (authority === undefined) throw new KeyringProblem('"ca.key" is not the key of a CA in "ca.crt"')
  return { ...authority, keyPem }
}

function readServing(
  pair: KeyPair,
  authorities: readonly TrustedCa[],
  { hosts, nowMs }: Expectations,
): ServerCertificate {
  const certificate = parseCertificate(pair.certPem, 'tls.crt')
  if (!isCurrent(certificate, nowMs)) throw new KeyringProblem('"tls.crt" has expired, or is not valid yet')
  if (!certificate.checkPrivateKey(parseKey(pair.keyPem, 'tls.key'))) {
    throw new KeyringProblem('"tls.key" is not the key of "tls.crt"')
  }
  const missing = hosts.filter((host) => certificate.checkHost(host, { subject: 'never' }) === undefined)
  if (missing.length > 0) throw new KeyringProblem(`"tls.crt" is not valid for ${missing.join(', ')}`)
  const issuer = authorities.find(({ certPem }) => hasSigned(new X509Certificate(certPem), certificate))
  if (issuer === undefined) throw new KeyringProblem('"tls.crt" is not signed by a CA in "ca.crt"')
  return { ...pair, ...validityOf(certificate), issuerPem: issuer.certPem }
}

function hasSigned(authority: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function parseCertificate(pem: string, key: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new KeyringProblem(`"${key}" is not a certificate`)
  }
}

function parseKey(pem: string, key: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new KeyringProblem(`"${key}" is not a private key`)
  }
}

function isCurrent({ validFrom, validTo }: X509Certificate, nowMs: number): boolean {
  return Date.parse(validFrom) <= nowMs && nowMs < Date.parse(validTo)
}

function validityOf({ validFrom, validTo }: X509Certificate): {
  readonly issuedMs: number
  readonly expiresMs: number
} {
  return { issuedMs: Date.parse(validFrom) + backdatedMs, expiresMs: Date.parse(validTo) }
}
