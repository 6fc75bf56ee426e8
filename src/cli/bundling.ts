/**
 * How the files of a user become a bundle that Node can import: their own files in it, packages by their addresses. For
 * compile-process.ts, which makes one and ends, and for dev/rebuild.ts, which makes one after the other.
 */
import { readFile } from 'node:fs/promises'
import { dirname, extname, isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { BuildOptions, Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild'
import { needsCompiling } from './programs.ts'

export interface BundleRequest {
  readonly targets: readonly string[]
  readonly folder: string
  readonly output: string
  /** A list of functions that import the targets, or the one target itself. */
  readonly shape: 'imports' | 'module'
}

const loaders: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.jsx': 'jsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
}

/** The bundle is elsewhere: these words must still tell of the file they were written in. */
const ownPlace = {
  'import.meta.url': '__kopf_url',
  'import.meta.dirname': '__kopf_dirname',
  'import.meta.filename': '__kopf_filename',
  __dirname: '__kopf_dirname',
  __filename: '__kopf_filename',
} as const

/** All that esbuild is told, whoever asks it. */
export function bundleOptions({ targets, folder, output, shape }: BundleRequest): BuildOptions {
  const base = JSON.stringify(pathToFileURL(join(folder, 'kopf-run.js')).href)
  return {
    ...(shape === 'module' ? { entryPoints: [{ in: targets[0]!, out: 'stdin' }] } : listOf(targets, folder)),
    absWorkingDir: folder,
    outdir: output,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Ids of handlers are the names of functions.
    keepNames: true,
    sourcemap: 'inline',
    conditions: nodeConditions(process.execArgv),
    define: { ...ownPlace },
    banner: {
      js: `import { createRequire as __kopf_require } from 'node:module'; const require = __kopf_require(${base});`,
    },
    logLevel: 'silent',
    plugins: [packages, places],
  }
}

function listOf(targets: readonly string[], resolveDir: string): BuildOptions {
  const imports = targets.map((target) => `() => import(${JSON.stringify(target)})`)
  return { stdin: { contents: `export const imports = [${imports.join()}]`, resolveDir, sourcefile: entryName } }
}

/** The file that imports the targets; people never see it. */
const entryName = 'kopf-run'

/** Those that Node was told: packages are to be found as Node finds them. */
function nodeConditions(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const [name, value = args[index + 1] ?? ''] = arg.split('=')
    return name === '--conditions' || name === '-C' ? [value] : []
  })
}

/** Resolves packages as from the file that names them, and leaves them to Node by their address. */
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
  if (found.errors.length > 0) return (isKopf && ourOwn(path)) || missing(args)
  if (found.external) return { path: found.path, external: true }
  // A package of a workspace may be TypeScript still; ours is never taken into the bundle, or there would be two.
  if (!isKopf && needsCompiling(found.path)) return { path: found.path }
  return { path: addressOf(found.path, kind), external: true }
}

/** A project without packages of its own, with this command installed for all. */
function ourOwn(path: string): OnResolveResult | undefined {
  try {
    return { path: import.meta.resolve(path), external: true }
  } catch {
    return undefined
  }
}

/** `require` takes paths only, `import` takes them on no Windows machine. */
function addressOf(path: string, kind: OnResolveArgs['kind']): string {
  return kind === 'require-call' || kind === 'require-resolve' ? path : pathToFileURL(path).href
}

function missing({ path, kind, importer }: OnResolveArgs): OnResolveResult {
  const isTarget = importer === entryName || importer.endsWith(`/${entryName}`)
  // Asked for while it runs, perhaps with an answer to its absence.
  if (!isTarget && kind !== 'import-statement') return { path, external: true }
  const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/')
  const text = `Cannot find the package "${name}": install it with "npm install ${name}"`
  return { errors: [{ text, detail: isTarget ? { target: path } : undefined }] }
}

/** Only where the words are used: the line shifts the columns of the first one. */
const places: Plugin = {
  name: 'places',
  setup(build) {
    build.onLoad({ filter: /\.([mc]?[tj]s|[tj]sx)$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      if (!/import\.meta|__dirname|__filename/.test(source)) return undefined
      const values = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path }
      const names = Object.entries(values).map(([name, value]) => `__kopf_${name} = ${JSON.stringify(value)}`)
      const contents = `const ${names.join(', ')}; ${source.startsWith('#!') ? '//' : ''}${source}`
      return { contents, loader: loaders[extname(path)]! }
    })
  },
}
