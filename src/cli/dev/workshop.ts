/**
 * What happens between two saves: the files are bundled and loaded, the operator from before is stopped, the new one started,
 * and objects that have changed in their files are applied. The cluster stays, and what is on its objects with it. One thing
 * after the other, however fast somebody saves. Told of saves by watching.ts.
 */
import { statSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setDefaultOperator } from '../../default-operator.ts'
import { toCrds } from '../../kube/crd.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { CustomResource } from '../../kube/resources.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { monotonicMs, systemClock } from '../../util/clock.ts'
import { toJsonText } from '../../util/json-text.ts'
import { within } from '../../util/within.ts'
import type { Cluster } from '../cluster.ts'
import type { Display } from '../display/display.ts'
import { importOperator, type Target } from '../load.ts'
import { isDefinition, type Manifest, orderManifests, readManifest } from '../manifests.ts'
import { isProgram } from '../programs.ts'
import { WorkerModules } from '../worker-modules.ts'
import { AppliedObjects } from './applied-objects.ts'
import { applyManifests, type Deed, deleteObjects } from './applying.ts'
import { type Generation, startGeneration, stopGeneration } from './generation.ts'
import type { Bundle, Rebuilder } from './rebuild.ts'
import { type Saved, SaveWatcher } from './watching.ts'

export interface WorkshopOptions {
  readonly targets: readonly Target[]
  readonly rebuilder: Rebuilder
  readonly cluster: Cluster
  /** Absolute paths of files with objects. */
  readonly applied: readonly string[]
  /** Whether the definitions of the operator are put into the cluster. */
  readonly defines: boolean
  /** Whether objects that were taken out of their file are deleted. */
  readonly deletes: boolean
  readonly folder: string
  readonly run: RunOptions
  /** Makes what a person sees of the next operator beside its logs; undefined where there is nobody. */
  readonly show: (() => Display) | undefined
  readonly say: (line: string) => void
  readonly describeError: (error: unknown) => string
}

/** What is not seen within so long is not waited for: the next save may put it right. */
const readyMs = 2000

export class Workshop implements AsyncDisposable {
  readonly #options: WorkshopOptions
  readonly #watcher: SaveWatcher
  #queue: Promise<void> = Promise.resolve()
  #generation: Generation | undefined
  #display: Display | undefined
  /** Of the bundle that was loaded last; undefined after a failure, which may be no fault of the files. */
  #digest: string | undefined
  #files: readonly string[]
  #hasFailed = false
  #definitions = ''
  #hasApplied = false
  readonly #objects = new AppliedObjects()
  #workers: WorkerModules | undefined
  /** Modules of threads: they are not in the bundle, and are known when they are first needed. */
  readonly #workerFiles = new Set<string>()
  /** Of the reload under way: a file may never come to the end of its loading, nor a startup handler to that of its retries. */
  #interruption = new AbortController()
  #isClosed = false

  constructor(options: WorkshopOptions) {
    this.#options = options
    this.#files = options.targets.map(({ address }) => address)
    this.#watcher = new SaveWatcher((saved) => this.#take(saved))
  }

  async start(): Promise<void> {
    const sinceMs = monotonicMs()
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
    await this.#stop()
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
    const { say, describeError } = this.#options
    this.#hasFailed = true
    this.#digest = undefined
    // What is missing may be put right by a file that was not there before.
    this.#follow()
    const rest =
      this.#generation === undefined ? 'Nothing runs until it is put right.' : 'The operator goes on as it was before.'
    say(`${describeError(error)}\n${rest}`)
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
    const operator = await this.#load(bundle)
    await this.#define(operator)
    await this.#replace(operator, bundle)
    if (this.#generation === undefined) return
    this.#digest = bundle.digest
    const { length } = operator.registry.handlers
    const tookMs = Math.round(monotonicMs() - sinceMs)
    say(`${what} in ${tookMs} ms: ${length} ${length === 1 ? 'handler' : 'handlers'}`)
  }

  /** What the files before have registered on the default operator is not of these. */
  async #load(bundle: Bundle): Promise<Operator> {
    setDefaultOperator(undefined)
    try {
      return await untilAborted(this.#interruption.signal, importOperator(this.#options.targets, bundle.imports))
    } catch (error) {
      await bundle[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Definitions where they have changed; at the start, the objects of files, without which the operator can do, too. */
  async #define({ resources }: Operator): Promise<void> {
    const { cluster, applied, defines } = this.#options
    const own = defines ? toCrds(resources as readonly CustomResource<object>[]) : []
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
      (error) => this.#options.say(this.#options.describeError(error)),
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

  async #replace(operator: Operator, bundle: Bundle): Promise<void> {
    const { run, folder, show } = this.#options
    const { signal } = this.#interruption
    // Another save has come meanwhile: what is loaded is old already.
    signal.throwIfAborted()
    this.#digest = undefined
    await this.#stop()
    const workers = new WorkerModules(folder)
    this.#workers = workers
    const loadWorkerModule = (url: URL) => {
      this.#workerFiles.add(fileURLToPath(url))
      this.#follow()
      return workers.load(url)
    }
    const display = show?.()
    this.#display = display
    const options = { ...run, ...(display && { observer: display.account }), loadWorkerModule }
    const generation = await startGeneration(operator, bundle, { options, signal })
    this.#generation = generation
    void generation.running.ready.then(
      () => display?.listed(),
      () => {},
    )
    generation.running.done.catch((error: unknown) => {
      if (this.#generation !== generation) return
      this.#generation = undefined
      this.#tellFailure(error)
    })
    // A failure is told above.
    await within(
      systemClock,
      readyMs,
      generation.running.ready.catch(() => {}),
    )
  }

  async #stop(): Promise<void> {
    const generation = this.#generation
    this.#generation = undefined
    this.#display?.end()
    this.#display = undefined
    if (generation !== undefined && !(await stopGeneration(generation))) {
      this.#options.say('Not all of the operator from before has ended; it is left to itself')
    }
    await this.#workers?.[Symbol.asyncDispose]()
    this.#workers = undefined
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

/** As the work, or a rejection as soon as the signal is aborted. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
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
