/** Waits until an operator has handled the gadgets of a namespace, and checks each of them against the contract. */
import { type Access, Connection } from '../lib/connection.ts'
import { check } from '../lib/measure.ts'
import { type Gadget, pathOf } from '../lib/schemaless-gadgets.ts'

/** Counts the objects whose `status.observed` equals `spec.size`. */
export class HandledWatch {
  readonly #handled = new Set<string>()
  readonly #connection: Connection
  #rest = ''
  #isSatisfied: () => boolean = () => false
  #resolve: () => void = () => {}
  #lastAt = 0

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  static async open(access: Access, namespace: string, labelSelector = ''): Promise<HandledWatch> {
    const watch = new HandledWatch(await Connection.open(access))
    const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`
    const path = `${pathOf(namespace)}?watch=true&resourceVersion=0${selector}`
    watch.#connection.stream({ path }, (bytes) => watch.#receive(bytes.toString())).catch(() => {})
    return watch
  }

  /** Waits until `count` objects are handled. Resolves with the time of the last one, as of `performance.now()`. */
  async until(count: number, timeoutMs: number): Promise<number> {
    this.#isSatisfied = () => this.#handled.size >= count
    if (!this.#isSatisfied()) {
      const done = new Promise<void>((resolve) => {
        this.#resolve = resolve
      })
      const timer = setTimeout(() => this.#resolve(), timeoutMs)
      await done
      clearTimeout(timer)
    }
    check(this.#handled.size >= count, `only ${this.#handled.size} of ${count} objects were handled in time`)
    return this.#lastAt
  }

  close(): void {
    this.#connection.close()
  }

  #receive(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#take((JSON.parse(line) as { object: Gadget }).object)
    if (this.#isSatisfied()) this.#resolve()
  }

  #take({ metadata, spec, status }: Gadget): void {
    if (status?.observed !== spec.size || this.#handled.has(metadata.name)) return
    this.#handled.add(metadata.name)
    this.#lastAt = performance.now()
  }
}

/** Checks the contract for each object, so that a fast but wrong operator gets no figures. */
export function checkHandled(gadgets: readonly Gadget[], count: number): void {
  check(gadgets.length === count, `there are ${gadgets.length} objects instead of ${count}`)
  for (const { metadata, spec, status } of gadgets) {
    check(status?.observed === spec.size, `${metadata.name}: observed ${status?.observed} of ${spec.size}`)
    check(metadata.finalizers?.length === 1, `${metadata.name} does not have exactly one finalizer`)
  }
}
