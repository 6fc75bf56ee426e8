/**
 * Loads an operator from files and modules: compiles them if necessary, and imports them with import-operator.ts. Does not start it.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { KopfError } from '../../errors.ts'
import { suggestName } from '../../util/text/did-you-mean.ts'
import { explainFileProblem } from '../read-manifests.ts'
import { type CompiledFiles, compile } from './compile.ts'
import { importOperator, type Loaded } from './import-operator.ts'
import { isMissingKopf, toLoadError } from './load-errors.ts'

export interface LoadOperatorOptions {
  readonly files: readonly string[]
  /** Module names, resolved from the folder. */
  readonly modules: readonly string[]
  readonly folder: string
}

export interface LoadTarget {
  /** The name on the command line. */
  readonly name: string
  /** An absolute path, or the name of a package. */
  readonly address: string
  readonly isFile: boolean
}

/** Loads the files in order, then the modules, and merges their operators into the first one. */
export async function loadOperator(options: LoadOperatorOptions): Promise<Loaded> {
  const targets = await findTargets(options)
  const { imports, ...disposable } = await prepare(targets, options.folder)
  try {
    return { operator: await importOperator(targets, imports), ...disposable }
  } catch (error) {
    await disposable[Symbol.asyncDispose]()
    throw error
  }
}

/** The files and modules to load. Throws if a file does not exist or is not a program. */
export async function findTargets({ files, modules, folder }: LoadOperatorOptions): Promise<readonly LoadTarget[]> {
  // Before any import, so that stack traces refer to the user's source files.
  process.setSourceMapsEnabled(true)
  const targets = [...files.map((name) => toFile(name, folder)), ...modules.map((name) => toModule(name, folder))]
  for (const { name, address, isFile } of targets) if (isFile) await checkFile(name, address)
  return targets
}

function toFile(name: string, folder: string): LoadTarget {
  return { name, address: resolve(folder, name), isFile: true }
}

function toModule(name: string, folder: string): LoadTarget {
  if (name.startsWith('file:')) return { name, address: fileURLToPath(name), isFile: true }
  return /^\.{0,2}\//.test(name) ? toFile(name, folder) : { name, address: name, isFile: false }
}

async function checkFile(name: string, path: string): Promise<void> {
  const found = await stat(path).catch(async (error) => {
    const suggestion = suggestName(basename(path), await programsIn(dirname(path)))
    const advice =
      suggestion === undefined
        ? 'check its name, or the folder you are in'
        : `did you mean "${join(dirname(name), suggestion)}"?`
    throw new KopfError('KOPF_FILE', `Cannot load "${name}": ${explainFileProblem(error)}; ${advice}`, { cause: error })
  })
  if (!found.isFile()) throw new KopfError('KOPF_FILE', `Cannot load "${name}": it is not a file; name a file in it`)
  if (isProgram(path)) return
  throw new KopfError(
    'KOPF_FILE',
    `Cannot load "${name}": expected a file that ends in .ts or .js, or .mts, .cts, .mjs …`,
  )
}

async function programsIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter(isProgram)
}

/** JavaScript files are imported directly. All other targets are compiled into one bundle, so that shared files are loaded once. */
async function prepare(targets: readonly LoadTarget[], folder: string): Promise<CompiledFiles> {
  const isPlain = ({ isFile, address }: LoadTarget) => isFile && !needsCompiling(address)
  const others = targets.filter((target) => !isPlain(target))
  const compiled = others.length === 0 ? undefined : await compileAll(others, folder)
  const bundles: CompiledFiles[] = compiled === undefined ? [] : [compiled]
  const imports = targets.map((target) => {
    if (!isPlain(target)) return compiled!.imports[others.indexOf(target)]!
    return () => importPlain(target, folder, bundles)
  })
  const dispose = async () => {
    for (const bundle of bundles) await bundle[Symbol.asyncDispose]()
  }
  return { imports, [Symbol.asyncDispose]: dispose }
}

async function importPlain(
  target: LoadTarget,
  folder: string,
  bundles: CompiledFiles[],
): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(target.address).href)
  } catch (error) {
    if (!isMissingKopf(error) && !(error instanceof SyntaxError)) throw error
    // The module has not run yet, so that it can be compiled instead: the bundle imports this package in place of the missing one, and the
    // compiler reports the position of a syntax error, which Node does not.
    const bundle = await compileAll([target], folder)
    bundles.push(bundle)
    if (error instanceof SyntaxError) throw error
    return await bundle.imports[0]!()
  }
}

async function compileAll(targets: readonly LoadTarget[], folder: string): Promise<CompiledFiles> {
  const addresses = targets.map(({ address }) => address)
  return compile({ targets: addresses, folder }).catch((error) => Promise.reject(toLoadError(error, folder)))
}

const typescript = ['.ts', '.mts', '.cts', '.tsx', '.jsx']
const javascript = ['.js', '.mjs', '.cjs']

/** Whether Node cannot run the file without compiling. */
export function needsCompiling(path: string): boolean {
  return typescript.includes(extname(path))
}

export function isProgram(path: string): boolean {
  return needsCompiling(path) || javascript.includes(extname(path))
}
