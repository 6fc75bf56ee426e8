/**
 * Operators with managed webhook configurations that start and stop, and other clients that change the configurations: in
 * the end the configuration is that of the last operator. No admission request is sent.
 */
import { Operator, type RunningOperator } from 'kopf'
import { ApiServer } from 'kopf/server'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { createLogSink } from '../../src/util/log/log.ts'
import { Desk } from '../admission/managed-webhooks.ts'
import type { Tree } from '../support/answers.ts'
import { crd, crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Wire } from './faulty-transport.ts'
import { MortalClock, pass } from './process-clock.ts'
import { Random } from './random.ts'
import { type FaultName, Weather } from './random-faults.ts'
import { Journal } from './simulation-journal.ts'

const group = 'sim.example.com'
const managed = 'sim.kopf.dev'
const collections = {
  validate: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  mutate: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
} as const
type Kind = keyof typeof collections

/** One version of the operator. */
interface Version {
  readonly handlers: readonly { readonly kind: Kind; readonly id: string; readonly persistent: boolean }[]
}

interface Process {
  readonly number: number
  readonly version: Version
  readonly desk: Desk
  readonly wire: Wire
  url: string
  running: RunningOperator | undefined
  isOver: boolean
}

export class WebhookWorld {
  readonly clock: SkippingClock = new SkippingClock()
  readonly journal: Journal
  readonly weather: Weather
  readonly random: Random
  /** Number of events that may require a write to each configuration. */
  occasions = 0
  isSupervised = true
  process!: Process
  readonly #server: ApiServer
  #processes = 0

  constructor(seed: string, faults: readonly FaultName[]) {
    this.random = new Random(seed)
    this.weather = new Weather(faults, this.random.fork('weather'))
    this.journal = new Journal(this.clock, () => {})
    this.#server = new ApiServer({ clock: this.clock })
    this.weather.onChange((active) => this.journal.tell(`~~~ ${[...active].join(' ') || 'calm'}`))
  }

  async open(): Promise<void> {
    await ask(this.#server, 'POST', crdsPath, { body: crd({ group, kind: 'Widget' }) })
    await this.pass(5000)
    this.start()
  }

  pass(ms: number, isSo?: () => boolean): Promise<void> {
    return pass(this.clock, this.clock.now() + ms, isSo)
  }

  start(): void {
    this.#processes += 1
    this.occasions += 1
    const number = this.#processes
    const { clock, journal, weather } = this
    const random = this.random.fork(`process ${number}`)
    const url = `https://127.0.0.1:${number}`
    const wire = new Wire({
      ...{ server: this.#server, clock, random, weather, journal, process: number, latencyMs: [0, 20] },
      ...{ onWrite: () => {}, staleVersion: () => undefined, isAlive: () => true },
    })
    const process: Process = {
      ...{ number, version: drawVersion(random), desk: new Desk({ url }), url, wire },
      ...{ running: undefined, isOver: false },
    }
    this.process = process
    journal.tell(`=== process ${number} starts: ${JSON.stringify(process.version.handlers)}`)
    const mortal = new MortalClock(clock, wire.end, () => 0)
    const logging = createLogSink({ format: 'plain', write: (line) => journal.tell(`        ${line.trimEnd()}`) })
    const operator = createOperator(process)
    void operator.start({ clusterwide: true, clock: mortal, transport: wire, logging }).then(
      (running) => {
        process.running = running
        void running.done.catch(() => {}).then(() => this.#over(process))
      },
      () => this.#over(process),
    )
  }

  kill(): void {
    this.journal.tell(`=== process ${this.process.number} is killed`)
    this.process.wire.kill()
    this.#over(this.process)
  }

  /** Stops the operator and returns the duration in milliseconds. */
  async stop(): Promise<number> {
    const { process, clock, journal } = this
    journal.tell(`=== process ${process.number} is stopped`)
    this.occasions += 1
    const begunMs = clock.now()
    await process.running?.stop().catch(() => {})
    process.wire.kill()
    this.#over(process)
    return clock.now() - begunMs
  }

  /** Restarts a process a moment after its end. */
  #over(process: Process): void {
    if (process.isOver) return
    process.isOver = true
    const restart = async () => {
      await this.clock.sleep(1000)
      if (this.isSupervised) this.start()
    }
    void restart()
  }

  /** Changes the URL of the operator. */
  move(): void {
    this.occasions += 1
    this.process.url = `${this.process.url}/m`
    this.process.desk.move({ url: this.process.url })
  }

  /** Changes or deletes a configuration as another client. */
  async meddle(random: Random): Promise<void> {
    const path = `${collections[random.pick(['validate', 'mutate'] as const)]}/${managed}`
    const { status, body } = await ask(this.#server, 'GET', path)
    if (status !== 200) return
    this.occasions += 1
    const webhooks = (body['webhooks'] ?? []) as Tree[]
    const [method, changed] = random.pick([
      ['DELETE', []],
      ['PATCH', []],
      ['PATCH', webhooks.slice(1)],
      ['PATCH', webhooks.map((one) => ({ ...one, failurePolicy: 'Ignore' }))],
      ['PATCH', webhooks.map((one) => ({ ...one, clientConfig: { url: 'https://evil.example.com' } }))],
    ] as const)
    this.journal.tell(`   meddling: ${method} ${path.split('/').at(-2)} ${changed.length}`)
    await ask(this.#server, method, path, method === 'PATCH' ? { body: { webhooks: changed } } : {})
  }

  /** Reports configurations that differ from the expected ones, while the operator runs or after its end. */
  async check(isRunning: boolean): Promise<void> {
    const { version, url } = this.process
    for (const kind of ['validate', 'mutate'] as const) {
      const { status, body } = await ask(this.#server, 'GET', `${collections[kind]}/${managed}`)
      const entries = status === 404 ? [] : ((body['webhooks'] ?? []) as Tree[])
      const found = entries.map(({ name, clientConfig, failurePolicy }) => [
        name,
        (clientConfig as Tree)['url'],
        failurePolicy,
      ])
      const due = version.handlers.filter((one) => one.kind === kind && (isRunning || one.persistent))
      const wanted = due.map(({ id }) => [`${id}.${managed}`, `${url}/${id}`, 'Fail'])
      if (JSON.stringify(found) === JSON.stringify(wanted)) continue
      this.journal.violate('L1', `${kind}: there is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
    }
  }

  close(): void {
    this.isSupervised = false
    if (!this.process.isOver) this.kill()
    this.#server.close()
  }
}

function drawVersion(random: Random): Version {
  const all = (['validate', 'mutate'] as const).flatMap((kind) =>
    [1, 2].map((number) => ({ kind, id: `${kind}${number}` })),
  )
  const handlers = all.filter(() => random.chance(0.6)).map((one) => ({ ...one, persistent: random.chance(0.3) }))
  return { handlers }
}

function createOperator({ version, desk }: Process): Operator {
  const operator = new Operator({ settings: { admission: { managed, server: desk } } })
  for (const { kind, id, persistent } of version.handlers) {
    operator.on[kind]([group, 'v1', 'widgets'], { id, persistent }, () => {})
  }
  return operator
}
