/**
 * The data of the present view, kept up to date by one stream of server-sent events. When the stream fails, the view is fetched: the status
 * of the response says whether the session has ended, the user is denied, or the operator is gone. The page reconnects by itself.
 */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ApiProblem, ViewName, Views } from '../dashboard/protocol.ts'
import { expireSession, fetchJson, RefusedError, session } from './session.ts'

/** `polling`: streams do not get through, for example because of a proxy; the view is fetched every 2 seconds. */
export type Connection = 'connecting' | 'live' | 'polling' | 'gone' | 'refused' | 'paused'

export const connection = signal<Connection>('connecting')

/** Why the view was refused, in words of the operator. */
export const refusal = signal<{ readonly isDenied: boolean; readonly message: string } | undefined>(undefined)

/** When the operator did not answer for the first time. */
export const goneSinceMs = signal<number | undefined>(undefined)

/** Whether the user has stopped the updates. */
export const isPaused = signal(false)

interface ReceivedView {
  readonly view: ViewName
  readonly search: string
  readonly data: unknown
}

const received = signal<ReceivedView | undefined>(undefined)

// The data of one user is not shown to the next one.
session.subscribe(({ type }) => {
  if (type !== 'open') received.value = undefined
})

const retryMs = 1000
const pollMs = 2000
/** Streams that ended before their first event, after which the view is polled. */
const maxEmptyStreams = 2

class Subscription {
  readonly #view: ViewName
  readonly #search: string
  readonly #abort = new AbortController()
  #source: EventSource | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #emptyStreams = 0

  constructor(view: ViewName, search: string) {
    this.#view = view
    this.#search = search
    this.#listen()
  }

  close(): void {
    this.#abort.abort()
    this.#source?.close()
    clearTimeout(this.#timer)
  }

  #listen(): void {
    let isEmpty = true
    const source = new EventSource(`api/stream?view=${this.#view}${this.#search && `&${this.#search}`}`)
    this.#source = source
    source.addEventListener('view', (event) => {
      isEmpty = false
      this.#emptyStreams = 0
      this.#accept(JSON.parse((event as MessageEvent<string>).data), 'live')
    })
    source.addEventListener('problem', (event) => {
      isEmpty = false
      this.#emptyStreams = 0
      this.#explain(JSON.parse((event as MessageEvent<string>).data))
    })
    source.addEventListener('error', () => {
      source.close()
      if (isEmpty) this.#emptyStreams += 1
      void this.#fetch()
    })
  }

  /** A problem of a stream that stays open: the view may be sent again later. */
  #explain({ code, message }: ApiProblem): void {
    if (code === 'KOPF_DASHBOARD_LOGIN') {
      expireSession()
      return
    }
    connection.value = 'refused'
    refusal.value = { isDenied: code === 'KOPF_DASHBOARD_ACCESS', message }
    goneSinceMs.value = undefined
  }

  async #fetch(): Promise<void> {
    try {
      const path = `api/views/${this.#view}${this.#search && `?${this.#search}`}`
      const data = await fetchJson(path, { signal: this.#abort.signal })
      this.#accept(data, 'polling')
      if (this.#emptyStreams > maxEmptyStreams) this.#after(pollMs, () => void this.#fetch())
      else this.#after(this.#emptyStreams * retryMs, () => this.#listen())
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#refuse(error)
    }
  }

  #refuse(error: unknown): void {
    const status = error instanceof RefusedError ? error.status : undefined
    this.#emptyStreams = 0
    if (status === 401) {
      expireSession()
      return
    }
    if (status === undefined) {
      connection.value = 'gone'
      goneSinceMs.value ??= Date.now()
    } else {
      connection.value = 'refused'
      refusal.value = { isDenied: status === 403, message: (error as RefusedError).message }
    }
    // A permission may be granted, and an operator that restarts is back within seconds.
    this.#after(status === undefined ? retryMs : retryMs * 5, () => void this.#fetch())
  }

  #accept(data: unknown, state: Connection): void {
    connection.value = state
    refusal.value = undefined
    goneSinceMs.value = undefined
    received.value = { view: this.#view, search: this.#search, data }
    if (!isPaused.value) return
    this.close()
    connection.value = 'paused'
  }

  #after(delayMs: number, next: () => void): void {
    if (!this.#abort.signal.aborted) this.#timer = setTimeout(next, delayMs)
  }
}

/**
 * The newest data of the view; undefined until the first arrives. While a changed query is loaded, `data` is the one of the former query, so that
 * the page does not flicker: compare `search` where that matters.
 */
export function useLive<V extends ViewName>(
  view: V,
  search: string,
): { readonly data: Views[V] | undefined; readonly search: string } {
  const paused = isPaused.value
  useEffect(() => {
    const isKnown = received.value?.view === view && received.value.search === search
    if (paused && isKnown) {
      connection.value = 'paused'
      return undefined
    }
    connection.value = 'connecting'
    refusal.value = undefined
    const subscription = new Subscription(view, search)
    return () => subscription.close()
  }, [view, search, paused])
  const last = received.value
  return last?.view === view ? { data: last.data as Views[V], search: last.search } : { data: undefined, search }
}
