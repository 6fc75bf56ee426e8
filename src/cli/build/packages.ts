/** Finds the package of a bundled file, with its version and licence, for the report and the bill of materials of `kopf build`. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { packageFile } from '../../util/process/package-files.ts'

export interface InstalledPackage {
  /** The folder with package.json. */
  readonly folder: string
  readonly name: string
  readonly version: string | undefined
  /** An SPDX identifier or expression. */
  readonly license: string | undefined
}

interface PackageJson {
  readonly name?: string
  readonly version?: string
  readonly license?: string | { readonly type?: string }
  readonly gypfile?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The folder of this package. */
const ownFolder = dirname(packageFile('package.json'))

/** Whether the file is code of this package. */
export function isOwnFile(path: string): boolean {
  return ['dist', 'src'].some((folder) => path.startsWith(join(ownFolder, folder) + sep))
}

/** Packages whose only purpose is to find or to build a native add-on for the package that depends on them. */
const addonTools = [
  'bindings',
  'node-gyp-build',
  'node-addon-api',
  'prebuild-install',
  'node-pre-gyp',
  '@mapbox/node-pre-gyp',
]

export class PackageFinder {
  readonly #byFolder = new Map<string, InstalledPackage | undefined>()

  /** Undefined for a file outside of any package. */
  packageOf(file: string): InstalledPackage | undefined {
    if (isOwnFile(file)) return this.#read(ownFolder)
    const [installed] = file.match(/^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/) ?? []
    return installed === undefined ? this.#nearest(dirname(file)) : this.#read(installed)
  }

  /** Whether the package builds or loads a native add-on, which cannot be part of a JavaScript file. */
  isNative({ folder }: InstalledPackage): boolean {
    const { gypfile, dependencies = {} } = readPackageJson(folder) ?? {}
    if (gypfile === true || existsSync(join(folder, 'binding.gyp'))) return true
    return addonTools.some((name) => Object.hasOwn(dependencies, name))
  }

  /** Looks for package.json in the folder and its parents, as for a project or a package of a workspace. */
  #nearest(folder: string): InstalledPackage | undefined {
    const found = this.#read(folder)
    if (found !== undefined || dirname(folder) === folder) return found
    return this.#nearest(dirname(folder))
  }

  #read(folder: string): InstalledPackage | undefined {
    if (!this.#byFolder.has(folder)) this.#byFolder.set(folder, toPackage(folder))
    return this.#byFolder.get(folder)
  }
}

function toPackage(folder: string): InstalledPackage | undefined {
  const { name, version, license } = readPackageJson(folder) ?? {}
  // A nested package.json without a name only sets the type of modules.
  if (name === undefined) return undefined
  return { folder, name, version, license: typeof license === 'object' ? license.type : license }
}

function readPackageJson(folder: string): PackageJson | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageJson
  } catch {
    return undefined
  }
}
