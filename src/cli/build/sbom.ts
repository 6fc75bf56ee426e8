/** The bill of materials of a program of `kopf build`: the packages whose code it contains, and those that it imports. */
import { readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { packageFile } from '../../util/process/package-files.ts'
import type { OperatorBundle } from './bundle.ts'
import { type BomPackage, toComponent, toPurl, writeBom } from './cyclonedx.ts'
import { type InstalledPackage, isOwnFile, type PackageFinder } from './packages.ts'

/** The parts of the bill of materials of this package that are used here. */
interface OwnBom {
  readonly components: ReadonlyArray<{
    readonly name: string
    readonly version: string
    readonly properties: ReadonlyArray<{ readonly name: string; readonly value: string }>
  }>
}

export interface BomOptions {
  readonly bundle: OperatorBundle
  readonly packages: PackageFinder
  /** The operator's own package; undefined if there is no package.json. */
  readonly own: InstalledPackage | undefined
  /** The name of the operator without a package.json. */
  readonly fallbackName: string
}

export function writeProgramBom({ bundle, packages, own, fallbackName }: BomOptions): string {
  const used = [...bundle.bytes].filter(([, bytes]) => bytes > 0).map(([file]) => file)
  const found = new Map<string, object>()
  const add = (name: string, version: string, component: object) => found.set(toPurl(name, version), component)
  for (const file of used) {
    const owner = packages.packageOf(file)
    if (owner === undefined || owner.folder === own?.folder) continue
    const bom = toBomPackage(owner, true)
    add(bom.name, bom.version, toComponent(bom))
  }
  for (const component of libraryComponents(used)) add(component.name, component.version, component)
  for (const { installed } of bundle.external) {
    if (installed === undefined) continue
    const bom = toBomPackage(installed, false)
    add(bom.name, bom.version, toComponent(bom))
  }
  const name = own?.name ?? fallbackName
  const version = own?.version ?? '0.0.0'
  const refs = [...found.keys()].sort()
  return writeBom({
    metadata: {
      component: { type: 'application', 'bom-ref': toPurl(name, version), name, version, purl: toPurl(name, version) },
    },
    components: refs.map((ref) => found.get(ref)!),
    dependencies: [{ ref: toPurl(name, version), dependsOn: refs }, ...refs.map((ref) => ({ ref, dependsOn: [] }))],
  })
}

function toBomPackage({ folder, name, version = '0.0.0', license }: InstalledPackage, isBundled: boolean): BomPackage {
  const integrity = integrityOf(folder)
  return { name, version, license, integrity, scope: 'required', properties: { bundled: String(isBundled) } }
}

/** The libraries that are bundled into this package, from its own bill of materials. */
function libraryComponents(used: readonly string[]): OwnBom['components'] {
  const libraries = used.filter((file) => isOwnFile(file) && file.includes(`${sep}libraries${sep}`))
  if (libraries.length === 0) return []
  const names = libraries.map((file) =>
    file
      .slice(file.lastIndexOf(`libraries${sep}`))
      .split(sep)
      .join('/'),
  )
  const { components } = JSON.parse(readFileSync(packageFile('dist/sbom.cdx.json'), 'utf8')) as OwnBom
  return components
    .filter(({ properties }) =>
      properties.some(
        ({ name, value }) => name === 'kopf:files' && value.split(' ').some((one) => names.includes(one)),
      ),
    )
    .map((component) => ({
      ...component,
      properties: component.properties.filter(({ name }) => name === 'kopf:bundled'),
    }))
}

/** The hash that npm has recorded for the installed package; undefined with other package managers. */
function integrityOf(folder: string): string | undefined {
  const [root, inside] = folder.split(/[\\/]node_modules[\\/](.*)/s)
  if (inside === undefined) return undefined
  try {
    const lock = JSON.parse(readFileSync(join(root!, 'node_modules', '.package-lock.json'), 'utf8')) as {
      packages: Record<string, { integrity?: string }>
    }
    return lock.packages[`node_modules/${inside.split(sep).join('/')}`]?.integrity
  } catch {
    return undefined
  }
}
