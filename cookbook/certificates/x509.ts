/** Creates and reads X.509 certificates. Pure functions: no clock, no requests. */
// The encoder needs the metadata API, which has to be loaded before it.
import 'reflect-metadata'
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import * as x509 from '@peculiar/x509'

/** A certificate with its private key, both in PEM. */
export interface KeyPair {
  readonly certPem: string
  readonly keyPem: string
}

export interface Validity {
  readonly nowMs: number
  readonly durationMs: number
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** Certificates are valid a little earlier than now, for clients whose clock is slow. */
const backdatedMs = 300_000

/** A CA: a certificate that is signed with its own key. */
export async function createCa(namespace: string, validity: Validity): Promise<KeyPair> {
  const keys = await generateKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...toDates(validity),
    name: [{ O: [namespace] }, { CN: ['certificates-ca'] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certPem: certificate.toString('pem'), keyPem: await exportKey(keys.privateKey) }
}

/** A certificate for a server, with a new key. */
export async function issue(ca: KeyPair, dnsNames: readonly string[], validity: Validity): Promise<KeyPair> {
  const keys = await generateKeys()
  const der = createPrivateKey(ca.keyPem).export({ type: 'pkcs8', format: 'der' })
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])
  const issuer = new x509.X509Certificate(ca.certPem)
  const names = dnsNames.map((value) => ({ type: 'dns', value }) as const)
  const certificate = await x509.X509CertificateGenerator.create({
    ...toDates(validity),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      // Critical, because the certificate has no subject: the names are only here.
      new x509.SubjectAlternativeNameExtension(names, true),
    ],
  })
  return { certPem: certificate.toString('pem'), keyPem: await exportKey(keys.privateKey) }
}

/** The contents of a certificate. */
export interface Details {
  readonly dnsNames: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** The time of issue until the end. */
  readonly durationMs: number
  readonly serial: string
}

/** Reads a certificate. Returns undefined if it is damaged, if the key is not its key, or if another CA has signed it. */
export function read({ certPem, keyPem }: KeyPair, caPem: string): Details | undefined {
  try {
    const certificate = new X509Certificate(certPem)
    const ca = new X509Certificate(caPem)
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) return undefined
    if (!certificate.verify(ca.publicKey)) return undefined
    return toDetails(certificate)
  } catch {
    // The error is dropped: its text could quote the key.
    return undefined
  }
}

/** Whether this is the certificate of a CA with its key, of the type that `issue` uses. */
export function canSign({ certPem, keyPem }: KeyPair): boolean {
  try {
    const [certificate, key] = [new X509Certificate(certPem), createPrivateKey(keyPem)]
    return certificate.ca && key.asymmetricKeyDetails?.namedCurve === 'prime256v1' && certificate.checkPrivateKey(key)
  } catch {
    return false
  }
}

/** The end of a certificate. */
export function endOf(certPem: string): number {
  return Date.parse(new X509Certificate(certPem).validTo)
}

function toDetails({ subjectAltName = '', validFrom, validTo, serialNumber }: X509Certificate): Details {
  const dnsNames = subjectAltName.split(', ').map((name) => name.replace(/^DNS:/, ''))
  const [notBeforeMs, notAfterMs] = [Date.parse(validFrom), Date.parse(validTo)]
  const durationMs = notAfterMs - notBeforeMs - backdatedMs
  return { dnsNames, notBeforeMs, notAfterMs, durationMs, serial: serialNumber.toLowerCase() }
}

/** Certificates have whole seconds. */
function toDates({ nowMs, durationMs }: Validity): { notBefore: Date; notAfter: Date } {
  const startMs = Math.floor(nowMs / 1000) * 1000
  return { notBefore: new Date(startMs - backdatedMs), notAfter: new Date(startMs + durationMs) }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
  return createPrivateKey({ key: der, type: 'pkcs8', format: 'der' })
    .export({ type: 'pkcs8', format: 'pem' })
    .toString()
}
