/** What is written together: its lines, and whoever waits for them. */
export class Batch {
  readonly lines: string[] = []
  readonly done: Promise<void>
  resolve: () => void = () => {}
  reject: (error: unknown) => void = () => {}

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    // Often nobody waits.
    this.done.catch(() => {})
  }
}
