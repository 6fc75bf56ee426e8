/**
 * Bundles the files of an operator each time they change. The compiler stays in memory, so that this takes milliseconds. Each bundle has its
 * own folder, since the old operator may still import from its bundle.
 */
import { rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildResult, context, type BuildContext as EsbuildContext } from 'esbuild'
import { createOutput } from '../loading/compile.ts'
import { bundleOptions } from '../loading/esbuild-options.ts'
import { toLoadError } from '../loading/load-errors.ts'

export interface Bundle extends AsyncDisposable {
  /** The URL of a module with the `imports` of compile.ts. */
  readonly entry: string
  /** All source files of the user in the bundle. */
  readonly files: readonly string[]
  /** A digest of the content. */
  readonly digest: string
}

type BuildContext = EsbuildContext<{ metafile: true; write: false }>
type RebuildResult = BuildResult<{ metafile: true; write: false }>

export class Rebuilder implements AsyncDisposable {
  readonly #context: BuildContext
  readonly #folder: string
  readonly #output: string
  #count = 0

  private constructor(context: BuildContext, folder: string, output: string) {
    this.#context = context
    this.#folder = folder
    this.#output = output
    // Also removes the output if a file exits the process during the load.
    process.once('exit', this.#remove)
  }

  /** The targets are absolute paths. Error messages show paths relative to the folder. */
  static async create(targets: readonly string[], folder: string): Promise<Rebuilder> {
    const output = await createOutput()
    const options = bundleOptions({ targets, folder, output: join(output, 'bundle'), shape: 'imports' })
    return new Rebuilder(await context({ ...options, metafile: true, write: false }), folder, output)
  }

  /** Rejects with a `KopfError` if the files have an error. */
  async rebuild(): Promise<Bundle> {
    const result = await this.#context.rebuild().catch((error) => Promise.reject(toLoadError(error, this.#folder)))
    this.#count += 1
    const outputFolder = join(this.#output, String(this.#count))
    await this.#write(result, outputFolder)
    return {
      entry: pathToFileURL(join(outputFolder, 'stdin.mjs')).href,
      files: Object.keys(result.metafile.inputs).flatMap((path) => this.#toFile(path)),
      digest: result.outputFiles.map(({ path, hash }) => `${path} ${hash}`).join('\n'),
      [Symbol.asyncDispose]: () => rm(outputFolder, { recursive: true, force: true }),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.dispose()
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => rmSync(this.#output, { recursive: true, force: true })

  async #write({ outputFiles }: RebuildResult, outputFolder: string): Promise<void> {
    await mkdir(outputFolder)
    const from = join(this.#output, 'bundle')
    await Promise.all(
      outputFiles.map(({ path, contents }) => writeFile(join(outputFolder, relative(from, path)), contents)),
    )
  }

  /** The generated entry is not a file of the user. */
  #toFile(path: string): string[] {
    if (path === '<stdin>' || path === 'kopf-run') return []
    return [isAbsolute(path) ? path : join(this.#folder, path)]
  }
}
