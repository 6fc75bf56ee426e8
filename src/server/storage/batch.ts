/** Log lines that are written together, and a promise for their completion. */
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
    // An unhandled rejection would end the process; often there is no waiting request.
    this.done.catch(() => {})
  }
}
