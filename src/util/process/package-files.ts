/**
 * Paths of this package's files. The only file that depends on the layout: published code is bundled, so a module's own URL does not
 * lead to its neighbours; in development the sources run directly.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

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

/** The path prefix of this package's code, as in stack traces. */
export function ownCode(): string {
  return new URL(isSource ? 'src/' : 'dist/', findRoot()).pathname
}

/** A library that the build bundles as CommonJS, for synchronous loading. */
export function requireLibrary(name: 'yaml'): unknown {
  return createRequire(import.meta.url)(isSource ? name : packageFile(`dist/libraries/${name}.cjs`))
}

/** The version of this package, from package.json. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
