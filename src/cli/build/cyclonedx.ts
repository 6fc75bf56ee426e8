/**
 * Writes a software bill of materials in CycloneDX 1.6 JSON. There is no timestamp, and the serial number is derived from the content, so that
 * the same sources give the same file. Used by `kopf build`, and by tools/build/sbom.ts for this package itself.
 */
import { createHash } from 'node:crypto'

/** A package for the list of components. */
export interface BomPackage {
  readonly name: string
  readonly version: string
  /** An SPDX identifier or expression. */
  readonly license?: string | undefined
  /** As npm writes it: `sha512-…`. */
  readonly integrity?: string | undefined
  readonly scope: 'required' | 'optional'
  /** Properties of our own, with the prefix `kopf:`. */
  readonly properties: Readonly<Record<string, string>>
}

export interface BomContent {
  readonly metadata: object
  readonly components: readonly object[]
  readonly dependencies: readonly object[]
}

export function writeBom({ metadata, components, dependencies }: BomContent): string {
  const content = { metadata: { lifecycles: [{ phase: 'build' }], ...metadata }, components, dependencies }
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${toUuid(JSON.stringify(content))}`,
    version: 1,
  }
  return `${JSON.stringify({ ...head, ...content })}\n`
}

export function toComponent({ name, version, license, integrity, scope, properties }: BomPackage): object {
  return {
    type: 'library',
    'bom-ref': toPurl(name, version),
    name,
    version,
    scope,
    ...(integrity !== undefined && { hashes: toHashes(integrity) }),
    ...(license !== undefined && { licenses: toLicences(license) }),
    purl: toPurl(name, version),
    properties: Object.entries(properties).map(([key, value]) => ({ name: `kopf:${key}`, value })),
  }
}

/** See https://github.com/package-url/purl-spec: the "@" of a scope is escaped, the one before the version is not. */
export function toPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** A single SPDX identifier, or an expression of several. Texts such as "SEE LICENSE IN file" are no expressions. */
export function toLicences(license: string): object[] {
  if (/^[\w.+-]+$/.test(license)) return [{ license: license === 'UNLICENSED' ? { name: license } : { id: license } }]
  return /\b(AND|OR|WITH)\b/.test(license) ? [{ expression: license }] : [{ license: { name: license } }]
}

/** `sha512-…` in base64, as npm writes it, becomes hexadecimal. */
function toHashes(integrity: string): object[] {
  return integrity.split(' ').map((one) => {
    const [algorithm = '', digest = ''] = one.split(/-(.*)/s)
    const alg = algorithm.toUpperCase().replace('SHA', 'SHA-')
    return { alg, content: Buffer.from(digest, 'base64').toString('hex') }
  })
}

/** A UUID of version 8 (RFC 9562), whose bits are taken from a digest of the text. */
function toUuid(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
