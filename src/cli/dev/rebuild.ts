/**
 * The files of an operator, made anew into a bundle each time they change. The compiler stays in memory, so that it takes
 * milliseconds; each bundle goes into a folder of its own, since the operator of the one before may still import from its own.
 */
import { rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildContext, type BuildResult, context } from 'esbuild'
import { bundleOptions } from '../bundling.ts'
import { createOutput } from '../compile.ts'
import { toLoadError } from '../load-problems.ts'

export interface Bundle extends AsyncDisposable {
  /** The address of a module with the `imports` of compile.ts. */
  readonly entry: string
  /** All files of the user that are in it. */
  readonly files: readonly string[]
  /** The same for the same content. */
  readonly digest: string
}

type Context = BuildContext<{ metafile: true; write: false }>
type Result = BuildResult<{ metafile: true; write: false }>

export class Rebuilder implements AsyncDisposable {
  readonly #context: Context
  readonly #folder: string
  readonly #output: string
  #count = 0

  private constructor(context: Context, folder: string, output: string) {
    this.#context = context
    this.#folder = folder
    this.#output = output
    // Also where a file ends the process while it is loaded.
    process.once('exit', this.#remove)
  }

  /** The targets are absolute paths, the folder is where problems are told from. */
  static async create(targets: readonly string[], folder: string): Promise<Rebuilder> {
    const output = await createOutput()
    const options = bundleOptions({ targets, folder, output: join(output, 'bundle'), shape: 'imports' })
    return new Rebuilder(await context({ ...options, metafile: true, write: false }), folder, output)
  }

  /** Rejects with what is wrong with the files, in words for their author. */
  async rebuild(): Promise<Bundle> {
    const result = await this.#context.rebuild().catch((error) => Promise.reject(toLoadError(error, this.#folder)))
    this.#count += 1
    const place = join(this.#output, String(this.#count))
    await this.#write(result, place)
    return {
      entry: pathToFileURL(join(place, 'stdin.mjs')).href,
      files: Object.keys(result.metafile.inputs).flatMap((path) => this.#toFile(path)),
      digest: result.outputFiles.map(({ path, hash }) => `${path} ${hash}`).join('\n'),
      [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.dispose()
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => rmSync(this.#output, { recursive: true, force: true })

  async #write({ outputFiles }: Result, place: string): Promise<void> {
    await mkdir(place)
    const from = join(this.#output, 'bundle')
    await Promise.all(outputFiles.map(({ path, contents }) => writeFile(join(place, relative(from, path)), contents)))
  }

  /** Of the entry, which is ours, there is no file. */
  #toFile(path: string): string[] {
    if (path === '<stdin>' || path === 'kopf-run') return []
    return [isAbsolute(path) ? path : join(this.#folder, path)]
  }
}
