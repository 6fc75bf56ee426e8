/** Reads the source files of an operator: the given files and their imports, without packages. */
import { readFile } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { bundleOptions } from '../../loading/esbuild-options.ts'
import { isProgram, type LoadTarget } from '../../loading/load.ts'
import { tokenize } from './source-tokens.ts'
import { readSource, type SourceFile } from './source-values.ts'

export async function readSources(targets: readonly LoadTarget[], folder: string): Promise<readonly SourceFile[]> {
  const paths = [...new Set(await findFiles(targets, folder))].sort()
  return Promise.all(
    paths.map(async (path) => {
      const name = relative(folder, path).split(sep).join('/')
      return readSource(name, tokenize(await readFile(path, 'utf8').catch(() => '')))
    }),
  )
}

/** Finds imports with esbuild. If esbuild cannot compile a file that Node has loaded already, only the given files are read. */
async function findFiles(targets: readonly LoadTarget[], folder: string): Promise<string[]> {
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
