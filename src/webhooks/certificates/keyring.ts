/**
 * What the Secret of `WebhookServiceServer` holds, looked at and judged: the authorities that are trusted, the key of the one
 * that signs, and the certificate that is served. Pure: texts in, texts out, and what is not in order is as good as not
 * there. The words for what is wrong never repeat a text: there are keys among them.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { backdatedMs, type KeyPair } from '../../util/certificates.ts'

interface Authority {
  readonly certPem: string
  readonly issuedMs: number
  readonly expiresMs: number
}

interface Signer extends Authority {
  readonly keyPem: string
}

interface Serving extends KeyPair {
  readonly issuedMs: number
  readonly expiresMs: number
  /** The certificate of the authority that has signed it. */
  readonly issuerPem: string
}

export interface Keyring {
  /** All that are to be trusted, in the order in which they came; none of them is over. */
  readonly authorities: readonly Authority[]
  /** One of the authorities. */
  readonly signer: Signer | undefined
  /** Signed by one of the authorities, for all the hosts, and valid. */
  readonly serving: Serving | undefined
}

/** The data of a Secret: base64 by key. */
export type SecretData = Readonly<Record<string, string>>

export interface KeyringCheck {
  readonly keyring: Keyring
  /** What is not in order, in words for people. */
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
      problems.push(error instanceof KeyringProblem ? error.message : 'it cannot be read')
      return undefined
    }
  }
  const authorities = read(() => readAuthorities(textOf('ca.crt'), expectations)) ?? []
  const signer = read(() => readSigner(textOf('ca.key'), authorities))
  const pair = { certPem: textOf('tls.crt'), keyPem: textOf('tls.key') }
  const serving = read(() => readServing(pair, authorities, expectations))
  return { keyring: { authorities, signer, serving }, problems }
}

/** Only for what can sign and be served. */
export function toSecretData({ authorities, signer, serving }: Keyring): SecretData {
  const texts = {
    'ca.crt': authorities.map(({ certPem }) => `${certPem.trim()}\n`).join(''),
    'ca.key': signer?.keyPem ?? '',
    'tls.crt': serving?.certPem ?? '',
    'tls.key': serving?.keyPem ?? '',
  }
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]))
}

/** What is wrong with one of the texts. */
class KeyringProblem extends Error {}

function readAuthorities(text: string, { nowMs }: Expectations): Authority[] {
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const certificates = pems.map((certPem) => ({ certPem, certificate: toCertificate(certPem, 'ca.crt') }))
  const current = certificates.filter(({ certificate }) => certificate.ca && isCurrent(certificate, nowMs))
  if (current.length === 0) throw new KeyringProblem('"ca.crt" has no authority that is valid')
  return current.map(({ certPem, certificate }) => ({ certPem, ...validityOf(certificate) }))
}

function readSigner(keyPem: string, authorities: readonly Authority[]): Signer {
  const key = toKey(keyPem, 'ca.key')
  const authority = authorities.findLast(({ certPem }) => new X509Certificate(certPem).checkPrivateKey(key))
  if (authority === undefined) throw new KeyringProblem('"ca.key" is not the key of an authority in "ca.crt"')
  return { ...authority, keyPem }
}

function readServing(pair: KeyPair, authorities: readonly Authority[], { hosts, nowMs }: Expectations): Serving {
  const certificate = toCertificate(pair.certPem, 'tls.crt')
  if (!isCurrent(certificate, nowMs)) throw new KeyringProblem('"tls.crt" has expired, or is not valid yet')
  if (!certificate.checkPrivateKey(toKey(pair.keyPem, 'tls.key'))) {
    throw new KeyringProblem('"tls.key" is not the key of "tls.crt"')
  }
  const missing = hosts.filter((host) => certificate.checkHost(host, { subject: 'never' }) === undefined)
  if (missing.length > 0) throw new KeyringProblem(`"tls.crt" is not for ${missing.join(', ')}`)
  const issuer = authorities.find(({ certPem }) => hasSigned(new X509Certificate(certPem), certificate))
  if (issuer === undefined) throw new KeyringProblem('"tls.crt" is not signed by an authority in "ca.crt"')
  return { ...pair, ...validityOf(certificate), issuerPem: issuer.certPem }
}

function hasSigned(authority: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

function toCertificate(pem: string, key: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new KeyringProblem(`"${key}" is no certificate`)
  }
}

function toKey(pem: string, key: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new KeyringProblem(`"${key}" is no private key`)
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
