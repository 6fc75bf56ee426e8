/** In a thread: a signal that somebody in another thread aborts. */
import { createSharedController } from '../../util/shared-signal.ts'
import { type Carried, restore } from './carried-errors.ts'

const isAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!.get!

export class RemoteSignal {
  readonly #controller = createSharedController()

  /** Whoever asks makes `poll` look for what has come: no event reaches code that never lets go of its thread. */
  constructor(poll: () => void) {
    const { signal } = this.#controller
    const aborted = (): boolean => {
      poll()
      return isAborted.call(signal) as boolean
    }
    const throwIfAborted = (): void => {
      if (aborted()) throw signal.reason
    }
    Object.defineProperties(signal, { aborted: { get: aborted }, throwIfAborted: { value: throwIfAborted } })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: Carried): void {
    this.#controller.abort(restore(reason))
  }
}
