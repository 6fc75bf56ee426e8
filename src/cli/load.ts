/**
 * From files and modules to one operator: `commands/run.ts` says which, compile.ts makes them what Node can import. An
 * operator is what a file exports by default, else what was registered on the default one. Never starts anything.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { getDefaultOperator } from '../default-operator.ts'
import { KopfError } from '../errors.ts'
import { isOperator, type Operator } from '../operator.ts'
import { suggestName } from '../util/suggestions.ts'
import { type Compiled, compile } from './compile.ts'
import { explainFileProblem } from './file-problems.ts'
import { isMissingKopf, nothingRegistered, toLoadError } from './load-problems.ts'
import { isProgram, needsCompiling } from './programs.ts'

export interface LoadOptions {
  readonly files: readonly string[]
  /** What `import` takes, resolved from the folder. */
  readonly modules: readonly string[]
  readonly folder: string
}

export interface Loaded extends AsyncDisposable {
  readonly operator: Operator
}

type Module = Readonly<Record<string, unknown>>

export interface Target {
  /** As the user named it. */
  readonly name: string
  /** An absolute path, or the name of a package. */
  readonly address: string
  readonly isFile: boolean
}

/** Files are loaded in their order, then modules; what they register is put together into the first operator. */
export async function loadOperator(options: LoadOptions): Promise<Loaded> {
  const targets = await findTargets(options)
  const { imports, ...disposable } = await prepare(targets, options.folder)
  try {
    return { operator: await importOperator(targets, imports), ...disposable }
  } catch (error) {
    await disposable[Symbol.asyncDispose]()
    throw error
  }
}

/** What was named, each of them there. */
export async function findTargets({ files, modules, folder }: LoadOptions): Promise<readonly Target[]> {
  // Before anything is loaded: traces then tell of the user's files.
  process.setSourceMapsEnabled(true)
  const targets = [...files.map((name) => toFile(name, folder)), ...modules.map((name) => toModule(name, folder))]
  for (const { name, address, isFile } of targets) if (isFile) await checkFile(name, address)
  return targets
}

/** One after the other, and what they have registered as one operator. */
export async function importOperator(targets: readonly Target[], imports: Compiled['imports']): Promise<Operator> {
  const loaded: Module[] = []
  for (const [index, { name }] of targets.entries()) {
    loaded.push(await imports[index]!().catch((error) => Promise.reject(toLoadError(error, name))))
  }
  return merge(targets, loaded)
}

function toFile(name: string, folder: string): Target {
  return { name, address: resolve(folder, name), isFile: true }
}

function toModule(name: string, folder: string): Target {
  if (name.startsWith('file:')) return { name, address: fileURLToPath(name), isFile: true }
  return /^\.{0,2}\//.test(name) ? toFile(name, folder) : { name, address: name, isFile: false }
}

async function checkFile(name: string, path: string): Promise<void> {
  const found = await stat(path).catch(async (error) => {
    const meant = suggestName(basename(path), await programsIn(dirname(path)))
    const advice =
      meant === undefined ? 'check its name, or the folder you are in' : `did you mean "${join(dirname(name), meant)}"?`
    throw new KopfError('KOPF_FILE', `Cannot load "${name}": ${explainFileProblem(error)}; ${advice}`, { cause: error })
  })
  if (!found.isFile()) throw new KopfError('KOPF_FILE', `Cannot load "${name}": it is no file; name a file in it`)
  if (isProgram(path)) return
  throw new KopfError(
    'KOPF_FILE',
    `Cannot load "${name}": expected a file that ends in .ts or .js, or .mts, .cts, .mjs …`,
  )
}

async function programsIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter(isProgram)
}

/** Plain JavaScript is imported as it is; the rest in one bundle, so that what they share is loaded once. */
async function prepare(targets: readonly Target[], folder: string): Promise<Compiled> {
  const isPlain = ({ isFile, address }: Target) => isFile && !needsCompiling(address)
  const others = targets.filter((target) => !isPlain(target))
  const compiled = others.length === 0 ? undefined : await compileAll(others, folder)
  const bundles: Compiled[] = compiled === undefined ? [] : [compiled]
  const imports = targets.map((target) => {
    if (!isPlain(target)) return compiled!.imports[others.indexOf(target)]!
    return () => importPlain(target, folder, bundles)
  })
  const dispose = async () => {
    for (const bundle of bundles) await bundle[Symbol.asyncDispose]()
  }
  return { imports, [Symbol.asyncDispose]: dispose }
}

async function importPlain(target: Target, folder: string, bundles: Compiled[]): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(target.address).href)
  } catch (error) {
    if (!isMissingKopf(error) && !(error instanceof SyntaxError)) throw error
    // Nothing of it has run yet. In place of a missing package there is ours; of a mistake in the syntax, Node does not
    // tell the place, and the compiler does.
    const bundle = await compileAll([target], folder)
    bundles.push(bundle)
    if (error instanceof SyntaxError) throw error
    return await bundle.imports[0]!()
  }
}

async function compileAll(targets: readonly Target[], folder: string): Promise<Compiled> {
  const addresses = targets.map(({ address }) => address)
  return compile({ targets: addresses, folder }).catch((error) => Promise.reject(toLoadError(error, folder)))
}

function merge(targets: readonly Target[], loaded: readonly Module[]): Operator {
  const exported = loaded.flatMap((module) => findOperator(module) ?? [])
  const fallback = getDefaultOperator()
  const all = [...new Set(fallback.isEmpty ? exported : [...exported, fallback])]
  const [first, ...rest] = all.filter(({ isEmpty }) => !isEmpty)
  if (first === undefined) {
    const names = targets.map(({ name }) => name)
    throw nothingRegistered(names, { hasOperator: all.length > 0, exportName: loaded.map(findNamed).find(Boolean) })
  }
  for (const other of rest) first.use(other)
  return first
}

/** A CommonJS file has its exports under `default`, and its default export under the `default` there. */
function findOperator({ default: value }: Module): Operator | undefined {
  if (isOperator(value)) return value
  const inner = (value as { default?: unknown } | null | undefined)?.default
  return isOperator(inner) ? inner : undefined
}

function findNamed(module: Module): string | undefined {
  return Object.keys(module).find((name) => name !== 'default' && isOperator(module[name]))
}
