import { Operator } from 'kopf'

/** In-memory data: one instance for the operator, and one for each object. */
class Memo {
  #events = 0
  readonly names: Set<string>

  constructor(names = new Set<string>()) {
    this.names = names
  }

  /** Creates the memo of an object: with its own counter, and the shared set of names. */
  clone(): Memo {
    return new Memo(this.names)
  }

  note(name: string): void {
    this.#events += 1
    this.names.add(name)
  }

  take(): number {
    const events = this.#events
    this.#events = 0
    return events
  }
}

const kopf = new Operator({ memo: () => new Memo() })

kopf.on.event('kopfexamples', ({ name, memo }) => memo.note(name))

kopf.timer('kopfexamples', { interval: '5s', initialDelay: '1s', finalizer: false }, ({ memo, logger }) => {
  logger.info(`${memo.take()} events, one of ${memo.names.size} objects`)
})

kopf.on.cleanup(({ memo, logger }) => logger.info(`Seen: ${[...memo.names].sort().join(', ')}`))

export default kopf
