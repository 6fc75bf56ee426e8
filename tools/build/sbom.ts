/**
 * The software bill of materials of the package, in CycloneDX 1.6 JSON: the libraries that are bundled into `dist/libraries` and
 * `dist/dashboard`, and the packages that npm installs, with versions, licences and the hashes of package-lock.json. Bundled code has no package.json, so
 * scanners find a vulnerable library only here. `kopf build` reads from it which packages a bundled library consists of.
 */
import { readFile } from 'node:fs/promises'
import { toComponent, toLicences, toPurl, writeBom } from '../../src/cli/build/cyclonedx.ts'
import type { BundledLibrary } from './libraries.ts'
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
  /** The files of `dist/` that contain it; none if npm installs it. */
  readonly files: readonly string[]
  readonly isOptional: boolean
}

export async function writeSbom(bundled: readonly BundledLibrary[]): Promise<string> {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Manifest
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }
  const parts = [...bundledParts(bundled, packages), ...installedParts(manifest, packages)]
  return writeBom({
    metadata: { component: describeOwn(manifest) },
    components: parts.map(describePart),
    dependencies: describeDependencies(manifest, parts),
  })
}

function bundledParts(libraries: readonly BundledLibrary[], packages: Readonly<Record<string, Locked>>): Part[] {
  const files = new Map<string, Set<string>>()
  for (const { file, sources } of libraries) {
    for (const folder of sources.map(packageOf)) files.set(folder, (files.get(folder) ?? new Set()).add(file))
  }
  return [...files]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([folder, names]) => ({ ...toPart(folder, packages), files: [...names].sort(), isOptional: false }))
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
      { ...part, files: [], isOptional: false },
      ...binaries.map((one) => ({ ...one, files: [], isOptional: true })),
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

function describePart({ name, locked, files, isOptional }: Part): object {
  return toComponent({
    ...locked,
    name,
    scope: isOptional ? 'optional' : 'required',
    properties: { bundled: String(files.length > 0), ...(files.length > 0 && { files: files.join(' ') }) },
  })
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
