/**
 * A session of `kopf dev`. After a save it bundles and loads the files, stops the old operator and starts the new one, each in its own process,
 * and applies changed objects. All work runs in sequence, even if saves arrive faster. The cluster and its objects stay.
 */
import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'
import { withTimeout } from '../../util/async/with-timeout.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import type { CommandCluster } from '../cluster.ts'
import { describeFailure } from '../exit.ts'
import { isProgram, type LoadTarget } from '../loading/load.ts'
import { isCrd, type ManifestFile, orderManifests, readManifest } from '../read-manifests.ts'
import { type AppliedAction, AppliedObjects, applyManifests, deleteObjects } from './apply-manifests.ts'
import { type Saved, SaveWatcher } from './file-watcher.ts'
import type { LoadedOperator, OperatorSetup } from './messages.ts'
import { OperatorRuns } from './operator-runs.ts'
import type { Bundle, Rebuilder } from './rebuild.ts'

export interface DevSessionOptions {
  readonly targets: readonly LoadTarget[]
  readonly rebuilder: Rebuilder
  readonly cluster: CommandCluster
  /** Absolute paths of files with objects. */
  readonly objectFiles: readonly string[]
  /** Whether objects that are removed from their file are deleted. */
  readonly deletes: boolean
  readonly folder: string
  readonly setup: OperatorSetup
  readonly print: (line: string) => void
}

/** The time limit for the operator to see all objects before the reload is reported as done. */
const readyMs = 2000

export class DevSession implements AsyncDisposable {
  readonly #options: DevSessionOptions
  readonly #watcher: SaveWatcher
  #queue: Promise<void> = Promise.resolve()
  readonly #runs: OperatorRuns
  /** The digest of the last loaded bundle; undefined after a failure, so that the same files are loaded again. */
  #digest: string | undefined
  #files: readonly string[]
  #hasFailed = false
  #appliedCrds = ''
  #hasApplied = false
  readonly #objects = new AppliedObjects()
  /** Modules of `inWorker`. They are not in the bundle, and become known when they are first used. */
  readonly #workerFiles = new Set<string>()
  /** Aborts the running reload: a file may never finish loading, and a startup handler may be retried forever. */
  #interruption = new AbortController()
  #isClosed = false

  constructor(options: DevSessionOptions) {
    this.#options = options
    this.#files = options.targets.map(({ address }) => address)
    this.#watcher = new SaveWatcher((saved) => this.#onSaved(saved))
    this.#runs = new OperatorRuns({
      ...options,
      onWorkerFile: (path) => {
        this.#workerFiles.add(path)
        this.#watchFiles()
      },
      onEnd: (problem) => this.#reportFailure(new KopfError('KOPF_LOAD', problem)),
      onKill: () => options.print('Not all of the operator from before has ended: its process is killed.'),
    })
  }

  async start(): Promise<void> {
    const sinceMs = monotonicMs()
    this.#runs.prepare()
    this.#watchFiles()
    await this.#enqueue(() => this.#reload('started', sinceMs))
  }

  /** Reloads as if all files had been saved. */
  reload(): void {
    this.#digest = undefined
    this.#interruption.abort()
    void this.#enqueue(() => this.#reload('reloaded', monotonicMs()))
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
    const others = [...files].filter((file) => !objectFiles.includes(file))
    if (objects.length > 0) void this.#enqueue(() => this.#apply(objects, sinceMs))
    if (others.length === 0) return
    if (others.some((file) => this.#workerFiles.has(file))) this.#digest = undefined
    this.#interruption.abort()
    void this.#enqueue(() => this.#reload(`${this.#describeFiles(others)} changed, reloaded`, sinceMs))
  }

  /** Never rejects: a failure is printed, and the session waits for the next save. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (this.#isClosed) return
      this.#interruption = new AbortController()
      const { signal } = this.#interruption
      await work().catch((error) => {
        // A newer reload has aborted this one.
        if (!signal.aborted) this.#reportFailure(error)
      })
    })
    return this.#queue
  }

  #reportFailure(error: unknown): void {
    this.#hasFailed = true
    this.#digest = undefined
    // Also watches for new files: one of them may be the missing import.
    this.#watchFiles()
    const consequence = this.#runs.isRunning
      ? 'The operator goes on as it was before.'
      : 'Nothing runs until it is put right.'
    this.#options.print(`${describeFailure(error)}\n${consequence}`)
  }

  async #reload(what: string, sinceMs: number): Promise<void> {
    const { rebuilder, print } = this.#options
    const bundle = await rebuilder.rebuild()
    this.#files = bundle.files
    this.#hasFailed = false
    this.#watchFiles()
    if (bundle.digest === this.#digest) {
      await bundle[Symbol.asyncDispose]()
      return
    }
    try {
      const { handlers } = await this.#run(bundle)
      // The operator has failed in the meantime, and the failure is printed already.
      if (!this.#runs.isRunning) return
      this.#digest = bundle.digest
      const tookMs = Math.round(monotonicMs() - sinceMs)
      print(`${what} in ${tookMs} ms: ${handlers} ${handlers === 1 ? 'handler' : 'handlers'}`)
    } finally {
      this.#runs.prepare()
    }
  }

  /** Replaces the running operator. */
  async #run(bundle: Bundle): Promise<LoadedOperator> {
    const { signal } = this.#interruption
    const next = await this.#runs.load(bundle, signal)
    try {
      await this.#applyCrds(next.operator.crds)
      // Another save arrived during the load, so that this bundle is outdated.
      signal.throwIfAborted()
    } catch (error) {
      await this.#runs.abandon(next)
      throw error
    }
    this.#digest = undefined
    await this.#runs.replace(next, signal)
    await withTimeout(systemClock, readyMs, next.child.ready())
    return next.operator
  }

  /** Applies the CRDs if they have changed; at the start also the objects of files, whose failure does not stop the operator. */
  async #applyCrds(own: readonly KubeObject[]): Promise<void> {
    const { cluster, objectFiles } = this.#options
    const text = toJsonText(own)
    if (text === this.#appliedCrds && this.#hasApplied) return
    const manifests = await this.#read(objectFiles)
    const [crds, ...files] = orderManifests(own, manifests)
    if (text !== this.#appliedCrds) this.#printActions(await applyManifests(cluster, [crds!]))
    this.#appliedCrds = text
    if (this.#hasApplied) return
    this.#hasApplied = true
    await applyManifests(cluster, files).then(
      (actions) => {
        this.#printActions(actions)
        this.#objects.replace(manifests)
      },
      (error) => this.#options.print(describeFailure(error)),
    )
  }

  async #apply(files: readonly string[], sinceMs: number): Promise<void> {
    const { cluster, deletes, print } = this.#options
    const manifests = (await this.#read(files)).map(namedOnly)
    this.#printActions(
      await applyManifests(cluster, orderManifests([], manifests), (object) => this.#objects.before(object)),
    )
    const missing = this.#objects.replace(manifests).filter((object) => !isCrd(object))
    if (deletes) this.#printActions(await deleteObjects(cluster, missing))
    const tookMs = Math.round(monotonicMs() - sinceMs)
    print(`${this.#describeFiles(files)} changed, applied in ${tookMs} ms`)
  }

  #read(files: readonly string[]): Promise<ManifestFile[]> {
    return Promise.all(files.map((file) => readManifest(relative(this.#options.folder, file))))
  }

  #printActions(actions: readonly AppliedAction[]): void {
    for (const action of actions) this.#options.print(action)
  }

  #watchFiles(): void {
    const { targets, objectFiles } = this.#options
    const files = [...targets.map(({ address }) => address), ...this.#files, ...this.#workerFiles, ...objectFiles]
    this.#watcher.watch(files, (path) => this.#hasFailed && isProgram(path))
  }

  #describeFiles(files: readonly string[]): string {
    const [first, ...consequence] = files.map((file) => relative(this.#options.folder, file))
    return consequence.length === 0 ? first! : `${first} and ${consequence.length} more`
  }
}

/** Leaves out objects with `generateName`: each apply would create another one, and they were created at the start. */
function namedOnly({ objects, ...manifest }: ManifestFile): ManifestFile {
  const isNamed = (object: unknown) => (object as KubeObject | undefined)?.metadata?.name !== undefined
  return { ...manifest, objects: objects.filter(isNamed) }
}

/** Some editors truncate a file before they write it: an empty file must not delete its objects. */
function hasText(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.size !== 0
}
