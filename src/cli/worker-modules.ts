/**
 * Modules of `inWorker` for `kopf run`: what Node cannot import as it is, is compiled when it is first needed, like the
 * operator itself. Each once, however many threads import it.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type CompiledModule, compileModule } from './compile.ts'
import { toLoadError } from './load-problems.ts'
import { needsCompiling } from './programs.ts'

export class WorkerModules implements AsyncDisposable {
  readonly #folder: string
  readonly #compiled = new Map<string, Promise<CompiledModule>>()

  /** The folder is where the command runs: problems are told with paths from there. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async load(url: URL): Promise<URL> {
    if (!needsCompiling(url.pathname) && findsKopf(url)) return url
    let compiled = this.#compiled.get(url.href)
    if (compiled === undefined) {
      compiled = this.#compile(url)
      this.#compiled.set(url.href, compiled)
    }
    return (await compiled).entry
  }

  async #compile(url: URL): Promise<CompiledModule> {
    const path = fileURLToPath(url)
    try {
      return await compileModule(path, this.#folder)
    } catch (error) {
      // The file may be right at the next attempt.
      this.#compiled.delete(url.href)
      throw toLoadError(error, path)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const compiled of await Promise.allSettled(this.#compiled.values())) {
      if (compiled.status === 'fulfilled') await compiled.value[Symbol.asyncDispose]()
    }
  }
}

/** Where a project has no packages of its own, the compiler puts ours in their place. */
function findsKopf(url: URL): boolean {
  try {
    createRequire(url).resolve('kopf')
    return true
  } catch {
    return false
  }
}
