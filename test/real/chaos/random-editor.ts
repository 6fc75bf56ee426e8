/** Creates, edits, deletes and re-creates random objects directly on the server, without the proxy. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../simulation/random.ts'
import type { Body } from '../../support/answers.ts'
import type { Api } from '../../support/api.ts'

export interface RandomEditorOptions {
  readonly api: Api
  /** The path of the collection. */
  readonly path: string
  readonly group: string
  readonly random: Random
  readonly objects: number
  readonly changesPerSecond: number
}

export class RandomEditor {
  /** Changes that the server has confirmed. */
  changes = 0
  readonly #options: RandomEditorOptions
  #value = 0

  constructor(options: RandomEditorOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random, changesPerSecond, objects } = this.#options
    while (!signal.aborted) {
      const name = `w${random.below(objects)}`
      // Changes fail while the server is down.
      await this.#change(name).catch(() => {})
      await sleep(random.between(0.5, 1.5) * (1000 / changesPerSecond))
    }
  }

  /** Lists all objects, as soon as the server answers. */
  async list(): Promise<Body[]> {
    for (;;) {
      const answer = await this.#options.api.get(this.#options.path).catch(() => undefined)
      if (answer?.status === 200) return answer.body.items
      await sleep(200)
    }
  }

  /** Changes the object, sometimes twice in quick succession, so that the second change comes during the handling of the first. */
  async #change(name: string): Promise<void> {
    const { api, path, group, random } = this.#options
    const kind = random.next()
    const isBurst = random.chance(0.2)
    const own = `${path}/${name}`
    const { status } = await api.get(own)
    if (status === 404) {
      const body = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name }, spec: this.#spec() }
      this.#count(await api.post(path, body))
    } else if (kind < 0.2) {
      this.#count(await api.delete(own))
    } else if (kind < 0.3) {
      this.#count(await api.mergePatch(own, { metadata: { labels: { edit: `e${this.#value}` } } }))
    } else {
      this.#count(await api.mergePatch(own, { spec: this.#spec() }))
      if (isBurst) this.#count(await api.mergePatch(own, { spec: this.#spec() }))
    }
  }

  #count({ status }: { readonly status: number }): void {
    if (status >= 200 && status < 300) this.changes += 1
  }

  /** Mostly a new value, sometimes an earlier one, to cover changes that are reverted. */
  #spec(): { readonly value: number; readonly text: string } {
    const { random } = this.#options
    this.#value += 1
    const value = random.chance(0.3) ? random.below(3) : this.#value + 10
    return { value, text: `größer als ${value} – 値` }
  }
}
