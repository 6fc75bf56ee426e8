/**
 * Checks the types of the operator's project while `kopf dev` runs it: the compiler of a reload only removes types. Runs the `tsc` of the project in
 * a process of its own with a low priority, after the reload. Used by dev-session.ts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'
import { captureProgram } from '../../util/process/child-program.ts'
import { toCount, toDuration } from '../display/render.ts'

export interface TypeCheckOptions {
  /** The absolute path of the first file of the operator: its project is checked. */
  readonly file: string
  readonly folder: string
  /** Whether the report has colours. */
  readonly hasColours: boolean
}

/** The outcome of one check. */
export interface TypeReport {
  /** One line: the number of errors. */
  readonly summary: string
  /** The output of the compiler; empty without errors. */
  readonly details: string
  readonly hasErrors: boolean
}

interface TypeScriptProject {
  /** The path of the compiler's program. */
  readonly program: string
  /** The path of tsconfig.json. */
  readonly config: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches colour escapes
const colourSequences = /\u001b\[[\d;]*m/g
const errorLine = /^(?:\S.*:\d+:\d+ - )?error TS\d+:/gm

export class TypeChecker implements AsyncDisposable {
  readonly #options: TypeCheckOptions
  readonly #project: TypeScriptProject | string
  /** A folder for the state of the compiler between two checks, which makes the second one faster. */
  #state: Promise<string> | undefined
  #running = new AbortController()
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: TypeCheckOptions) {
    this.#options = options
    this.#project = findProject(options)
  }

  /** Why types cannot be checked; undefined if they can. */
  get problem(): string | undefined {
    return typeof this.#project === 'string' ? this.#project : undefined
  }

  /** Whether the user should know that types are not checked: the project has a tsconfig.json, and no compiler. */
  get needsHint(): boolean {
    return this.problem?.includes('npm install') ?? false
  }

  /** Checks the present state of the files, and cancels a running check. Undefined if this check is cancelled. */
  async check(): Promise<TypeReport | undefined> {
    this.cancel()
    if (typeof this.#project === 'string') return undefined
    const { signal } = this.#running
    const checking = this.#check(this.#project, signal).catch((error) => {
      if (signal.aborted) return undefined
      throw error
    })
    this.#work = Promise.allSettled([this.#work, checking])
    return checking
  }

  cancel(): void {
    this.#running.abort()
    this.#running = new AbortController()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cancel()
    await this.#work
    if (this.#state !== undefined) await rm(await this.#state, { recursive: true, force: true })
  }

  async #check({ program, config }: TypeScriptProject, signal: AbortSignal): Promise<TypeReport> {
    this.#state ??= mkdtemp(join(tmpdir(), 'kopf-types-'))
    const state = join(await this.#state, 'types.tsbuildinfo')
    const sinceMs = monotonicMs()
    const { status, stdout, stderr } = await captureProgram({
      file: process.execPath,
      args: [program, '--noEmit', '--pretty', 'true', '--incremental', '--tsBuildInfoFile', state, '-p', config],
      env: {},
      clock: systemClock,
      signal,
      isBackground: true,
    })
    return this.#toReport({ isPassed: status === 0, output: `${stdout}${stderr}`, tookMs: monotonicMs() - sinceMs })
  }

  #toReport(result: { readonly isPassed: boolean; readonly output: string; readonly tookMs: number }): TypeReport {
    const { isPassed, output, tookMs } = result
    const plain = output.replace(colourSequences, '')
    const details = (this.#options.hasColours ? output : plain).trim()
    const duration = `(${toDuration(tookMs)})`
    if (isPassed) return { summary: `Types: no errors ${duration}`, details: '', hasErrors: false }
    const count = plain.match(errorLine)?.length ?? 0
    const summary = count === 0 ? 'Types: the compiler has failed' : `Types: ${toCount(count, 'error')} ${duration}`
    return { summary, details, hasErrors: true }
  }
}

/** The project of the operator, or the reason why its types cannot be checked. */
function findProject({ file, folder }: TypeCheckOptions): TypeScriptProject | string {
  const config = findConfig(dirname(file))
  if (config === undefined) return `Types are not checked: there is no tsconfig.json for ${relative(folder, file)}`
  const program = findCompiler(file)
  if (program !== undefined) return { program, config }
  return 'Types are not checked: TypeScript is not installed in this project; "npm install --save-dev typescript" adds it'
}

/** The nearest tsconfig.json, as editors find it. */
function findConfig(folder: string): string | undefined {
  const path = join(folder, 'tsconfig.json')
  if (existsSync(path)) return path
  return dirname(folder) === folder ? undefined : findConfig(dirname(folder))
}

/** The program `tsc` of the project's TypeScript. */
function findCompiler(file: string): string | undefined {
  try {
    const path = createRequire(file).resolve('typescript/package.json')
    const { bin } = JSON.parse(readFileSync(path, 'utf8')) as { bin: { tsc: string } }
    return join(dirname(path), bin.tsc)
  } catch {
    return undefined
  }
}
