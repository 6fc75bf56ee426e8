/** Helpers for the tests of watching: sessions without a network, and a reflector whose events are recorded. */
import type { ApiServer } from 'kopf/server'
import { toApiError } from '../../src/client/api-error.ts'
import { toQuery } from '../../src/client/paths.ts'
import type { ApiCall, Session } from '../../src/client/session.ts'
import type { JsonObject } from '../../src/kube/objects.ts'
import type { Resource } from '../../src/kube/resources/resources.ts'
import { parseJsonText } from '../../src/util/json/json-text.ts'
import { type ReflectOptions, reflect } from '../../src/watching/reflector.ts'
import type { ReflectedEvent } from '../../src/watching/watch-events.ts'
import type { WatchState } from '../../src/watching/watch-observer.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'

export const configMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  singular: 'configmap',
  shortcuts: ['cm'],
  categories: [],
  subresources: [],
  namespaced: true,
  preferred: true,
  verbs: ['list', 'watch'],
}

/** A session on the embedded server that sends each request once. */
export function sessionOf(api: ApiServer): Session {
  const send = async (call: ApiCall, signal?: AbortSignal) => {
    const answer = await api.send({ method: call.method, path: call.path + toQuery(call.query) }, signal)
    if (answer.status < 300) return answer.body
    throw toApiError(call, { status: answer.status, text: await textOf(answer.body) })
  }
  return {
    request: async (call, signal) => parseJsonText(await textOf(await send(call, signal))) as JsonObject,
    stream: send,
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** The response to one request: an error, a document, or the chunks of a stream and how the stream ends. */
export type Answer = { readonly error: unknown } | { readonly page: unknown } | StreamAnswer

export interface StreamAnswer {
  readonly chunks: ReadonlyArray<string | Uint8Array>
  readonly ending: 'end' | 'hang' | 'break' | 'deaf'
}

/** Gives the responses in order; after the last one, streams are silent and lists never return. */
export class ScriptedSession implements Session {
  readonly calls: ApiCall[] = []
  /** Number of open streams and their maximum. */
  open = 0
  mostOpen = 0
  readonly #answers: Answer[]

  constructor(answers: readonly Answer[]) {
    this.#answers = [...answers]
  }

  get queries(): string[] {
    return this.calls.map(({ query }) => decodeURIComponent(toQuery(query)))
  }

  async request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject> {
    this.calls.push(call)
    const answer = this.#answers.shift()
    if (answer !== undefined && 'error' in answer) throw answer.error
    if (answer !== undefined && 'page' in answer) return structuredClone(answer.page) as JsonObject
    return untilAborted(signal!)
  }

  async stream(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    this.calls.push(call)
    const answer = this.#answers.shift() ?? { chunks: [], ending: 'hang' }
    if ('error' in answer) throw answer.error
    if ('page' in answer) throw new Error('The script has a list where a watch was asked for')
    return this.#body(answer, signal)
  }

  async *#body(answer: StreamAnswer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    this.open += 1
    this.mostOpen = Math.max(this.mostOpen, this.open)
    const gone = () => (this.open -= 1)
    signal.addEventListener('abort', gone, { once: true })
    for (const chunk of answer.chunks) yield Buffer.from(chunk as string)
    if (answer.ending === 'break') throw new Error('connection reset')
    if (answer.ending === 'hang') await untilAborted(signal)
    if (answer.ending === 'deaf') await new Promise(() => {})
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

export const quickly = {
  serverTimeout: null,
  reconnectBackoff: 0.1,
  inactivityTimeout: 70,
  chunkSize: 500,
  initialStreaming: true,
} as const

/** A reflector that runs until it is stopped. */
export class Reflected {
  readonly events: ReflectedEvent[] = []
  readonly states: WatchState[] = []
  readonly warnings: string[] = []
  readonly clock: ManualClock
  readonly done: Promise<void>
  readonly #stop = new AbortController()

  constructor(options: Partial<ReflectOptions> & { readonly session: Session; readonly clock?: ManualClock }) {
    this.clock = options.clock ?? new ManualClock()
    const whole: ReflectOptions = {
      resource: configMaps,
      namespace: 'default',
      random: () => 1,
      ...options,
      watching: options.watching ?? quickly,
      clock: this.clock,
      observer: {
        watchStateChanged: (state) => this.states.push(state),
        watchWarned: (message) => this.warnings.push(message),
      },
    }
    this.done = reflect(whole, (event) => this.events.push(event), this.#stop.signal)
  }

  /** Events as short texts: `listed one`, `ADDED one`, `deleted one`, `missed one`, `LISTED`, `REWOUND`. */
  get words(): string[] {
    return this.events.map((event) => {
      if (event.type === 'listed') return event.rewound ? 'REWOUND' : 'LISTED'
      const { name } = event.object.metadata
      if (event.type === 'deleted') return `${event.missed ? 'missed' : 'deleted'} ${name}`
      return `${event.event ?? 'listed'} ${name}`
    })
  }

  get errors(): string[] {
    return this.states.flatMap((state) => (state.type === 'broken' ? [String((state.error as Error).message)] : []))
  }

  get delays(): number[] {
    return this.states.flatMap((state) => (state.type === 'broken' ? [state.delayMs] : []))
  }

  /** Runs the event loop until nothing happens without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await settle()
  }

  async advance(seconds: number): Promise<void> {
    await this.settle()
    await this.clock.advance(seconds * 1000)
    await this.settle()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.done
  }
}

export interface MapFields {
  readonly uid?: string
  readonly version?: number | string
  readonly more?: object
}

export function map(name: string, { uid = `uid-${name}`, version = 1, more = {} }: MapFields = {}): JsonObject {
  const metadata = { name, namespace: 'default', uid, resourceVersion: String(version) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more } as unknown as JsonObject
}

export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`
}

export function bookmark(version: number | string, isEnd = false): string {
  const annotations = isEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  return line('BOOKMARK', { kind: 'ConfigMap', metadata: { resourceVersion: String(version), ...annotations } })
}

export function page(version: number | string, items: unknown, more: object = {}): Answer {
  return {
    page: { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: String(version), ...more }, items },
  }
}

export function status(code: number, reason: string, more: object = {}): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: reason, ...more } as JsonObject
}

export function refused(code: number, reason: string, more: object = {}): Answer {
  const text = JSON.stringify(status(code, reason, more))
  return { error: toApiError({ method: 'GET', path: '/x' }, { status: code, text }) }
}
