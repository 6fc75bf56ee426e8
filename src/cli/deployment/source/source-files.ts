/** Reads the source files of an operator: the given files and their imports, without packages. */
import { readFile } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'
import { bundleOptions } from '../../loading/esbuild-options.ts'
import { isProgram, type LoadTarget } from '../../loading/load.ts'
import { tokenize } from './source-tokens.ts'
import { readSource, type SourceFile } from './source-values.ts'

export interface OperatorSource {
  readonly files: readonly SourceFile[]
  /** What was not read, in words for the user: packages, and imports that esbuild does not find. */
  readonly unread: readonly string[]
}

export async function readSources(targets: readonly LoadTarget[], folder: string): Promise<OperatorSource> {
  const found = await findFiles(targets, folder)
  const paths = [...new Set(found ?? targets.filter(({ isFile }) => isFile).map(({ address }) => address))].sort()
  const missing = targets.filter(({ address }) => !paths.includes(address)).map(({ name }) => `the package ${name}`)
  return {
    unread: found === undefined ? [...missing, 'imported files'] : missing,
    files: await Promise.all(
      paths.map(async (path) => {
        const name = relative(folder, path).split(sep).join('/')
        return readSource(name, tokenize(await readFile(path, 'utf8').catch(() => '')))
      }),
    ),
  }
}

/** Finds imports with esbuild. Undefined if esbuild cannot compile a file that Node has loaded already. */
async function findFiles(targets: readonly LoadTarget[], folder: string): Promise<string[] | undefined> {
  const addresses = targets.map(({ address }) => address)
  const options = bundleOptions({ targets: addresses, folder, output: folder, shape: 'imports' })
  try {
    const { metafile } = await build({ ...options, write: false, metafile: true, sourcemap: false })
    const inputs = Object.keys(metafile.inputs).map((path) => resolve(folder, path))
    return inputs.filter((path) => isProgram(path) && !path.includes(`${sep}node_modules${sep}`))
  } catch {
    return undefined
  }
}
