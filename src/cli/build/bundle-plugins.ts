/**
 * The esbuild plugins of `kopf build`: packages become part of the bundle unless they cannot, and expressions about the place of a source file
 * get the place where that file would be beside the program. They record what they find; bundle.ts decides on it.
 */
import { readFile } from 'node:fs/promises'
import { basename, dirname, extname, isAbsolute, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild'
import { findCounterpart } from '../../workers/module-files.ts'
import { fileConstants, programLoaders, resolveOwnEntry, toMissingPackage } from '../loading/esbuild-options.ts'
import { type InstalledPackage, isOwnFile, type PackageFinder } from './packages.ts'

/** Facts about the bundled files, in the order of discovery. */
export interface BundleFindings {
  /** Packages with native add-ons, by name. */
  readonly native: Map<string, InstalledPackage>
  /** Packages that are left out because of `--external`, by name; undefined if not installed. */
  readonly external: Map<string, InstalledPackage | undefined>
  /** Packages that are imported dynamically and are not installed, with the importing file. */
  readonly missing: Array<{ readonly name: string; readonly file: string }>
  /** Existing files and folders that the code names with `new URL('./file', import.meta.url)`. */
  readonly references: Set<string>
  /** Names in such expressions without a file, with the file that has the expression. */
  readonly unknownReferences: Array<{ readonly name: string; readonly file: string }>
  /** Files that use their own place in another way. */
  readonly placeUsers: Set<string>
}

export function createFindings(): BundleFindings {
  return {
    native: new Map(),
    external: new Map(),
    missing: [],
    references: new Set(),
    unknownReferences: [],
    placeUsers: new Set(),
  }
}

/** Entries of this package that are not part of a program. */
const excludedEntries: Readonly<Record<string, string>> = {
  'kopf/server': 'the embedded server',
  'kopf/testing': 'the testing kit',
}

export interface PackagesOptions {
  /** Names of packages that stay imports. */
  readonly external: ReadonlySet<string>
  readonly packages: PackageFinder
  readonly findings: BundleFindings
}

/** Resolves packages. Those that cannot be bundled stay imports, which Node resolves in the folder of the program. */
export function bundlePackages(options: PackagesOptions): Plugin {
  const plugin: Plugin = {
    name: 'bundled packages',
    setup(build) {
      build.onResolve({ filter: /\.node$/ }, (args) => resolveAddon(args, options))
      build.onResolve({ filter: /^[^.#]/ }, async (args) => {
        if (args.pluginData === plugin || args.kind === 'entry-point' || isAbsolute(args.path)) return undefined
        if (args.path.startsWith('file:')) return { path: fileURLToPath(args.path) }
        if (/^(node|data|kopf-thread):/.test(args.path)) return undefined
        return resolvePackage(build, args, { ...options, plugin })
      })
    },
  }
  return plugin
}

async function resolvePackage(
  build: PluginBuild,
  args: OnResolveArgs,
  { external, packages, findings, plugin }: PackagesOptions & { readonly plugin: Plugin },
): Promise<OnResolveResult> {
  const { path, kind, importer, resolveDir } = args
  if (/^kopf(\/|$)/.test(path)) return resolveKopf(args)
  const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/')
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: plugin })
  const isFound = found.errors.length === 0
  const owner = isFound && !found.external ? packages.packageOf(found.path) : undefined
  if (external.has(name)) {
    findings.external.set(name, owner)
    return { path, external: true }
  }
  if (!isFound) {
    findings.missing.push({ name, file: importer })
    return toMissingPackage(args)
  }
  if (found.external) return { path: found.path, external: true }
  if (owner?.name === name && packages.isNative(owner)) {
    findings.native.set(name, owner)
    return { path, external: true }
  }
  const { path: file, namespace, suffix, sideEffects } = found
  return { path: file, namespace, suffix, sideEffects }
}

/** The command's own copy of this package, so that the program contains one copy. */
function resolveKopf(args: OnResolveArgs): OnResolveResult {
  const excluded = excludedEntries[args.path]
  if (excluded !== undefined) {
    const text = `"${args.path}" is ${excluded}, which is not part of a program: import it only in files that the operator does not import, such as tests`
    return { errors: [{ text }] }
  }
  const url = resolveOwnEntry(args.path)
  if (url === undefined) return { errors: [{ text: `This package has no entry "${args.path}"` }] }
  return { path: fileURLToPath(url), sideEffects: false }
}

/** A native add-on makes its package an import. An add-on of the project itself is copied, by the loader of its extension. */
function resolveAddon({ path, importer, resolveDir }: OnResolveArgs, { packages, findings }: PackagesOptions) {
  const owner = packages.packageOf(importer)
  if (owner === undefined || !/[\\/]node_modules[\\/]/.test(owner.folder)) return undefined
  findings.native.set(owner.name, owner)
  return { path: path.startsWith('.') ? resolve(resolveDir, path) : path, external: true }
}

/** The place of a source file beside the program, relative to the program: `./handlers/backup.ts`. */
export type PlaceOf = (file: string) => string

/** `new URL('./heavy.ts', import.meta.url)` */
const reference = /\bnew\s+URL\(\s*(['"`])([^'"`$]+)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g
const anyPlace = /\bimport\.meta\.(url|dirname|filename)\b|\b__(dirname|filename)\b/

/**
 * The source map of a file that is not the user's: by line for a package, and none of the lines for this package. Positions of each expression
 * would make the map as large as the program. A file that was compiled has a source map already, which is used.
 */
function toCoarseMap(path: string, source: string): string {
  if (source.includes('//# sourceMappingURL=')) return ''
  const lines = isOwnFile(path) ? 1 : source.split('\n').length
  const map = { version: 3, sources: [basename(path)], mappings: `AAAA${';AACA'.repeat(lines - 1)}` }
  return `\n//# sourceMappingURL=data:application/json,${encodeURIComponent(JSON.stringify(map))}`
}

/** Defines the constants of `fileConstants` in the files that use them, and records the files that they name. */
export function definePlaces(placeOf: PlaceOf, findings: BundleFindings): Plugin {
  return {
    name: 'places',
    setup(build) {
      build.onLoad({ filter: /\.([mc]?[tj]s|[tj]sx)$/, namespace: 'file' }, async ({ path }) => {
        const source = await readFile(path, 'utf8')
        const isForeign = isOwnFile(path) || /[\\/]node_modules[\\/]/.test(path)
        const hasPlaces = anyPlace.test(source)
        if (!isForeign && !hasPlaces) return undefined
        if (!isOwnFile(path)) recordReferences(path, source, findings)
        const constants = hasPlaces ? declareConstants(placeOf(path), source) : ''
        const map = isForeign ? toCoarseMap(path, source) : ''
        const contents = `${constants}${source.startsWith('#!') ? '//' : ''}${source}${map}`
        return { contents, loader: programLoaders[extname(path)]! }
      })
    },
  }
}

function recordReferences(path: string, source: string, findings: BundleFindings): void {
  for (const [, , name = ''] of source.matchAll(reference)) {
    if (/^[a-z]+:/i.test(name)) continue
    const target = findCounterpart(resolve(dirname(path), name))
    if (target === undefined) findings.unknownReferences.push({ name, file: path })
    // The folder of the file itself, or one above it, is a place from which the code finds other files.
    else if (path.startsWith(join(target, sep))) findings.placeUsers.add(path)
    else findings.references.add(target)
  }
  if (anyPlace.test(source.replaceAll(reference, ''))) findings.placeUsers.add(path)
}

/** One line without a line break, so that the lines of the source keep their numbers. `__kopf_base` is defined by the first line of the program. */
function declareConstants(place: string, source: string): string {
  const url = `/* @__PURE__ */ new URL(${JSON.stringify(place)}, __kopf_base)`
  const values = {
    __kopf_url: `/* @__PURE__ */ String(${url})`,
    __kopf_dirname: `/* @__PURE__ */ __kopf_path(new URL('.', ${url}))`,
    __kopf_filename: `/* @__PURE__ */ __kopf_path(${url})`,
  }
  const used = Object.entries(fileConstants).filter(([expression]) => source.includes(expression))
  const names = new Set(used.map(([, name]) => name))
  return `const ${[...names].map((name) => `${name} = ${values[name]}`).join(', ')}; `
}
