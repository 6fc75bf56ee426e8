/**
 * Lets clients render the metrics in turns, so that they take a small part of the event loop however often they ask: the operator's work comes first.
 * Requests that wait for the same format share one text. Called by serve-metrics.ts.
 */
import { KopfError } from '../errors.ts'
import { type Clock, monotonicMs, trySleep } from '../util/async/clock.ts'
import { withTimeout } from '../util/async/with-timeout.ts'
import { type ExpositionFormat, negotiateFormat } from './negotiation.ts'
import type { MetricsSource } from './serve-metrics.ts'

type Rendering = Awaited<ReturnType<MetricsSource['render']>>

interface RenderingsContext {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The pause after a rendering, as a multiple of its time: so that renderings take at most a twentieth of the event loop. */
const pauseFactor = 19
/** Rendering may also wait, for example for a registry of another library. Such a wait does not load the event loop. */
const maxPauseMs = 1000
/** Prometheus gives up after 10 seconds by default. */
const timeoutMs = 10_000

export class Renderings {
  readonly #source: MetricsSource
  readonly #context: RenderingsContext
  /** Renderings that have not begun yet, by format. */
  readonly #waiting = new Map<ExpositionFormat, Promise<Rendering>>()
  /** Resolves when the next rendering may begin. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(source: MetricsSource, context: RenderingsContext) {
    this.#source = source
    this.#context = context
  }

  render(accept: string | undefined): Promise<Rendering> {
    const key = negotiateFormat(accept)
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) return waiting
    let tookMs = 0
    const rendering = this.#turn.then(async () => {
      this.#waiting.delete(key)
      const startedMs = monotonicMs()
      try {
        return await this.#renderInTime(accept)
      } finally {
        tookMs = monotonicMs() - startedMs
      }
    })
    this.#waiting.set(key, rendering)
    const pause = () => trySleep(this.#context.clock, Math.min(tookMs * pauseFactor, maxPauseMs), this.#context.signal)
    this.#turn = rendering.then(pause, pause)
    return rendering
  }

  async #renderInTime(accept: string | undefined): Promise<Rendering> {
    let rendered: Rendering | undefined
    const work = this.#source.render(accept).then((result) => {
      rendered = result
    })
    await withTimeout(this.#context.clock, timeoutMs, work)
    if (rendered !== undefined) return rendered
    throw new KopfError(
      'KOPF_METRICS_ENDPOINT',
      `Cannot serve metrics: they are not ready after ${timeoutMs / 1000} seconds; check settings.metrics.registry`,
    )
  }
}
