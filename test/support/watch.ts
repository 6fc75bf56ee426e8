/** The event stream of a watch. Tests read its events one by one, each with a timeout. */
import type http from 'node:http'
import type { Body } from './answers.ts'

export interface WatchEvent {
  readonly type: string
  readonly object: Body
}

const defaultTimeoutMs = 10_000

export class Watch {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** All lines so far, including those that are not read yet. */
  readonly lines: string[] = []

  readonly #response: http.IncomingMessage
  readonly #show: (value: unknown) => Body
  /** Index of the next line to read. */
  #read = 0
  #rest = ''
  #isOver = false
  #wake: () => void = () => {}

  constructor(response: http.IncomingMessage, show: (value: unknown) => Body) {
    this.#response = response
    this.#show = show
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    response.setEncoding('utf8')
    response.on('data', (text: string) => this.#take(text))
    // 'close' is always the last event; an abort also emits 'error'.
    response.on('error', () => {})
    response.on('close', () => this.#finish())
  }

  /** The next event; rejects if none arrives in time or the stream ends. */
  async next(timeoutMs: number = defaultTimeoutMs): Promise<WatchEvent> {
    const event = await this.#nextOrEnd(timeoutMs)
    if (event === undefined) throw new Error('The watch ended before the expected event')
    return event
  }

  async take(count: number, timeoutMs: number = defaultTimeoutMs): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    while (events.length < count) events.push(await this.next(timeoutMs))
    return events
  }

  /** Events up to and including the first that satisfies the condition. */
  async until(isLast: (event: WatchEvent) => boolean, timeoutMs: number = defaultTimeoutMs): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    do events.push(await this.next(timeoutMs))
    while (!isLast(events.at(-1)!))
    return events
  }

  /** The remaining events. Resolves when the server ends the stream. */
  async rest(timeoutMs: number = defaultTimeoutMs): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    for (;;) {
      const event = await this.#nextOrEnd(timeoutMs)
      if (event === undefined) return events
      events.push(event)
    }
  }

  /** The body of a refused watch. */
  async body(timeoutMs: number = defaultTimeoutMs): Promise<Body> {
    while (!this.#isOver) await this.#change(timeoutMs)
    return this.#show(JSON.parse([...this.lines, this.#rest].join('\n')))
  }

  /** Whether the server has ended the response properly. */
  get isComplete(): boolean {
    return this.#response.complete
  }

  close(): void {
    this.#response.destroy()
  }

  async #nextOrEnd(timeoutMs: number): Promise<WatchEvent | undefined> {
    while (this.#read === this.lines.length) {
      if (this.#isOver) return undefined
      await this.#change(timeoutMs)
    }
    const line = this.lines[this.#read++]!
    return this.#show(JSON.parse(line)) as unknown as WatchEvent
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    this.lines.push(...lines)
    this.#wake()
  }

  #finish(): void {
    this.#isOver = true
    this.#wake()
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`The watch was silent for ${timeoutMs} ms`)), timeoutMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
