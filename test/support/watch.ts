/** The event stream of a watch as the suites read it: one event after the other, each with a deadline. */
import type http from 'node:http'
import type { Body } from './answers.ts'

export interface WatchEvent {
  readonly type: string
  readonly object: Body
}

const patience = 10_000

export class Watch {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** Lines as they came, the ones not read yet included. */
  readonly lines: string[] = []

  readonly #response: http.IncomingMessage
  readonly #show: (value: unknown) => Body
  /** Index into `lines` of the next one to hand out. */
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
    // 'close' comes last in any case; an abort by us also makes an 'error'.
    response.on('error', () => {})
    response.on('close', () => this.#finish())
  }

  /** The next event; rejects if none comes in time or the stream ends. */
  async next(timeoutMs: number = patience): Promise<WatchEvent> {
    const event = await this.#nextOrEnd(timeoutMs)
    if (event === undefined) throw new Error('The watch ended where an event was awaited')
    return event
  }

  async take(count: number, timeoutMs: number = patience): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    while (events.length < count) events.push(await this.next(timeoutMs))
    return events
  }

  /** Events up to and including the first that satisfies the condition. */
  async until(isLast: (event: WatchEvent) => boolean, timeoutMs: number = patience): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    do events.push(await this.next(timeoutMs))
    while (!isLast(events.at(-1)!))
    return events
  }

  /** Everything that is still to come, up to the end of the stream, which the server must bring about. */
  async rest(timeoutMs: number = patience): Promise<WatchEvent[]> {
    const events: WatchEvent[] = []
    for (;;) {
      const event = await this.#nextOrEnd(timeoutMs)
      if (event === undefined) return events
      events.push(event)
    }
  }

  /** The answer as one document, for a watch that was refused. */
  async body(timeoutMs: number = patience): Promise<Body> {
    while (!this.#isOver) await this.#change(timeoutMs)
    return this.#show(JSON.parse([...this.lines, this.#rest].join('\n')))
  }

  /** Whether the server has ended the answer, rather than broken off. */
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
