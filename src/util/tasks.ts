/** Tasks that belong together: started here, stopped together, and none of them forgotten. Nothing floats. */

export class TaskGroup {
  readonly #controller = new AbortController()
  /** None of them rejects. */
  readonly #tasks = new Set<Promise<void>>()
  readonly #onFailure: (error: unknown) => void

  /** `onFailure` is told of each task that ends with an error before the group is stopped. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  run(task: (signal: AbortSignal) => Promise<unknown>): void {
    const running = task(this.signal).then(
      () => {},
      (error: unknown) => {
        if (!this.signal.aborted) this.#onFailure(error)
      },
    )
    this.#tasks.add(running)
    void running.finally(() => this.#tasks.delete(running))
  }

  /** Asks all of them to end, and waits until they have. */
  async stop(): Promise<void> {
    this.#controller.abort()
    await Promise.all(this.#tasks)
  }
}
