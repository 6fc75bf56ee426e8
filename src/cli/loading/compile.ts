/**
 * Compiles TypeScript for Node: bundles the user's files with esbuild into a temporary folder, since the project may be read-only. Packages are
 * not bundled. Called by load.ts and worker-modules.ts.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KopfError } from '../../errors.ts'
import { ownProgram } from '../../util/process/package-files.ts'
import { explainFileProblem } from '../read-manifests.ts'
import type { CompileResult } from './compile-process.ts'
import type { BundleRequest } from './esbuild-options.ts'
import type { TargetImports } from './import-operator.ts'

export interface CompiledFiles extends AsyncDisposable {
  /** One function for each target that imports it. Shared files are loaded once. */
  readonly imports: TargetImports
}

export interface CompileFilesOptions {
  /** Absolute paths of files, or module names. */
  readonly targets: readonly string[]
  /** The folder from which the targets are resolved. */
  readonly folder: string
}

/** Rejects with the failure of esbuild, which contains the positions of all errors. */
export async function compile({ targets, folder }: CompileFilesOptions): Promise<CompiledFiles> {
  const { entry, ...disposable } = await build({ targets, folder, shape: 'imports' })
  try {
    const { imports } = (await import(entry.href)) as CompiledFiles
    // The output stays until the operator ends: dynamic imports are loaded from it.
    return { imports, ...disposable }
  } catch (error) {
    await disposable[Symbol.asyncDispose]()
    throw error
  }
}

export interface CompiledModule extends AsyncDisposable {
  /** The URL of the compiled module, with the same exports. */
  readonly entry: URL
}

/** Compiles one module. Rejects with the failure of esbuild. */
export function compileModule(path: string, folder: string): Promise<CompiledModule> {
  return build({ targets: [path], folder, shape: 'module' })
}

async function build(request: Omit<BundleRequest, 'output'>): Promise<CompiledModule> {
  const output = await createOutput()
  const remove = () => rmSync(output, { recursive: true, force: true })
  // Also removes the output if a file exits the process during the load.
  process.once('exit', remove)
  const dispose = async () => {
    process.off('exit', remove)
    remove()
  }
  try {
    await buildInChild({ ...request, output })
    return { entry: pathToFileURL(join(output, 'stdin.mjs')), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

/** Creates a temporary folder, which the caller removes. */
export async function createOutput(): Promise<string> {
  try {
    // The real path: with a symbolic link, the positions in source maps would be wrong.
    return await realpath(await mkdtemp(join(tmpdir(), 'kopf-run-')))
  } catch (error) {
    const why = `${explainFileProblem(error)}; set TMPDIR to a folder that can be written to, or compile to JavaScript beforehand`
    throw new KopfError('KOPF_COMPILE', `Cannot compile into "${tmpdir()}": ${why}`, { cause: error })
  }
}

/** Passes the flags of this process on, so that packages are resolved in the same way, except those for debugging and profiling. */
async function buildInChild(request: BundleRequest): Promise<void> {
  const child = fork(ownProgram('cli/loading/compile-process'), {
    execArgv: process.execArgv.filter((flag) => !/^--(inspect|cpu-prof|heap-prof)/.test(flag)),
  })
  child.send(request)
  const responded = once(child, 'message')
  const [result] = (await Promise.race([responded, once(child, 'exit').then(() => [undefined])])) as [CompileResult?]
  responded.catch(() => {})
  if (result === undefined) throw new KopfError('KOPF_COMPILE', 'Cannot compile: the compiler ended without an answer')
  if (result.message !== undefined) throw Object.assign(new Error(result.message), { errors: result.errors })
}
