/** Background tasks that are stopped and awaited together, so that no promise is left unobserved. */

export class TaskGroup {
  readonly #controller = new AbortController()
  /** Running tasks; none of the promises rejects. */
  readonly #tasks = new Set<Promise<void>>()
  readonly #onFailure: (error: unknown) => void

  /** `onFailure` is called for each task that rejects before the group is stopped. */
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

  /** Aborts the signal and waits until all tasks have ended. */
  async stop(): Promise<void> {
    this.#controller.abort()
    await Promise.all(this.#tasks)
  }
}
