/**
 * Adds the metrics of another library to the answer for a scrape: `settings.metrics.registry`, such as a registry of prom-client. An error, a missing
 * response and malformed text of that registry are logged once and do not affect our own metrics.
 */
import type { ForeignRegistry } from '../settings/groups.ts'
import type { Clock } from '../util/async/clock.ts'
import { withTimeout } from '../util/async/with-timeout.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import type { Family } from './exposition.ts'
import { parseExposition } from './parse-exposition.ts'

/** How long a scrape waits for the other registry. Prometheus gives up after 10 seconds by default. */
const maxWaitMs = 3000
const maxTextLength = 16 * 1024 * 1024
/** The number of clashing names that are logged. */
const maxClashes = 20

export interface ForeignMetricsOptions {
  readonly registry: () => ForeignRegistry | null
  readonly clock: Clock
  readonly logger: Logger
}

export class ForeignMetrics {
  readonly #options: ForeignMetricsOptions
  readonly #logged = new Set<string>()
  /** A call that has not ended: it is not repeated, so that calls of a registry that never answers do not pile up. */
  #running: Promise<string> | undefined

  constructor(options: ForeignMetricsOptions) {
    this.#options = options
  }

  /** The families of the other registry. Never rejects. `isTaken`: whether one of our metrics has a sample of this name. */
  async read(isTaken: (name: string) => boolean): Promise<readonly Family[]> {
    const registry = this.#options.registry()
    if (registry === null) return []
    try {
      const text = await this.#readText(registry)
      if (text === undefined) return []
      const isOpenMetrics = String(registry.contentType).toLowerCase().startsWith('application/openmetrics-text')
      const { families, malformed } = parseExposition(text, { isOpenMetrics })
      if (malformed > 0) this.#warn('malformed', `${malformed} lines of it are malformed and are left out`)
      return families.filter((family) => !this.#clashes(family, isTaken))
    } catch (error) {
      this.#warn('failed', `it has failed: ${describeError(error)}`)
      return []
    }
  }

  async #readText(registry: ForeignRegistry): Promise<string | undefined> {
    if (this.#running !== undefined) return undefined
    const running = Promise.resolve(registry.metrics())
    this.#running = running
    const settled = running.finally(() => {
      this.#running = undefined
    })
    settled.catch(() => {})
    const text = await Promise.race([settled, this.#silence(settled)])
    if (text === undefined) {
      this.#warn('silent', `it has not answered within ${maxWaitMs / 1000} seconds, and is left out until it does`)
      return undefined
    }
    if (typeof text !== 'string') throw new TypeError('"metrics()" has not returned a text')
    if (text.length <= maxTextLength) return text
    this.#warn('large', `its text has ${text.length} characters, more than ${maxTextLength}`)
    return undefined
  }

  /** Resolves to undefined when the registry has not answered in time. */
  async #silence(answer: Promise<string>): Promise<undefined> {
    await withTimeout(
      this.#options.clock,
      maxWaitMs,
      answer.then(() => {}),
    )
    return undefined
  }

  /** Ours are kept: dashboards and alerts rely on them. */
  #clashes({ name, textName, samples }: Family, isTaken: (name: string) => boolean): boolean {
    const names = new Set([name, textName])
    for (const { suffix } of samples) names.add(`${name}${suffix}`)
    const clash = [...names].find(isTaken)
    if (clash === undefined) return false
    if (this.#logged.size < maxClashes) {
      this.#warn(
        `clash ${clash}`,
        `the operator itself has the metric "${clash}", which is served instead of the one of the registry`,
      )
    }
    return true
  }

  #warn(topic: string, problem: string): void {
    if (this.#logged.has(topic)) return
    this.#logged.add(topic)
    this.#options.logger.warn(`Cannot serve all metrics of settings.metrics.registry: ${problem}`)
  }
}
