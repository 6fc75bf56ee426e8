/**
 * One simulated world: a server, an operator that is killed and started again, somebody who edits, and the weather between
 * them. Everything happens in this process, on a clock that is skipped, by chance that comes from the seed.
 */
import type { RunningOperator } from 'kopf'
import { ApiServer } from 'kopf/server'
import { createLogSink } from '../../src/util/log.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { SkippingClock } from '../support/skipping-clock.ts'
import { MortalClock, pass } from './clocks.ts'
import { Driver } from './driver.ts'
import { createOperator, finalizer } from './handlers.ts'
import { Journal } from './journal.ts'
import { Random } from './random.ts'
import { type FaultName, Weather } from './weather.ts'
import { Wire, type WrittenObject } from './wire.ts'

export interface WorldOptions {
  readonly seed: string
  readonly faults: readonly FaultName[]
  /** How many things are done. */
  readonly steps: number
  readonly objects: number
  /** Whether the process is killed, and stopped, now and then. */
  readonly isMortal: boolean
  /** Whether handlers take time and fail. */
  readonly isRough: boolean
  /** Kills the process at this call, counted over all processes. */
  readonly crash?: { readonly call: number; readonly moment: 'before' | 'after' }
}

export interface Process {
  readonly number: number
  readonly startedMs: number
  readonly wire: Wire
  running: RunningOperator | undefined
  isReady: boolean
  /** Ended by itself, or by us. */
  isOver: boolean
}

const group = 'sim.example.com'
const namespace = 'sim'
const elsewhere = 'elsewhere'
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

export class World {
  readonly clock: SkippingClock = new SkippingClock()
  readonly journal: Journal
  readonly driver: Driver
  readonly weather: Weather
  readonly options: WorldOptions
  readonly random: Random
  readonly server: ApiServer
  readonly hasStatusEndpoint: boolean
  readonly isSpied: boolean
  readonly logs: string[] = []
  process!: Process
  /** When each object, by uid, was handled to the end for the first time. */
  readonly handledMs: Map<string, number> = new Map()
  /** Where another server is that has not caught up. */
  #staleVersion: string | undefined
  processes = 0
  calls = 0
  isSupervised = true

  constructor(options: WorldOptions) {
    this.options = options
    this.random = new Random(options.seed)
    this.server = new ApiServer({ clock: this.clock })
    this.journal = new Journal(this.clock)
    this.weather = new Weather(options.faults, this.random.fork('weather'))
    const nature = this.random.fork('nature')
    this.hasStatusEndpoint = nature.chance(0.7)
    this.isSpied = nature.chance(0.3)
    this.driver = new Driver({
      server: this.server,
      random: this.random.fork('driver'),
      journal: this.journal,
      now: () => this.clock.now(),
      group,
      namespace,
      elsewhere,
      hasStatusEndpoint: this.hasStatusEndpoint,
      objects: options.objects,
    })
    this.#narrateWeather()
  }

  async open(): Promise<void> {
    for (const name of [namespace, elsewhere]) {
      await ask(this.server, 'POST', '/api/v1/namespaces', {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      })
    }
    const subresources = this.hasStatusEndpoint ? { subresources: { status: {} } } : {}
    await ask(this.server, 'POST', crdsPath, { body: crd({ group, kind: 'Widget', ...subresources }) })
    await pass(this.clock, this.clock.now() + 5000)
  }

  /** A process begins: with nothing but what is on the server. */
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
      isAlive: (uid) => [...this.driver.alive.values()].some((twin) => twin.uid === uid),
    })
    const process: Process = { number, startedMs: clock.now(), wire, running: undefined, isReady: false, isOver: false }
    this.process = process
    const mortal = new MortalClock(clock, wire.end)
    const operator = createOperator({
      seed: options.seed,
      journal,
      clock: mortal,
      process: number,
      widgets: [group, 'v1', 'widgets'],
      namespace,
      isSpied: this.isSpied,
      isRough: options.isRough,
    })
    const logging = createLogSink({ format: 'plain', write: (line) => this.#log(line) })
    void operator.start({ namespaces: [namespace], clock: mortal, transport: wire, logging }).then(
      (running) => this.#follow(process, running),
      (error) => this.#ended(process, error),
    )
  }

  /** As by SIGKILL: whatever it was at is left where it is. */
  kill(): void {
    this.journal.tell(`=== process ${this.process.number} is killed`)
    this.journal.crashed(this.process.number)
    this.process.wire.kill()
    this.#over(this.process)
  }

  /** The end of the world: nothing is started again. */
  close(): void {
    this.isSupervised = false
    this.kill()
    this.server.close()
  }

  /** A process that has ended is started again, a moment later: by the kubelet. */
  #over(process: Process): void {
    process.isOver = true
    const restart = async () => {
      await this.clock.sleep(1000)
      if (this.isSupervised) this.start()
    }
    void restart()
  }

  /** As by SIGTERM: it has a few seconds to finish. */
  async stop(): Promise<void> {
    const { process, clock, journal } = this
    journal.tell(`=== process ${process.number} is stopped`)
    const begunMs = clock.now()
    process.isOver = true
    await process.running?.stop().catch(() => {})
    const tookMs = clock.now() - begunMs
    if (tookMs > 10_000) journal.violate('L3', `it took ${tookMs} ms to stop`)
    // What was under way may have been given up: its handlers may be called again.
    if (tookMs >= 2000) journal.crashes += 1
    process.wire.kill()
    this.#over(process)
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

  /** An operator that cannot even find out what there is may give up, as its author is at hand; later it must not. */
  #ended(process: Process, error: unknown): void {
    if (process.isOver) return
    this.#over(process)
    this.journal.tell(`=== process ${process.number} has ended by itself: ${error}`)
    if (process.isReady || this.options.faults.length === 0) this.journal.violate('L1', `the operator ended: ${error}`)
  }

  #countCall(call: number, moment: 'before' | 'after'): void {
    this.calls = Math.max(this.calls, call)
    const { crash } = this.options
    if (crash?.call === call && crash.moment === moment && !this.process.isOver) this.kill()
  }

  #notice(object: WrittenObject, process: number, subresource: string): void {
    const { uid, annotations = {} } = object.metadata
    this.journal.committed(process, uid, subresource)
    if (lastHandled in annotations && !this.handledMs.has(uid)) this.handledMs.set(uid, this.clock.now())
    this.#checkRelease(object)
  }

  /** P5: what is let go has been cleaned up. */
  #checkRelease({ metadata: { uid, name, finalizers = [], deletionTimestamp } }: WrittenObject): void {
    if (deletionTimestamp === undefined || finalizers.includes(finalizer)) return
    if (this.journal.lastDone(uid, 'cleanup')?.end !== 'done') {
      this.journal.violate('P5', `${name} is let go without its clean-up`)
    }
  }

  #log(line: string): void {
    this.logs.push(line.trimEnd())
    this.journal.tell(`        ${line.trimEnd()}`)
  }

  #narrateWeather(): void {
    this.weather.onChange((faults) => {
      this.journal.tell(`~~~ ${[...faults].join(' ') || 'calm'}`)
      this.#staleVersion = faults.has('stale') ? this.server.version : undefined
    })
  }
}
