/**
 * Paths of this package's files. The only file that depends on the layout: published code is bundled, so a module's own URL does not
 * lead to its neighbours; in development the sources run directly; a program of `kopf build` contains everything and has no file beside it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

/** The parts of this package in a program of `kopf build`. */
interface BuiltLayout {
  /** The version of this package. */
  readonly version: string
  /** The name of the program in stack traces. */
  readonly code: string
  /** The sources of the programs for threads, as CommonJS, compressed with brotli, in base64. */
  readonly threads?: Readonly<Record<string, string>>
  /** The files that are read by their path below `dist/`, in base64. */
  readonly files?: Readonly<Record<string, string>>
  readonly yaml?: () => unknown
}

/** Declared by the first line of a program of `kopf build`, and nowhere else. */
declare const __kopf_built: BuiltLayout | undefined

const built = typeof __kopf_built === 'undefined' ? undefined : __kopf_built

const isSource = import.meta.url.endsWith('.ts')

let root: URL | undefined

/** The folder with package.json; no folder below it has one. */
function findRoot(): URL {
  if (root !== undefined) return root
  let folder = new URL('.', import.meta.url)
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder)
  root = folder
  return root
}

/** The path of a published file or folder. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(path, findRoot()))
}

/** The path of a program of this package: `cli/main`. */
export function ownProgram(name: string): string {
  return packageFile(isSource ? `src/${name}.ts` : `dist/${name}.js`)
}

/** What `new Worker` needs for a program of this package: its path, or its source in a program of `kopf build`. */
export function ownThread(name: string): { readonly script: string; readonly eval: boolean } {
  const source = built?.threads?.[name]
  if (source === undefined) return { script: ownProgram(name), eval: false }
  return { script: brotliDecompressSync(Buffer.from(source, 'base64')).toString(), eval: true }
}

/** The content of a file that the build writes below `dist/`; undefined if there is none. In a checkout, it is there after `npm run build`. */
export function readPackagedFile(path: string): Uint8Array | undefined {
  if (built !== undefined) {
    const text = built.files?.[path]
    return text === undefined ? undefined : Buffer.from(text, 'base64')
  }
  const file = packageFile(`dist/${path}`)
  return existsSync(file) ? readFileSync(file) : undefined
}

/** Whether this code is part of a program of `kopf build`. */
export const isBuilt: boolean = built !== undefined

/** The path prefix of this package's code, as in stack traces. In a program of `kopf build`, packages have it as well; source maps name the user's files. */
export function ownCode(): string {
  if (built !== undefined) return built.code
  return new URL(isSource ? 'src/' : 'dist/', findRoot()).pathname
}

/** A library that the build bundles as CommonJS, for synchronous loading. */
export function requireLibrary(name: 'yaml'): unknown {
  return built?.yaml === undefined ? createRequire(import.meta.url)(libraryFile(name)) : built.yaml()
}

/** The file of that library. */
export function libraryFile(name: 'yaml'): string {
  return isSource ? createRequire(import.meta.url).resolve(name) : packageFile(`dist/libraries/${name}.cjs`)
}

/** The version of this package, from package.json. */
export function packageVersion(): string {
  if (built !== undefined) return built.version
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/**
 * What a package.json names to depend on this package: its version, or its folder where it is a checkout of the repository, whose version may
 * not be published.
 */
export function packageSpecifier(): string {
  const isCheckout = existsSync(packageFile('src/index.ts'))
  return isCheckout ? `file:${packageFile('.').replaceAll('\\', '/').replace(/\/$/, '')}` : packageVersion()
}
