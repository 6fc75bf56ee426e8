/** The body of a watch with random faults: cut inside characters, silent, or with malformed lines. */
import type { SkippingClock } from '../../src/testing/skipping-clock.ts'
import type { Random } from './random.ts'
import type { Weather } from './random-faults.ts'

interface Shown {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string }
}

export interface WatchBodyOptions {
  readonly clock: SkippingClock
  readonly random: Random
  readonly weather: Weather
  readonly signal: AbortSignal | undefined
  readonly latencyMs: readonly [low: number, high: number]
  readonly over: () => void
  /** Called when the operator receives a complete event. */
  readonly shown: (type: string, object: Shown) => void
}

type Result = IteratorResult<Uint8Array, undefined>
const done: Result = { done: true, value: undefined }

interface Line {
  readonly text: string
  readonly type: string
  readonly uid: string
  readonly name: string
  readonly object?: Shown
}

const expired = {
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old' },
}

/** Lines that no correct server sends. */
const oddities: readonly string[] = [
  '',
  '\r',
  'null',
  '[]',
  '{"type":"STRANGE","object":{"kind":"Widget","metadata":{"name":"strange"}}}',
  '{"type":"ADDED","object":null}',
  '{"type":"MODIFIED","object":{"kind":"Widget"}}',
  '{"type":"MODIFIED","object":{"kind":"Gadget","apiVersion":"v1","metadata":{"name":"a0","uid":"u"}}}',
  '{"type":"DELETED","object":{"kind":"Status","apiVersion":"v1","code":200}}',
  '{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}}',
  '{"type":"BOOKMARK","object":{"kind":"Widget","metadata":{}}}',
  '{"type":"DELETED","object":{"kind":"Widget","metadata":{"name":"nobody","uid":"none"}}}',
  '{"type":"MODIFIED","object":{"kind":"Widget","metadata":{"name":7}}}',
]

export class WatchBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #options: WatchBodyOptions
  #ending: 'cut' | 'silence' | 'end' | undefined
  #wake: ((result: Result | Promise<Result>) => void) | undefined
  #isOver = false

  constructor(body: AsyncIterable<Uint8Array>, options: WatchBodyOptions) {
    this.#chunks = body[Symbol.asyncIterator]()
    this.#options = options
    options.signal?.addEventListener('abort', () => this.#close(done), { once: true })
  }

  strike(ending: 'cut' | 'silence'): void {
    this.#ending ??= ending
    if (this.#ending === 'cut') this.#close(this.#broken())
  }

  next(): Promise<Result> {
    if (this.#isOver) return Promise.resolve(done)
    if (this.#ending !== undefined) return this.#endNow()
    return new Promise((resolve, reject) => {
      this.#wake = resolve
      this.#chunks.next().then(async (result) => {
        if (!result.done) await this.#travel()
        // The body became silent or was cut while this chunk was in transit, so the chunk is lost.
        if (this.#ending !== undefined || this.#isOver) return
        if (result.done) this.#close(done)
        else resolve(this.#deform(result.value))
      }, reject)
    })
  }

  /** Delays a chunk: events may arrive before or long after the responses to their writes. */
  async #travel(): Promise<void> {
    const { clock, random, weather, latencyMs } = this.#options
    await clock.sleep(random.between(...latencyMs) + (weather.strikes('late') ? random.between(0, 10_000) : 0))
  }

  return(): Promise<Result> {
    this.#close(done)
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #endNow(): Promise<Result> {
    if (this.#ending === 'silence') return new Promise((resolve) => (this.#wake = resolve))
    const result = this.#ending === 'end' ? Promise.resolve(done) : this.#broken()
    this.#close(done)
    return result
  }

  #broken(): Promise<Result> {
    return Promise.reject(Object.assign(new Error('socket hang up (simulated)'), { code: 'ECONNRESET' }))
  }

  #close(result: Result | Promise<Result>): void {
    if (result instanceof Promise) result.catch(() => {})
    if (this.#isOver) return
    this.#isOver = true
    this.#wake?.(result)
    void this.#chunks.return?.()
    this.#options.over()
  }

  #deform(chunk: Uint8Array): Result {
    const { weather } = this.#options
    const lines = this.#read(chunk)
    if (weather.strikes('goneEvent')) {
      this.#ending = 'end'
      return { done: false, value: Buffer.from(`${JSON.stringify(expired)}\n`) }
    }
    if (chunk.length > 0 && weather.strikes('cut')) return this.#cut(lines)
    if (chunk.length > 0 && weather.strikes('silent')) {
      this.#ending = 'silence'
      return { done: false, value: new Uint8Array(0) }
    }
    let sent = lines
    if (weather.has('noBookmarks')) sent = sent.filter(({ type }) => type !== 'BOOKMARK')
    if (weather.has('noise')) sent = this.#disturb(sent)
    this.#show(sent)
    return { done: false, value: Buffer.from(sent.map(({ text }) => `${text}\n`).join('')) }
  }

  /** Some complete lines and a part of the next one, cut at any byte. */
  #cut(lines: readonly Line[]): Result {
    const { random } = this.#options
    this.#ending = random.chance(0.5) ? 'cut' : random.chance(0.5) ? 'end' : 'silence'
    const bytes = Buffer.from(lines.map(({ text }) => `${text}\n`).join(''))
    const length = random.below(bytes.length)
    const whole = bytes.subarray(0, length).toString('utf8').split('\n').length - 1
    this.#show(lines.slice(0, whole))
    return { done: false, value: bytes.subarray(0, length) }
  }

  #show(lines: readonly Line[]): void {
    for (const { type, uid, object } of lines) if (uid !== '' && object) this.#options.shown(type, object)
  }

  /** Repeats lines, reorders them across objects, and inserts malformed ones. */
  #disturb(lines: readonly Line[]): Line[] {
    const { weather, random } = this.#options
    const sent: Line[] = []
    for (const line of lines) {
      if (weather.strikes('noise')) sent.push({ text: random.pick(oddities), type: '', uid: '', name: '' })
      const before = sent.at(-1)
      const isSwappable = before !== undefined && before.uid !== '' && line.uid !== '' && before.name !== line.name
      if (isSwappable && weather.strikes('noise')) sent.splice(-1, 0, line)
      else sent.push(line)
      if (line.type !== '' && line.type !== 'BOOKMARK' && weather.strikes('noise')) sent.push(line)
    }
    return sent
  }

  #read(chunk: Uint8Array): Line[] {
    const text = Buffer.from(chunk).toString('utf8')
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const { type, object } = JSON.parse(line)
        return { text: line, type, uid: object?.metadata?.uid ?? '', name: object?.metadata?.name ?? '', object }
      })
  }
}
