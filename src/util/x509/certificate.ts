/**
 * Writes X.509 certificates of version 3 (RFC 5280) that are signed with ECDSA and SHA-256, and reads the two parts of a CA certificate that are copied into
 * the certificates it signs. Called by ../certificates.ts; Node's `X509Certificate` reads the rest.
 */
import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import {
  bitString,
  element,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  readElements,
  sequence,
  tags,
  time,
  utf8String,
  yes,
} from './der.ts'

const oids = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const

/** A certificate before it is signed. */
export interface CertificateContent {
  /** A name in DER, from `encodeName` or `readIssuer`. */
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly publicKey: KeyObject
  /** From the functions of this file. */
  readonly extensions: readonly Buffer[]
}

/** Returns the certificate in PEM. */
export function signCertificate(content: CertificateContent, signingKey: KeyObject): string {
  const algorithm = sequence(objectIdentifier(oids.ecdsaWithSha256))
  const signed = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(createSerialNumber()),
    algorithm,
    content.issuer,
    sequence(time(content.notBeforeMs), time(content.notAfterMs)),
    content.subject,
    toSpki(content.publicKey),
    explicit(3, sequence(...content.extensions)),
  )
  const certificate = sequence(signed, algorithm, bitString(sign('sha256', signed, signingKey)))
  return `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----`
}

/** 128 bits: positive, since the first bit is not set, and without a leading zero. */
function createSerialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = 0x40 | (bytes[0]! & 0x3f)
  return bytes
}

export interface DistinguishedName {
  readonly commonName: string
  readonly organizations?: readonly string[]
}

/** Values are encoded literally. The organizations come first, as client-go writes and shows the groups of a user. */
export function encodeName({ commonName, organizations = [] }: DistinguishedName): Buffer {
  const attribute = (oid: string, value: string) =>
    element(tags.set, sequence(objectIdentifier(oid), utf8String(value)))
  return sequence(
    ...organizations.map((name) => attribute(oids.organization, name)),
    attribute(oids.commonName, commonName),
  )
}

/** The extensions of a CA. */
export function authorityExtensions(publicKey: KeyObject): readonly Buffer[] {
  return [
    extension(oids.basicConstraints, sequence(yes), { isCritical: true }),
    // Bits 5 and 6: keyCertSign and cRLSign.
    extension(oids.keyUsage, bitString(Buffer.from([0x06]), 1), { isCritical: true }),
    // Distinguishes trusted authorities of the same name.
    subjectKeyIdentifier(publicKey),
  ]
}

/** The extensions of a certificate for a server with these hosts, or without hosts for a client. */
export function leafExtensions(publicKey: KeyObject, issuer: Issuer, hosts: readonly string[]): readonly Buffer[] {
  const isServer = hosts.length > 0
  return [
    // Bit 0: digitalSignature.
    extension(oids.keyUsage, bitString(Buffer.from([0x80]), 7), { isCritical: true }),
    extension(oids.extendedKeyUsage, sequence(objectIdentifier(isServer ? oids.serverAuth : oids.clientAuth))),
    subjectKeyIdentifier(publicKey),
    ...(issuer.keyIdentifier === undefined
      ? []
      : [extension(oids.authorityKeyIdentifier, sequence(implicit(0, issuer.keyIdentifier)))]),
    ...(isServer ? [extension(oids.subjectAltName, sequence(...hosts.map(encodeGeneralName)))] : []),
  ]
}

function extension(oid: string, value: Buffer, { isCritical = false } = {}): Buffer {
  return sequence(objectIdentifier(oid), ...(isCritical ? [yes] : []), octetString(value))
}

/** Method 1 of RFC 5280: the SHA-1 hash of the bits of the public key. */
function subjectKeyIdentifier(publicKey: KeyObject): Buffer {
  const [, bits] = readElements(readElements(toSpki(publicKey))[0]!.contents)
  const hash = createHash('sha1').update(bits!.contents.subarray(1)).digest()
  return extension(oids.subjectKeyIdentifier, octetString(hash))
}

function toSpki(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' })
}

function encodeGeneralName(host: string): Buffer {
  return isIP(host) === 0
    ? implicit(2, Buffer.from(toAsciiHost(host), 'ascii'))
    : implicit(7, Buffer.from(isIPv4(host) ? toIPv4Bytes(host) : toIPv6Bytes(host)))
}

/** The name in the form of DNS, which is ASCII. */
function toAsciiHost(host: string): string {
  // `domainToASCII` would drop tabs and line ends, and refuse names such as `*.example.com` in some versions of Node.
  const ascii = /^[\0-\x7f]*$/.test(host) ? host : domainToASCII(host)
  if (!/^[!-~]+$/.test(ascii))
    throw new RangeError(
      `Cannot issue a certificate for ${JSON.stringify(host)}: it is neither a host name nor an IP address`,
    )
  return ascii
}

function toIPv4Bytes(address: string): readonly number[] {
  return address.split('.').map(Number)
}

/** The zone of an address such as `fe80::1%eth0` has a meaning on one machine only, and is not in certificates. */
function toIPv6Bytes(address: string): readonly number[] {
  const [left, right] = address.replace(/%.*$/, '').split('::').map(groupsToBytes)
  return right === undefined ? left! : [...left!, ...Array(16 - left!.length - right.length).fill(0), ...right]
}

/** The last group can be an IPv4 address. */
function groupsToBytes(groups: string): readonly number[] {
  if (groups === '') return []
  return groups.split(':').flatMap((group) => {
    if (group.includes('.')) return toIPv4Bytes(group)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

/** What the certificates that a CA signs have from the certificate of the CA. */
export interface Issuer {
  /** The name of the CA in DER, byte by byte: Go compares names in this form. */
  readonly name: Buffer
  /** Undefined if the certificate of the CA has none. */
  readonly keyIdentifier: Buffer | undefined
}

/** `certificate`: a CA certificate in DER. Throws if it is incomplete. */
export function readIssuer(certificate: Buffer): Issuer {
  const [outer] = readElements(certificate)
  const [signed] = readElements(outer!.contents)
  const fields = readElements(signed!.contents)
  // The version, if there is one, the serial number, the algorithm, the issuer and the validity come before the subject.
  const hasVersion = fields[0]?.tag === 0xa0
  const name = fields[hasVersion ? 5 : 4]
  if (name?.tag !== tags.sequence) throw new RangeError('Cannot read a CA certificate: it has no subject')
  const extensions = fields.find(({ tag }) => tag === 0xa3)
  return { name: name.bytes, keyIdentifier: extensions && readKeyIdentifier(extensions.contents) }
}

function readKeyIdentifier(extensions: Buffer): Buffer | undefined {
  const wanted = objectIdentifier(oids.subjectKeyIdentifier)
  for (const one of readElements(readElements(extensions)[0]!.contents)) {
    const [oid, ...rest] = readElements(one.contents)
    if (oid?.bytes.equals(wanted)) return readElements(rest.at(-1)!.contents)[0]!.contents
  }
  return undefined
}
