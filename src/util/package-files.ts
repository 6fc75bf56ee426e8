/**
 * Where the files of this package are: the only file that knows. The published code is bundled, so that a module cannot tell from
 * its own address what is beside it; in development the sources are run as they are.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')

let root: URL | undefined

/** The folder that has package.json: there is none further down. */
function findRoot(): URL {
  if (root !== undefined) return root
  let folder = new URL('.', import.meta.url)
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder)
  root = folder
  return root
}

/** A file or a folder that is published as it is. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(path, findRoot()))
}

/** A program of ours that is started by its path: `cli/main`. */
export function ownProgram(name: string): string {
  return packageFile(isSource ? `src/${name}.ts` : `dist/${name}.js`)
}

/** What all our code has in its path, as it stands in stacks. */
export function ownCode(): string {
  return new URL(isSource ? 'src/' : 'dist/', findRoot()).pathname
}

/** A library that the build puts beside our code as a file to be required, for those who cannot wait for an import. */
export function requireLibrary(name: 'yaml'): unknown {
  return createRequire(import.meta.url)(isSource ? name : packageFile(`dist/libraries/${name}.cjs`))
}
