/**
 * Server-sent events: the clients of each view, and the loop that computes a view again when something has changed. A view is computed once for all clients that
 * see the same, at most four times a second, and in a small share of the time. A client that does not read is disconnected.
 */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { KopfError } from '../../errors.ts'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { describeError } from '../../util/log/describe-error.ts'

/** One view as one kind of viewer sees it. */
export interface StreamedView {
  /** Equal for clients that get the same JSON. */
  readonly key: string
  readonly compute: () => Promise<object>
}

export interface StreamClient {
  readonly view: StreamedView
  readonly response: ServerResponse
  /** The id of the last event that the browser has received, from `Last-Event-ID`. */
  readonly lastId: string | undefined
  /** Whether the session still exists and its token is still accepted. */
  readonly check: () => Promise<boolean>
}

export interface StreamTimes {
  /** The shortest time between two updates. */
  readonly updateMs: number
  /** How often the session of each stream is checked. */
  readonly checkMs: number
}

const defaultTimes: StreamTimes = { updateMs: 250, checkMs: 20_000 }

/** Views are computed in at most a twentieth of the time. */
const restFactor = 19
/** Views depend on the time, too: they are computed again after this time even if nothing has happened. */
const refreshMs = 5000
/** Shorter than the time after which the endpoint closes an idle connection. */
const heartbeatMs = 10_000
/** A client that does not read is disconnected when this much waits for it, or after some time. */
const maxBufferedBytes = 2 * 1024 * 1024
const maxBlockedMs = 30_000

interface ClientStream extends StreamClient {
  sentId: string | undefined
  blockedSinceMs: number | undefined
  beatAtMs: number
  checkedAtMs: number
}

interface StreamGroup {
  readonly view: StreamedView
  readonly streams: Set<ClientStream>
  revision: number
  computedAtMs: number
  event: { readonly id: string; readonly text: string } | undefined
}

export class EventStreams {
  readonly #revision: () => number
  readonly #signal: AbortSignal
  readonly #times: StreamTimes
  readonly #groups = new Map<string, StreamGroup>()
  #count = 0
  #isRunning = false

  /** `revision` changes when a view may have changed. */
  constructor(revision: () => number, signal: AbortSignal, times: StreamTimes = defaultTimes) {
    this.#revision = revision
    this.#times = times
    this.#signal = signal
  }

  get count(): number {
    return this.#count
  }

  /** Sends the headers, and the view each time it changes, until the client disconnects. */
  open(client: StreamClient, onClosed: () => void): void {
    const { response, view, lastId } = client
    const nowMs = monotonicMs()
    const stream: ClientStream = {
      ...client,
      sentId: lastId,
      blockedSinceMs: undefined,
      beatAtMs: nowMs,
      checkedAtMs: nowMs,
    }
    const group = this.#groupOf(view)
    group.streams.add(stream)
    this.#count += 1
    response.once('close', () => {
      group.streams.delete(stream)
      if (group.streams.size === 0) this.#groups.delete(view.key)
      this.#count -= 1
      onClosed()
    })
    response.flushHeaders()
    // The browser asks again after this time when the connection was lost.
    response.write('retry: 2000\n\n')
    if (group.event !== undefined) send(stream, group.event)
    // The first event answers a request: it does not wait for the pause after the last update of other views.
    else void this.#update(group)
    if (!this.#isRunning) void this.#run()
  }

  /** Ends all streams. */
  close(): void {
    for (const { streams } of this.#groups.values()) for (const { response } of streams) response.destroy()
  }

  #groupOf(view: StreamedView): StreamGroup {
    const known = this.#groups.get(view.key)
    if (known !== undefined) return known
    const group: StreamGroup = { view, streams: new Set(), revision: -1, computedAtMs: -Infinity, event: undefined }
    this.#groups.set(view.key, group)
    return group
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#groups.size > 0 && !this.#signal.aborted) {
      const beganMs = monotonicMs()
      for (const group of [...this.#groups.values()]) await this.#update(group)
      this.#tend()
      const workedMs = monotonicMs() - beganMs
      await systemClock
        .sleep(Math.max(this.#times.updateMs, workedMs * restFactor), this.#signal, { isBackground: true })
        .catch(() => {})
    }
    this.#isRunning = false
  }

  async #update(group: StreamGroup): Promise<void> {
    const nowMs = monotonicMs()
    const revision = this.#revision()
    if (group.revision !== revision || nowMs - group.computedAtMs >= refreshMs) {
      group.revision = revision
      group.computedAtMs = nowMs
      group.event = await computeEvent(group.view)
    }
    if (group.event === undefined) return
    for (const stream of group.streams) send(stream, group.event)
  }

  /** Heartbeats, the limits of clients that do not read, and the sessions. */
  #tend(): void {
    const nowMs = monotonicMs()
    for (const { streams } of this.#groups.values()) {
      for (const stream of streams) {
        const { response } = stream
        const isStuck = stream.blockedSinceMs !== undefined && nowMs - stream.blockedSinceMs > maxBlockedMs
        if (isStuck || response.writableLength > maxBufferedBytes) {
          response.destroy()
          continue
        }
        if (stream.blockedSinceMs === undefined && nowMs - stream.beatAtMs >= heartbeatMs) {
          stream.beatAtMs = nowMs
          response.write(':\n\n')
        }
        if (nowMs - stream.checkedAtMs >= this.#times.checkMs) {
          stream.checkedAtMs = nowMs
          void checkStream(stream)
        }
      }
    }
  }
}

/** Compares the JSON with the last one by its digest, which is also the id of the event: a browser that reconnects gets only what has changed. */
async function computeEvent({ compute }: StreamedView): Promise<{ readonly id: string; readonly text: string }> {
  try {
    return toEvent('view', await compute())
  } catch (error) {
    const code = error instanceof KopfError ? error.code : 'KOPF_DASHBOARD'
    return toEvent('problem', { message: describeError(error), code })
  }
}

function toEvent(type: 'view' | 'problem', data: object): { readonly id: string; readonly text: string } {
  const json = toJsonText(data)
  const id = createHash('sha256').update(json).digest('base64url').slice(0, 22)
  return { id, text: `event: ${type}\nid: ${id}\ndata: ${json}\n\n` }
}

function send(stream: ClientStream, event: { readonly id: string; readonly text: string }): void {
  const { response } = stream
  if (stream.sentId === event.id || response.destroyed) return
  // A client that is behind gets the newest view when it has read the last one.
  if (response.writableNeedDrain) {
    if (stream.blockedSinceMs === undefined) {
      stream.blockedSinceMs = monotonicMs()
      response.once('drain', () => {
        stream.blockedSinceMs = undefined
      })
    }
    return
  }
  stream.sentId = event.id
  stream.beatAtMs = monotonicMs()
  response.write(event.text)
}

async function checkStream({ check, response }: ClientStream): Promise<void> {
  // Without an answer of the API server, nothing more is shown.
  const isValid = await check().catch(() => false)
  if (!isValid && !response.destroyed)
    response.end(toEvent('problem', { message: 'The session has ended', code: 'KOPF_DASHBOARD_LOGIN' }).text)
}
