/**
 * Compiles the modules of `inWorker` for `kopf run` and `kopf dev` at their first use, if Node cannot import them directly. Each module is compiled
 * once for all threads.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type CompiledModule, compileModule } from './compile.ts'
import { needsCompiling } from './load.ts'
import { toLoadError } from './load-errors.ts'

export class WorkerModules implements AsyncDisposable {
  readonly #folder: string
  readonly #compiled = new Map<string, Promise<CompiledModule>>()

  /** The folder is the working directory. Error messages show paths relative to it. */
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
      // The next attempt compiles again: the file may be corrected by then.
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

/** Whether Node can resolve "kopf" from the module. Otherwise the compiled module imports this package. */
function findsKopf(url: URL): boolean {
  try {
    createRequire(url).resolve('kopf')
    return true
  } catch {
    return false
  }
}
