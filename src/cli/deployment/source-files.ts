/** The files of the operator's author: those that are named, and those that they import; not those of packages. */
import { readFile } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { bundleOptions } from '../bundling.ts'
import type { Target } from '../load.ts'
import { isProgram } from '../programs.ts'
import { tokenize } from './source-tokens.ts'
import { readSource, type SourceFile } from './source-values.ts'

export async function readSources(targets: readonly Target[], folder: string): Promise<readonly SourceFile[]> {
  const paths = [...new Set(await findFiles(targets, folder))].sort()
  return Promise.all(
    paths.map(async (path) => {
      const name = relative(folder, path).split(sep).join('/')
      return readSource(name, tokenize(await readFile(path, 'utf8').catch(() => '')))
    }),
  )
}

/** The operator was loaded before, so a file that the compiler refuses has been run by Node: then only those that were named are read. */
async function findFiles(targets: readonly Target[], folder: string): Promise<string[]> {
  const addresses = targets.map(({ address }) => address)
  const options = bundleOptions({ targets: addresses, folder, output: folder, shape: 'imports' })
  const named = targets.filter(({ isFile }) => isFile).map(({ address }) => address)
  try {
    const { metafile } = await build({ ...options, write: false, metafile: true, sourcemap: false })
    const inputs = Object.keys(metafile.inputs).map((path) => resolve(folder, path))
    return inputs.filter((path) => isProgram(path) && !path.includes(`${sep}node_modules${sep}`))
  } catch {
    return named
  }
}
