/**
 * A session of `kopf dev`. After a save it bundles and loads the files, stops the old operator and starts the new one, each in its own process,
 * and applies changed objects. All work runs in sequence, even if saves arrive faster. The cluster and its objects stay.
 */
import { existsSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { KopfError } from '../../errors.ts'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'
import { withTimeout } from '../../util/async/with-timeout.ts'
import { toCount } from '../display/render.ts'
import { describeFailure, isCausedByStop } from '../exit.ts'
import { isProgram, type LoadTarget } from '../loading/load.ts'
import { type Saved, SaveWatcher } from './file-watcher.ts'
import type { LoadedOperator, OperatorSetup } from './messages.ts'
import type { OperatorChild } from './operator-child.ts'
import { OperatorRuns } from './operator-runs.ts'
import type { Bundle, Rebuilder } from './rebuild.ts'
import { SessionObjects, type SessionObjectsOptions } from './session-objects.ts'
import type { TypeChecker, TypeReport } from './type-check.ts'

export interface DevSessionOptions extends SessionObjectsOptions {
  readonly targets: readonly LoadTarget[]
  readonly rebuilder: Rebuilder
  readonly setup: OperatorSetup
  readonly types: TypeChecker
  /** Whether types are checked after each reload. */
  readonly checksTypes: boolean
  /** Whether the user can press keys. */
  readonly hasKeys: boolean
  /** Resolves when the user stops the command. */
  readonly stopped: Promise<unknown>
  /** Deletes all objects of the embedded server, and returns their number; undefined on a cluster of the user. */
  readonly emptyCluster: (() => Promise<number>) | undefined
}

/** The time limit for the operator to see all objects before the reload is reported as done. */
const readyMs = 2000
/** The same limit if objects of files wait for the webhooks of the operator. */
const webhooksReadyMs = 10_000

const killed = {
  'too-slow': 'The previous operator has not ended completely: its process is killed.',
  blocked: 'The previous operator blocked its event loop: its process is killed.',
} as const

type FailureSource = 'operator' | 'objects'

/** The work after a save or a key press. */
interface SessionTask {
  readonly source: FailureSource
  /** The saved files; undefined for other causes. */
  readonly files?: string
  readonly run: () => Promise<void>
}

export class DevSession implements AsyncDisposable {
  readonly #options: DevSessionOptions
  readonly #watcher: SaveWatcher
  #queue: Promise<void> = Promise.resolve()
  readonly #runs: OperatorRuns
  readonly #objects: SessionObjects
  /** The digest of the last loaded bundle; undefined after a failure, so that the same files are loaded again. */
  #digest: string | undefined
  #files: readonly string[]
  /** The last failures of the operator and of the object files, until the next success. */
  readonly #failures = new Map<FailureSource, string>()
  #typeReport: TypeReport | undefined
  /** Modules of `inWorker`. They are not in the bundle, and become known when they are first used. */
  readonly #workerFiles = new Set<string>()
  /** Aborts the running reload: a file may never finish loading, and a startup handler may be retried forever. */
  #interruption = new AbortController()
  #isClosed = false

  constructor(options: DevSessionOptions) {
    this.#options = options
    this.#files = options.targets.map(({ address }) => address)
    this.#objects = new SessionObjects(options)
    this.#watcher = new SaveWatcher((saved) => this.#onSaved(saved))
    this.#runs = new OperatorRuns({
      ...options,
      onWorkerFile: (path) => {
        this.#workerFiles.add(path)
        this.#watchFiles()
      },
      onEnd: (problem) => this.#reportFailure(new KopfError('KOPF_LOAD', problem), { source: 'operator' }),
      onKill: (reason) => options.print(killed[reason]),
      onBlocked: () =>
        options.print(`The operator is blocked. ${this.#keyOr('Press r', 'Save a file')} to end its process.`),
    })
  }

  async start(): Promise<void> {
    const sinceMs = monotonicMs()
    this.#runs.prepare()
    this.#watchFiles()
    if (this.#options.checksTypes && this.#options.types.needsHint) this.#options.print(this.#options.types.problem!)
    await this.#enqueue({ source: 'operator', run: () => this.#reload('started', sinceMs) })
  }

  /** The process of the operator that runs. */
  get current(): OperatorChild | undefined {
    return this.#runs.current
  }

  /** Whether the output of the operators is held back. */
  holdOutput(isHeld: boolean): void {
    this.#runs.holdOutput(isHeld)
  }

  /** Reloads as if all files had been saved. */
  reload(): void {
    this.#digest = undefined
    this.#interruption.abort()
    void this.#enqueue({ source: 'operator', run: () => this.#reload('restarted', monotonicMs()) })
  }

  /** Deletes all objects of the embedded server, then starts as at the beginning. */
  reset(): void {
    this.#interruption.abort()
    void this.#enqueue({ source: 'operator', run: () => this.#reset() })
  }

  async #reset(): Promise<void> {
    const sinceMs = monotonicMs()
    await this.#runs.stop()
    const count = await this.#options.emptyCluster!()
    this.#options.print(`deleted ${toCount(count, 'object')}`)
    this.#objects.reset()
    this.#failures.clear()
    this.#digest = undefined
    await this.#reload('reset and started', sinceMs)
  }

  /** Prints the objects of the running operator and the state of their handling. */
  async printObjects(): Promise<void> {
    const { print } = this.#options
    const { current } = this.#runs
    if (current === undefined) return print('Cannot show the objects: no operator is running.')
    const text = current.isBlocked ? undefined : await current.listObjects()
    print(text ?? 'The operator does not answer: its event loop is blocked. Press r to end its process.')
  }

  /** Prints the errors of the last check of types; without one, checks them now. */
  async printTypes(): Promise<void> {
    const { types, print } = this.#options
    if (types.problem !== undefined) return print(types.problem)
    if (this.#typeReport === undefined) await this.#checkTypes()
    const { summary, details } = this.#typeReport ?? {}
    if (summary !== undefined) print(details === '' ? summary : `${summary}\n${details}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#watcher[Symbol.dispose]()
    this.#interruption.abort()
    await this.#queue
    await this.#runs[Symbol.asyncDispose]()
  }

  #onSaved({ files, sinceMs }: Saved): void {
    const { objectFiles } = this.#options
    const objects = objectFiles.filter((file) => files.has(file) && hasText(file))
    const known = new Set(this.#files)
    const others = [...files].filter((file) => !objectFiles.includes(file)).toSorted(byMembership(known))
    if (objects.length > 0) {
      const run = () => this.#apply(objects, sinceMs)
      void this.#enqueue({ source: 'objects', files: this.#describeFiles(objects), run })
    }
    if (others.length === 0) return
    if (others.some((file) => this.#workerFiles.has(file))) this.#digest = undefined
    this.#interruption.abort()
    const saved = this.#describeFiles(others)
    const run = () => this.#reload(`${saved} changed, reloaded`, sinceMs)
    void this.#enqueue({ source: 'operator', files: saved, run })
  }

  /** Never rejects: a failure is printed, and the session waits for the next save. */
  #enqueue(task: SessionTask): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (this.#isClosed) return
      this.#interruption = new AbortController()
      const { signal } = this.#interruption
      await task.run().catch(async (error) => {
        // A newer reload has aborted this one.
        if (signal.aborted || (await isCausedByStop(this.#options.stopped))) return
        this.#reportFailure(error, task)
      })
    })
    return this.#queue
  }

  /** A failure that remains after a save is not printed again. */
  #reportFailure(error: unknown, { source, files }: Omit<SessionTask, 'run'>): void {
    const failure = describeFailure(error)
    const isSame = failure === this.#failures.get(source) && files !== undefined
    this.#failures.set(source, failure)
    if (source === 'operator') this.#digest = undefined
    // Also watches for new files: one of them may be the missing import.
    this.#watchFiles()
    const consequence = this.#runs.isRunning
      ? 'The previous operator continues to run.'
      : 'No operator runs until you correct the error and save.'
    const what = isSame ? `${files} changed, and the error above remains.` : failure
    this.#options.print(`${what}${isSame ? ' ' : '\n'}${consequence}`)
  }

  async #reload(what: string, sinceMs: number): Promise<void> {
    const { rebuilder, print, types } = this.#options
    types.cancel()
    this.#typeReport = undefined
    this.#checkTargets()
    const bundle = await rebuilder.rebuild()
    this.#files = bundle.files
    this.#watchFiles()
    if (bundle.digest === this.#digest) {
      await bundle[Symbol.asyncDispose]()
      void this.#checkTypesAfterReload()
      return
    }
    try {
      const { handlers } = await this.#run(bundle)
      // The operator has failed in the meantime, and the failure is printed already.
      if (!this.#runs.isRunning) return
      this.#failures.delete('operator')
      this.#watchFiles()
      this.#digest = bundle.digest
      const tookMs = Math.round(monotonicMs() - sinceMs)
      print(`${what} in ${tookMs} ms: ${toCount(handlers, 'handler')}`)
      await this.#reportMisfits()
      void this.#checkTypesAfterReload()
    } finally {
      this.#runs.prepare()
    }
  }

  /** The compiler would name the generated module that imports the files. */
  #checkTargets(): void {
    const missing = this.#options.targets.find(({ address, isFile }) => isFile && !existsSync(address))
    if (missing === undefined) return
    const advice = 'restore it, or stop kopf dev and start it with the new name'
    throw new KopfError('KOPF_FILE', `Cannot load "${missing.name}": the file was deleted or renamed; ${advice}`)
  }

  /** Replaces the running operator. */
  async #run(bundle: Bundle): Promise<LoadedOperator> {
    const { signal } = this.#interruption
    const next = await this.#runs.load(bundle, signal)
    try {
      await this.#objects.applyCrds(next.operator.crds)
      if (!next.operator.hasWebhooks) await this.#objects.applyWaiting()
      // Another save arrived during the load, so that this bundle is outdated.
      signal.throwIfAborted()
    } catch (error) {
      await this.#runs.abandon(next)
      throw error
    }
    this.#digest = undefined
    await this.#runs.replace(next, signal)
    await withTimeout(systemClock, this.#objects.isWaiting ? webhooksReadyMs : readyMs, next.child.ready())
    if (this.#runs.isRunning) await this.#objects.applyWaiting()
    return next.operator
  }

  async #apply(files: readonly string[], sinceMs: number): Promise<void> {
    await this.#objects.applyFiles(files)
    this.#failures.delete('objects')
    const tookMs = Math.round(monotonicMs() - sinceMs)
    this.#options.print(`${this.#describeFiles(files)} changed, applied in ${tookMs} ms`)
  }

  async #reportMisfits(): Promise<void> {
    const { print, emptyCluster } = this.#options
    for (const misfits of await this.#objects.findMisfits()) {
      const reset = emptyCluster === undefined ? '.' : this.#keyOr(', or press x to reset the cluster.', '.')
      print(`${misfits} Change the objects or the schema${reset}`)
    }
  }

  async #checkTypesAfterReload(): Promise<void> {
    if (!this.#checksTypes) return
    await this.#checkTypes()
    const { summary, hasErrors } = this.#typeReport ?? {}
    if (summary !== undefined)
      this.#options.print(hasErrors ? `${summary}${this.#keyOr(', press e to see them', '')}` : summary)
  }

  async #checkTypes(): Promise<void> {
    try {
      const report = await this.#options.types.check()
      if (report !== undefined) this.#typeReport = report
    } catch (error) {
      this.#options.print(`Types are not checked: ${(error as Error).message}`)
    }
  }

  get #checksTypes(): boolean {
    const { checksTypes, types } = this.#options
    return checksTypes && types.problem === undefined
  }

  #watchFiles(): void {
    const { targets, objectFiles } = this.#options
    const files = [...targets.map(({ address }) => address), ...this.#files, ...this.#workerFiles, ...objectFiles]
    // Files with types only are not in the bundle.
    const needsOthers = this.#failures.size > 0 || this.#checksTypes
    this.#watcher.watch(files, (path) => needsOthers && isProgram(path))
  }

  #keyOr(key: string, other: string): string {
    return this.#options.hasKeys ? key : other
  }

  #describeFiles(files: readonly string[]): string {
    const [first, ...consequence] = files.map((file) => relative(this.#options.folder, file))
    return consequence.length === 0 ? first! : `${first} and ${consequence.length} more`
  }
}

/** Sorts the members of a set first. */
function byMembership(members: ReadonlySet<string>): (a: string, b: string) => number {
  return (a, b) => Number(members.has(b)) - Number(members.has(a))
}

/** Some editors truncate a file before they write it: an empty file must not delete its objects. */
function hasText(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.size !== 0
}
