/**
 * TypeScript for Node: the user's own files are bundled by esbuild into a temporary folder, packages stay where they are.
 * Called by load.ts and worker-modules.ts. Nothing is written beside the user's files: they may be on a disk that cannot be written to.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KopfError } from '../errors.ts'
import { ownProgram } from '../util/package-files.ts'
import type { BundleRequest } from './bundling.ts'
import type { CompileAnswer } from './compile-process.ts'
import { explainFileProblem } from './file-problems.ts'

export interface Compiled extends AsyncDisposable {
  /** One function for each target, in their order: imports it. Files that several need are loaded once. */
  readonly imports: ReadonlyArray<() => Promise<Record<string, unknown>>>
}

export interface CompileOptions {
  /** Absolute paths of files, or what `import` takes. */
  readonly targets: readonly string[]
  /** Where the targets are resolved from. */
  readonly folder: string
}

/** Rejects with esbuild's own failure, which has the places of all errors. */
export async function compile({ targets, folder }: CompileOptions): Promise<Compiled> {
  const { entry, ...disposable } = await build({ targets, folder, shape: 'imports' })
  try {
    const { imports } = (await import(entry.href)) as Compiled
    // Until the end: what is imported lazily comes from there.
    return { imports, ...disposable }
  } catch (error) {
    await disposable[Symbol.asyncDispose]()
    throw error
  }
}

export interface CompiledModule extends AsyncDisposable {
  /** What has all that the module exports. */
  readonly entry: URL
}

/** One module, for others to import. Rejects likewise. */
export function compileModule(path: string, folder: string): Promise<CompiledModule> {
  return build({ targets: [path], folder, shape: 'module' })
}

async function build(request: Omit<BundleRequest, 'output'>): Promise<CompiledModule> {
  const output = await createOutput()
  const remove = () => rmSync(output, { recursive: true, force: true })
  // Also where a file ends the process while it is loaded.
  process.once('exit', remove)
  const dispose = async () => {
    process.off('exit', remove)
    remove()
  }
  try {
    await buildElsewhere({ ...request, output })
    return { entry: pathToFileURL(join(output, 'stdin.mjs')), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** Removed by whoever asks for it. */
export async function createOutput(): Promise<string> {
  try {
    // Its real path, or the places in source maps would be wrong where the folder is a link.
    return await realpath(await mkdtemp(join(tmpdir(), 'kopf-run-')))
  } catch (error) {
    const why = `${explainFileProblem(error)}; set TMPDIR to a folder that can be written to, or compile to JavaScript beforehand`
    throw new KopfError('KOPF_COMPILE', `Cannot compile into "${tmpdir()}": ${why}`, { cause: error })
  }
}

/** With the flags of this process, so that packages are found as here; but nobody debugs it, and it says nothing. */
async function buildElsewhere(request: BundleRequest): Promise<void> {
  const child = fork(ownProgram('cli/compile-process'), {
    execArgv: process.execArgv.filter((flag) => !/^--(inspect|cpu-prof|heap-prof)/.test(flag)),
  })
  child.send(request)
  const answered = once(child, 'message')
  const [answer] = (await Promise.race([answered, once(child, 'exit').then(() => [undefined])])) as [CompileAnswer?]
  answered.catch(() => {})
  if (answer === undefined) throw new KopfError('KOPF_COMPILE', 'Cannot compile: the compiler ended without an answer')
  if (answer.message !== undefined) throw Object.assign(new Error(answer.message), { errors: answer.errors })
}
