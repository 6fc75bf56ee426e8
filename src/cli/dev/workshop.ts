/**
 * What happens between two saves: the files are bundled and loaded, the operator from before is stopped, the new one started, each in
 * a process of its own, and objects that have changed in their files are applied. The cluster stays, and what is on its objects with it. One thing
 * after the other, however fast somebody saves. Told of saves by watching.ts.
 */
import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { monotonicMs, systemClock } from '../../util/clock.ts'
import { toJsonText } from '../../util/json-text.ts'
import { within } from '../../util/within.ts'
import type { Cluster } from '../cluster.ts'
import { describeFailure } from '../failures.ts'
import type { Target } from '../load.ts'
import { isDefinition, type Manifest, orderManifests, readManifest } from '../manifests.ts'
import { isProgram } from '../programs.ts'
import { AppliedObjects } from './applied-objects.ts'
import { applyManifests, type Deed, deleteObjects } from './applying.ts'
import { Generations } from './generations.ts'
import type { LoadedOperator, OperatorSetup } from './messages.ts'
import type { Bundle, Rebuilder } from './rebuild.ts'
import { type Saved, SaveWatcher } from './watching.ts'

export interface WorkshopOptions {
  readonly targets: readonly Target[]
  readonly rebuilder: Rebuilder
  readonly cluster: Cluster
  /** Absolute paths of files with objects. */
  readonly applied: readonly string[]
  /** Whether objects that were taken out of their file are deleted. */
  readonly deletes: boolean
  readonly folder: string
  readonly setup: OperatorSetup
  readonly say: (line: string) => void
}

/** What is not seen within so long is not waited for: the next save may put it right. */
const readyMs = 2000

export class Workshop implements AsyncDisposable {
  readonly #options: WorkshopOptions
  readonly #watcher: SaveWatcher
  #queue: Promise<void> = Promise.resolve()
  readonly #generations: Generations
  /** Of the bundle that was loaded last; undefined after a failure, which may be no fault of the files. */
  #digest: string | undefined
  #files: readonly string[]
  #hasFailed = false
  #definitions = ''
  #hasApplied = false
  readonly #objects = new AppliedObjects()
  /** Modules of threads: they are not in the bundle, and are known when they are first needed. */
  readonly #workerFiles = new Set<string>()
  /** Of the reload under way: a file may never come to the end of its loading, nor a startup handler to that of its retries. */
  #interruption = new AbortController()
  #isClosed = false

  constructor(options: WorkshopOptions) {
    this.#options = options
    this.#files = options.targets.map(({ address }) => address)
    this.#watcher = new SaveWatcher((saved) => this.#take(saved))
    this.#generations = new Generations({
      ...options,
      onWorkerFile: (path) => {
        this.#workerFiles.add(path)
        this.#follow()
      },
      onEnd: (problem) => this.#tellFailure(new KopfError('KOPF_LOAD', problem)),
      onKill: () => options.say('Not all of the operator from before has ended: its process is killed.'),
    })
  }

  async start(): Promise<void> {
    const sinceMs = monotonicMs()
    this.#generations.prepare()
    this.#follow()
    await this.#enqueue(() => this.#reload('started', sinceMs))
  }

  /** As if all files had been saved. */
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
    await this.#generations[Symbol.asyncDispose]()
  }

  #take({ files, sinceMs }: Saved): void {
    const { applied } = this.#options
    const objects = applied.filter((file) => files.has(file) && hasText(file))
    const others = [...files].filter((file) => !applied.includes(file))
    if (objects.length > 0) void this.#enqueue(() => this.#apply(objects, sinceMs))
    if (others.length === 0) return
    if (others.some((file) => this.#workerFiles.has(file))) this.#digest = undefined
    this.#interruption.abort()
    void this.#enqueue(() => this.#reload(`${this.#names(others)} changed, reloaded`, sinceMs))
  }

  /** Never rejects: what goes wrong is told, and the next save is waited for. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      if (this.#isClosed) return
      this.#interruption = new AbortController()
      const { signal } = this.#interruption
      await work().catch((error) => {
        // The next one has overtaken it.
        if (!signal.aborted) this.#tellFailure(error)
      })
    })
    return this.#queue
  }

  #tellFailure(error: unknown): void {
    this.#hasFailed = true
    this.#digest = undefined
    // What is missing may be put right by a file that was not there before.
    this.#follow()
    const rest = this.#generations.isRunning
      ? 'The operator goes on as it was before.'
      : 'Nothing runs until it is put right.'
    this.#options.say(`${describeFailure(error)}\n${rest}`)
  }

  async #reload(what: string, sinceMs: number): Promise<void> {
    const { rebuilder, say } = this.#options
    const bundle = await rebuilder.rebuild()
    this.#files = bundle.files
    this.#hasFailed = false
    this.#follow()
    if (bundle.digest === this.#digest) {
      await bundle[Symbol.asyncDispose]()
      return
    }
    try {
      const { handlers } = await this.#run(bundle)
      // The operator has failed meanwhile, and the failure was printed.
      if (!this.#generations.isRunning) return
      this.#digest = bundle.digest
      const tookMs = Math.round(monotonicMs() - sinceMs)
      say(`${what} in ${tookMs} ms: ${handlers} ${handlers === 1 ? 'handler' : 'handlers'}`)
    } finally {
      this.#generations.prepare()
    }
  }

  /** In the place of the operator that runs. */
  async #run(bundle: Bundle): Promise<LoadedOperator> {
    const { signal } = this.#interruption
    const next = await this.#generations.load(bundle, signal)
    try {
      await this.#define(next.operator.crds)
      // Another save has come meanwhile: what is loaded is old already.
      signal.throwIfAborted()
    } catch (error) {
      await this.#generations.drop(next)
      throw error
    }
    this.#digest = undefined
    await this.#generations.replace(next, signal)
    await within(systemClock, readyMs, next.child.ready())
    return next.operator
  }

  /** Definitions where they have changed; at the start, the objects of files, without which the operator can do, too. */
  async #define(own: readonly KubeObject[]): Promise<void> {
    const { cluster, applied } = this.#options
    const text = toJsonText(own)
    if (text === this.#definitions && this.#hasApplied) return
    const manifests = await this.#read(applied)
    const [definitions, ...files] = orderManifests(own, manifests)
    if (text !== this.#definitions) this.#tell(await applyManifests(cluster, [definitions!]))
    this.#definitions = text
    if (this.#hasApplied) return
    this.#hasApplied = true
    await applyManifests(cluster, files).then(
      (deeds) => {
        this.#tell(deeds)
        this.#objects.replace(manifests)
      },
      (error) => this.#options.say(describeFailure(error)),
    )
  }

  async #apply(files: readonly string[], sinceMs: number): Promise<void> {
    const { cluster, deletes, say } = this.#options
    const manifests = (await this.#read(files)).map(namedOnly)
    this.#tell(await applyManifests(cluster, orderManifests([], manifests), (object) => this.#objects.before(object)))
    const missing = this.#objects.replace(manifests).filter((object) => !isDefinition(object))
    if (deletes) this.#tell(await deleteObjects(cluster, missing))
    const tookMs = Math.round(monotonicMs() - sinceMs)
    say(`${this.#names(files)} changed, applied in ${tookMs} ms`)
  }

  #read(files: readonly string[]): Promise<Manifest[]> {
    return Promise.all(files.map((file) => readManifest(relative(this.#options.folder, file))))
  }

  #tell(deeds: readonly Deed[]): void {
    for (const deed of deeds) this.#options.say(deed)
  }

  #follow(): void {
    const { targets, applied } = this.#options
    const files = [...targets.map(({ address }) => address), ...this.#files, ...this.#workerFiles, ...applied]
    this.#watcher.follow(files, (path) => this.#hasFailed && isProgram(path))
  }

  #names(files: readonly string[]): string {
    const [first, ...rest] = files.map((file) => relative(this.#options.folder, file))
    return rest.length === 0 ? first! : `${first} and ${rest.length} more`
  }
}

/** What has no name is made anew each time: once is enough. */
function namedOnly({ objects, ...manifest }: Manifest): Manifest {
  const isNamed = (object: unknown) => (object as KubeObject | undefined)?.metadata?.name !== undefined
  return { ...manifest, objects: objects.filter(isNamed) }
}

/** Some editors empty a file before they write it: that must not pass for objects taken out. */
function hasText(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.size !== 0
}
