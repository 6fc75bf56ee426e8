import { Operator } from 'kopf'

/** What is kept in memory of each object; the first one is the operator's own. */
class Memo {
  #events = 0
  readonly everybody: Set<string>

  constructor(everybody = new Set<string>()) {
    this.everybody = everybody
  }

  /** Makes the memo of each object: it counts its own events, and all share the list of names. */
  clone(): Memo {
    return new Memo(this.everybody)
  }

  note(name: string): void {
    this.#events += 1
    this.everybody.add(name)
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
  logger.info(`${memo.take()} events, one of ${memo.everybody.size} objects`)
})

kopf.on.cleanup(({ memo, logger }) => logger.info(`Seen: ${[...memo.everybody].sort().join(', ')}`))

export default kopf
