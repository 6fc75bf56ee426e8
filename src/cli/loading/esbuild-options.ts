/**
 * The esbuild options for bundling the user's files: their own files are included, packages are imported by URL. Used by compile-process.ts for a
 * single bundle, and by dev/rebuild.ts for one bundle per save.
 */
import { readFile } from 'node:fs/promises'
import { dirname, extname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildOptions, Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild'
import { needsCompiling } from './load.ts'

export interface BundleRequest {
  readonly targets: readonly string[]
  readonly folder: string
  readonly output: string
  /** "imports": a list of functions that import the targets. "module": the exports of the only target. */
  readonly shape: 'imports' | 'module'
}

/** The loaders of programs. */
export const programLoaders: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.jsx': 'jsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
}

/** Other files that a program can import, in addition to JSON: text as a string, and bytes as a Uint8Array. */
const fileLoaders: Readonly<Record<string, Loader>> = {
  '.txt': 'text',
  '.html': 'text',
  '.sql': 'text',
  '.yaml': 'text',
  '.yml': 'text',
  '.bin': 'binary',
  '.wasm': 'binary',
}

/** The bundle is in another folder, so that these expressions are replaced by constants of the original file. */
export const fileConstants = {
  'import.meta.url': '__kopf_url',
  'import.meta.dirname': '__kopf_dirname',
  'import.meta.filename': '__kopf_filename',
  __dirname: '__kopf_dirname',
  __filename: '__kopf_filename',
} as const

/** The options that decide what a program means, whether it is compiled for `kopf run`, `kopf dev` or `kopf build`. */
export function commonOptions(folder: string): BuildOptions {
  return {
    absWorkingDir: folder,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // The ids of handlers are the names of functions.
    keepNames: true,
    conditions: nodeConditions(process.execArgv),
    define: { ...fileConstants },
    loader: { ...fileLoaders },
    logLevel: 'silent',
  }
}

export function bundleOptions({ targets, folder, output, shape }: BundleRequest): BuildOptions {
  const base = JSON.stringify(pathToFileURL(join(folder, 'kopf-run.js')).href)
  return {
    ...(shape === 'module' ? { entryPoints: [{ in: targets[0]!, out: 'stdin' }] } : importsEntryOf(targets, folder)),
    ...commonOptions(folder),
    outdir: output,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    sourcemap: 'inline',
    banner: {
      js: `import { createRequire as __kopf_require } from 'node:module'; const require = __kopf_require(${base});`,
    },
    plugins: [packages, places],
  }
}

function importsEntryOf(targets: readonly string[], resolveDir: string): BuildOptions {
  const imports = targets.map((target) => `() => import(${JSON.stringify(target)})`)
  return { stdin: { contents: `export const imports = [${imports.join()}]`, resolveDir, sourcefile: entryName } }
}

/** The name of the generated file that imports the targets. */
const entryName = 'kopf-run'

/** The conditions that were passed to Node, so that packages are resolved as by Node. */
function nodeConditions(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const [name, value = args[index + 1] ?? ''] = arg.split('=')
    return name === '--conditions' || name === '-C' ? [value] : []
  })
}

/** Resolves packages from the importing file, and makes them external imports by URL. */
const packages: Plugin = {
  name: 'packages',
  setup(build) {
    build.onResolve({ filter: /^[^.]/ }, async (args) => {
      if (args.pluginData === packages || isAbsolute(args.path)) return undefined
      if (args.path.startsWith('file:')) return { path: fileURLToPath(args.path) }
      return resolvePackage(build, args)
    })
  },
}

async function resolvePackage(build: PluginBuild, args: OnResolveArgs): Promise<OnResolveResult> {
  const { path, kind, importer, resolveDir } = args
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: packages })
  const isKopf = /^kopf(\/|$)/.test(path)
  if (found.errors.length > 0) return (isKopf && resolveOwnPackage(path)) || toMissingPackage(args)
  if (found.external) return { path: found.path, external: true }
  // Packages of a workspace may be TypeScript and are bundled. This package is never bundled, since a second copy would be loaded.
  if (!isKopf && needsCompiling(found.path)) return { path: found.path }
  return { path: toImportPath(found.path, kind), external: true }
}

/** Resolves "kopf" to this package, for projects without a node_modules folder and a globally installed command. */
function resolveOwnPackage(path: string): OnResolveResult | undefined {
  const url = resolveOwnEntry(path)
  return url === undefined ? undefined : { path: url, external: true }
}

/** The URL of an entry of this package, such as "kopf/webhooks"; undefined if there is no such entry. */
export function resolveOwnEntry(path: string): string | undefined {
  try {
    return import.meta.resolve(path)
  } catch {
    return undefined
  }
}

/** `require` accepts only paths; `import` does not accept absolute paths on Windows. */
function toImportPath(path: string, kind: OnResolveArgs['kind']): string {
  return kind === 'require-call' || kind === 'require-resolve' ? path : pathToFileURL(path).href
}

export function toMissingPackage({ path, kind, importer }: OnResolveArgs): OnResolveResult {
  const isTarget = importer === entryName || importer.endsWith(`/${entryName}`)
  // A dynamic import or `require` is resolved at run time: the code may handle its failure.
  if (!isTarget && kind !== 'import-statement') return { path, external: true }
  const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/')
  const text = `Cannot find the package "${name}": install it with "npm install ${name}"`
  return { errors: [{ text, detail: isTarget ? { target: path } : undefined }] }
}

/** Defines the constants of `ownPlace` in files that use them. The definition shifts the columns of the first line, so others have none. */
const places: Plugin = {
  name: 'places',
  setup(build) {
    build.onLoad({ filter: /\.([mc]?[tj]s|[tj]sx)$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      if (!/import\.meta|__dirname|__filename/.test(source)) return undefined
      const values = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path }
      const names = Object.entries(values).map(([name, value]) => `__kopf_${name} = ${JSON.stringify(value)}`)
      const contents = `const ${names.join(', ')}; ${source.startsWith('#!') ? '//' : ''}${source}`
      return { contents, loader: programLoaders[extname(path)]! }
    })
  },
}
