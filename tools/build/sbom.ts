/**
 * The software bill of materials of the package, in CycloneDX 1.6 JSON: the libraries that are bundled into `dist/libraries` and
 * the packages that npm installs, with versions, licences and the hashes of package-lock.json. Bundled code has no package.json, so
 * scanners find a vulnerable library only here. There is no timestamp, and the serial number is derived from the content, so that the
 * same sources give the same file.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { packageOf } from './licences.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly homepage: string
  readonly bugs: { readonly url: string }
  readonly repository: { readonly url: string }
  readonly dependencies: Readonly<Record<string, string>>
}

/** An entry of `packages` in package-lock.json. */
interface Locked {
  readonly version: string
  readonly license?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Part {
  /** The key in package-lock.json: `node_modules/tsyringe/node_modules/tslib`. */
  readonly folder: string
  readonly name: string
  readonly locked: Locked
  readonly isBundled: boolean
  readonly isOptional: boolean
}

/** `bundled`: the source files of the bundled libraries. */
export async function writeSbom(bundled: readonly string[]): Promise<string> {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Manifest
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
  const parts = [...bundledParts(bundled, packages), ...installedParts(manifest, packages)]
  const content = {
    metadata: { lifecycles: [{ phase: 'build' }], component: describeOwn(manifest) },
    components: parts.map(describePart),
    dependencies: describeDependencies(manifest, parts),
  }
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${toUuid(JSON.stringify(content))}`,
    version: 1,
  }
  return `${JSON.stringify({ ...head, ...content })}\n`
}

function bundledParts(files: readonly string[], packages: Readonly<Record<string, Locked>>): Part[] {
  const folders = [...new Set(files.map(packageOf))].sort()
  return folders.map((folder) => ({ ...toPart(folder, packages), isBundled: true, isOptional: false }))
}

/** The dependencies and their optional dependencies: esbuild has one binary for each platform, of which npm installs one. */
function installedParts({ dependencies }: Manifest, packages: Readonly<Record<string, Locked>>): Part[] {
  return Object.keys(dependencies).flatMap((name) => {
    const part = toPart(`node_modules/${name}`, packages)
    const { dependencies: required = {}, optionalDependencies = {} } = part.locked
    if (Object.keys(required).length > 0)
      throw new Error(`Cannot list the dependencies of "${name}": extend this function`)
    const binaries = Object.keys(optionalDependencies).map((one) => toPart(`node_modules/${one}`, packages))
    return [
      { ...part, isBundled: false, isOptional: false },
      ...binaries.map((one) => ({ ...one, isBundled: false, isOptional: true })),
    ]
  })
}

function toPart(folder: string, packages: Readonly<Record<string, Locked>>): Pick<Part, 'folder' | 'name' | 'locked'> {
  const locked = packages[folder]
  if (locked?.integrity === undefined) throw new Error(`Cannot list "${folder}": package-lock.json has no hash of it`)
  if (locked.license === undefined) throw new Error(`Cannot list "${folder}": package-lock.json has no licence of it`)
  return { folder, name: folder.split('node_modules/').at(-1)!, locked }
}

function describeOwn({ name, version, description, license, homepage, bugs, repository }: Manifest): object {
  return {
    type: 'library',
    'bom-ref': toPurl(name, version),
    name,
    version,
    description,
    licenses: toLicences(license),
    purl: toPurl(name, version),
    externalReferences: [
      { type: 'vcs', url: repository.url },
      { type: 'website', url: homepage },
      { type: 'issue-tracker', url: bugs.url },
    ],
  }
}

function describePart({ name, locked, isBundled, isOptional }: Part): object {
  const { version, license, integrity } = locked
  return {
    type: 'library',
    'bom-ref': toPurl(name, version),
    name,
    version,
    scope: isOptional ? 'optional' : 'required',
    hashes: toHashes(integrity!),
    licenses: toLicences(license!),
    purl: toPurl(name, version),
    properties: [{ name: 'kopf:bundled', value: String(isBundled) }],
  }
}

function describeDependencies(manifest: Manifest, parts: readonly Part[]): object[] {
  const purls = new Map(parts.map(({ folder, name, locked }) => [folder, toPurl(name, locked.version)]))
  const direct = parts.filter(({ isOptional }) => !isOptional).map(({ folder }) => purls.get(folder)!)
  const own = { ref: toPurl(manifest.name, manifest.version), dependsOn: direct.sort() }
  const others = parts.map(({ folder, locked }) => {
    const needed = Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })
    const found = needed.flatMap((name) => purls.get(findFolder(folder, name, purls)) ?? [])
    return { ref: purls.get(folder)!, dependsOn: found.sort() }
  })
  return [own, ...others]
}

/** Where Node finds a package that another one imports: in the importer's own node_modules, or in those of its parents. */
function findFolder(from: string, name: string, known: ReadonlyMap<string, unknown>): string {
  const nested = `${from}/node_modules/${name}`
  return known.has(nested) ? nested : `node_modules/${name}`
}

/** See https://github.com/package-url/purl-spec: the "@" of a scope is escaped, the one before the version is not. */
function toPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** A single SPDX identifier, or an expression of several. */
function toLicences(license: string): object[] {
  return /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }]
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
