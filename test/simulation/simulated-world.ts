/**
 * One simulated world: a server, an operator that is killed and restarted, a driver that edits objects, and random faults between
 * them. Everything runs in this process, with a skipped clock and random numbers from the seed.
 */
import type { RunningOperator } from 'kopf'
import { ApiServer } from 'kopf/server'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { createLogSink } from '../../src/util/log/log.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Background } from './daemon-journal.ts'
import { Wire } from './faulty-transport.ts'
import { createMischief, notePhases } from './hostile-edits.ts'
import { drawNature, type Nature } from './operator-variant.ts'
import { MortalClock, pass } from './process-clock.ts'
import { Random } from './random.ts'
import { type FaultName, Weather } from './random-faults.ts'
import { Offspring } from './simulated-children.ts'
import { Driver, type Twin } from './simulated-edits.ts'
import { createOperator, essenceOf, finalizer } from './simulated-handlers.ts'
import { addIndices, checkCompleteness, type Indices } from './simulated-indices.ts'
import { Journal } from './simulation-journal.ts'
import type { ShownObject, WrittenObject } from './wire-messages.ts'

export interface WorldOptions {
  readonly seed: string
  readonly faults: readonly FaultName[]
  /** Number of edits. */
  readonly steps: number
  readonly objects: number
  /** Whether the process is killed and stopped at random. */
  readonly isMortal: boolean
  /** Whether handlers take time and fail. */
  readonly isRough: boolean
  /** Whether there are daemons and timers. */
  readonly hasBackground: boolean
  /** Whether objects have children instead of other handlers. */
  readonly hasChildren?: boolean
  /** Kills or stops the process at this API call, counted over all processes. */
  readonly crash?: { readonly call: number; readonly moment: 'before' | 'after'; readonly manner: 'kill' | 'stop' }
}

export interface Process {
  readonly number: number
  readonly startedMs: number
  /** The version of the last write before the start. */
  readonly startedAt: number
  readonly indices: Indices | undefined
  readonly wire: Wire
  running: RunningOperator | undefined
  isReady: boolean
  /** Whether the process has ended. */
  isOver: boolean
}

const group = 'sim.example.com'
const namespace = 'sim'
const elsewhere = 'elsewhere'
const widgets = [group, 'v1', 'widgets'] as const
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

export class World {
  readonly clock: SkippingClock = new SkippingClock()
  readonly journal: Journal
  readonly driver: Driver
  readonly weather: Weather
  readonly options: WorldOptions
  readonly random: Random
  /** Random numbers for the hostile actions. */
  readonly whims: Random
  readonly server: ApiServer
  readonly nature: Nature
  readonly background: Background
  readonly offspring: Offspring = new Offspring(this)
  process!: Process
  /** The time at which each object was completely handled for the first time, by uid. */
  readonly handledMs: Map<string, number> = new Map()
  /** The version of a server that is behind. */
  #staleVersion: string | undefined
  /** The current error of the system time of the operator. */
  #offsetMs = 0
  readonly #stopping = new Set<number>()
  processes = 0
  calls = 0
  /** Minimum duration of timer calls. */
  restMs = 0
  isSupervised = true

  constructor(options: WorldOptions) {
    this.options = options
    this.random = new Random(options.seed)
    this.whims = this.random.fork('whims')
    this.server = new ApiServer({ clock: this.clock })
    this.journal = new Journal(this.clock, () => checkCompleteness(this))
    this.weather = new Weather(options.faults, this.random.fork('weather'))
    this.nature = drawNature(this.random, options)
    this.driver = new Driver({
      server: this.server,
      random: this.random.fork('driver'),
      journal: this.journal,
      now: () => this.clock.now(),
      group,
      namespace,
      elsewhere,
      hasStatusEndpoint: this.nature.hasStatusEndpoint,
      objects: options.objects,
      mischief: options.hasBackground
        ? createMischief(this)
        : options.hasChildren
          ? this.offspring.mischief
          : undefined,
    })
    this.background = this.#createBackground()
    this.#narrateWeather()
  }

  async open(): Promise<void> {
    for (const name of [namespace, elsewhere]) {
      await ask(this.server, 'POST', '/api/v1/namespaces', {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      })
    }
    const subresources = this.nature.hasStatusEndpoint ? { subresources: { status: {} } } : {}
    await ask(this.server, 'POST', crdsPath, { body: crd({ group, kind: 'Widget', ...subresources }) })
    await pass(this.clock, this.clock.now() + 5000)
  }

  /** Starts a process without any memory of previous ones. */
  start(): void {
    this.processes += 1
    const number = this.processes
    const earlier = this.calls
    const { options, journal, clock, server, weather } = this
    const random = this.random.fork(`wire ${number}`)
    journal.tell(`=== process ${number} starts`)
    const wire = new Wire({
      server,
      clock,
      random,
      weather,
      journal,
      process: number,
      latencyMs: [0, 20],
      onCall: (call, moment) => this.#countCall(earlier + call, moment),
      onWrite: (object, subresource) => this.#notice(object, number, subresource),
      staleVersion: () => this.#staleVersion,
      isAlive: (uid) => this.#findTwin(uid) !== undefined,
      ...(options.hasBackground ? { onShown: (object, isRead) => this.#show(object, number, isRead) } : {}),
    })
    const mortal = new MortalClock(clock, wire.end, () => this.#offsetMs)
    const isDead = () => wire.end.aborted
    const stage = { ...options, clock: mortal, process: number, isDead, restMs: () => this.restMs }
    const operator = createOperator({ ...stage, ...this.nature, journal, widgets, namespace })
    this.background.register(operator, widgets, this.nature.parts, stage)
    if (options.hasChildren) this.offspring.register(operator, widgets, stage)
    const indices = this.nature.hasIndices ? addIndices(operator, widgets, this.nature.isNarrow) : undefined
    const process: Process = {
      ...{ number, startedMs: clock.now(), startedAt: Number(server.version), wire, indices, running: undefined },
      ...{ isReady: false, isOver: false },
    }
    this.process = process
    const logging = createLogSink({ format: 'plain', write: (line) => journal.tell(`        ${line.trimEnd()}`) })
    void operator.start({ namespaces: [namespace], clock: mortal, transport: wire, logging }).then(
      (running) => this.#follow(process, running),
      (error) => this.#ended(process, error),
    )
  }

  /** Ends the process like SIGKILL. */
  kill(): void {
    this.journal.tell(`=== process ${this.process.number} is killed`)
    if (this.isSupervised) notePhases(this, 'killed')
    this.journal.crashed(this.process.number)
    this.process.wire.kill()
    this.background.killed(this.process.number)
    this.#over(this.process)
  }

  /** Ends the simulation; nothing is restarted. */
  close(): void {
    this.isSupervised = false
    this.kill()
    this.server.close()
  }

  /** Restarts a process a moment after its end, like the kubelet. */
  #over(process: Process): void {
    process.isOver = true
    const restart = async () => {
      await this.clock.sleep(1000)
      if (this.isSupervised) this.start()
    }
    void restart()
  }

  /** Stops the process like SIGTERM, with a few seconds to finish. */
  async stop(): Promise<void> {
    const { process, clock, journal } = this
    journal.tell(`=== process ${process.number} is stopped`)
    notePhases(this, 'stopped')
    const begunMs = clock.now()
    if (this.options.faults.length > 0) journal.hastyStops += 1
    process.isOver = true
    this.#stopping.add(process.number)
    await process.running?.stop().catch(() => {})
    const tookMs = clock.now() - begunMs
    if (tookMs > 10_000) journal.violate('L3', `it took ${tookMs} ms to stop`)
    // A slow stop may have aborted handlers, which are then called again.
    if (tookMs >= 2000) journal.crashes += 1
    process.wire.kill()
    this.background.killed(process.number)
    this.#over(process)
  }

  /** Lets the time pass until the given time or condition, and checks the running calls after every step. */
  pass(untilMs: number, isSo: () => boolean = () => false): Promise<void> {
    return pass(this.clock, untilMs, () => {
      this.background.look()
      return isSo()
    })
  }

  #follow(process: Process, running: RunningOperator): void {
    process.running = running
    running.ready.then(
      () => (process.isReady = true),
      () => {},
    )
    running.done.then(
      () => this.#ended(process, undefined),
      (error) => this.#ended(process, error),
    )
  }

  /** An operator may fail at its start if the discovery fails; later it must not end. */
  #ended(process: Process, error: unknown): void {
    if (process.isOver) return
    this.#over(process)
    this.journal.tell(`=== process ${process.number} has ended by itself: ${error}`)
    if (process.isReady || this.options.faults.length === 0) this.journal.violate('L1', `the operator ended: ${error}`)
  }

  #countCall(call: number, moment: 'before' | 'after'): void {
    this.calls = Math.max(this.calls, call)
    const { crash } = this.options
    if (crash?.call !== call || crash.moment !== moment || this.process.isOver) return
    if (crash.manner === 'kill') this.kill()
    else void this.stop()
  }

  #notice(object: WrittenObject, process: number, subresource: string): void {
    const { uid, annotations = {} } = object.metadata
    this.journal.committed(process, uid, subresource)
    if (lastHandled in annotations && !this.handledMs.has(uid)) this.handledMs.set(uid, this.clock.now())
    this.background.checkRelease(object, process)
    if (this.options.hasChildren) this.offspring.checkRelease(object)
    else if (this.nature.hasCleanup) this.#checkRelease(object)
  }

  #show({ metadata, spec = {} }: ShownObject, process: number, isRead: boolean): void {
    const { uid, resourceVersion, labels = {}, annotations = {} } = metadata
    const foreign = Object.entries(annotations).filter(([key]) => !key.startsWith('kopf.zalando.org/'))
    const essence = essenceOf({ spec, labels, annotations: Object.fromEntries(foreign) })
    this.journal.sawState(process, { uid, version: Number(resourceVersion), essence }, isRead)
  }

  #findTwin(uid: string): Twin | undefined {
    return [...this.driver.alive.values()].find((twin) => twin.uid === uid)
  }

  #createBackground(): Background {
    const { journal, clock } = this
    const dice = this.random.fork('blocking')
    return new Background({
      journal,
      clock,
      namespace,
      findTwin: (uid) => this.#findTwin(uid),
      isStopping: (process) => this.#stopping.has(process),
      // Without a response the operator cannot know whether an object was deleted or filtered out.
      longestMs: this.options.faults.includes('headless') ? 420_000 : 60_000,
      block: () => {
        if (!this.weather.strikes('blocked')) return
        journal.reached.add('the event loop is blocked')
        clock.set(clock.now() + dice.between(1000, 30_000))
      },
    })
  }

  /** P5: a released object has been cleaned up. */
  #checkRelease({ metadata: { uid, name, finalizers = [], deletionTimestamp } }: WrittenObject): void {
    if (deletionTimestamp === undefined || finalizers.includes(finalizer) || !this.#findTwin(uid)?.wasHeld) return
    if (this.journal.lastDone(uid, 'cleanup')?.end !== 'done') {
      this.journal.violate('P5', `${name} is let go without its clean-up`)
    }
  }

  #narrateWeather(): void {
    this.weather.onChange((faults) => {
      this.journal.tell(`~~~ ${[...faults].join(' ') || 'calm'}`)
      this.#staleVersion = faults.has('stale') ? this.server.version : undefined
      if (!faults.has('jump')) return
      this.#offsetMs = this.random.pick([-3_600_000, 0, 3_600_000])
      if (this.#offsetMs !== 0) this.journal.reached.add('the system time is set')
    })
  }
}
