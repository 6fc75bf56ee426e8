/** Combines the listeners of a run into one observer. It has only the methods that at least one listener has: other events cost nothing. */
import type { Observer } from '../observer.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'

type EventName = keyof Observer
type Listener = (event: never) => void

export const eventNames: Readonly<Record<EventName, true>> = {
  phaseChanged: true,
  connected: true,
  leadershipChanged: true,
  peeringChanged: true,
  resourceServed: true,
  streamOpened: true,
  streamResumed: true,
  streamFailed: true,
  streamEnded: true,
  streamReceived: true,
  listed: true,
  eventReceived: true,
  stateObserved: true,
  objectQueued: true,
  staleStateDropped: true,
  workQueued: true,
  workDropped: true,
  processingStarted: true,
  decisionMade: true,
  processingFinished: true,
  objectForgotten: true,
  objectFound: true,
  objectHandled: true,
  objectTooLarge: true,
  handlerStarted: true,
  handlerFinished: true,
  handlerCutOff: true,
  requestFinished: true,
  patchWritten: true,
  eventPosted: true,
  daemonStarted: true,
  daemonStopped: true,
  timerFired: true,
  childApplied: true,
  childDeleted: true,
  contentionFound: true,
  reviewStarted: true,
  reviewAnswered: true,
}

export class Observers {
  /** The combined observer, to which all parts of the run emit their events. */
  readonly all: Observer = {}
  readonly #logger: Logger
  readonly #failed = new Set<EventName>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Adds a listener. An error of the listener is logged once per event and never reaches the code that emits it. */
  add(listener: Observer): void {
    for (const name of Object.keys(eventNames) as EventName[]) {
      const listen = listener[name] as Listener | undefined
      if (listen === undefined) continue
      const before = this.all[name] as Listener | undefined
      const guarded = this.#guard(name, listen.bind(listener) as Listener)
      const emit = before === undefined ? guarded : chain(before, guarded)
      Object.assign(this.all, { [name]: emit })
    }
  }

  #guard(name: EventName, listen: Listener): Listener {
    return (event) => {
      try {
        listen(event)
      } catch (error) {
        if (!this.#failed.has(name)) {
          this.#logger.error(`The observer has failed in "${name}": ${describeError(error)}`, { error })
        }
        this.#failed.add(name)
      }
    }
  }
}

function chain(first: Listener, second: Listener): Listener {
  return (event) => {
    first(event)
    second(event)
  }
}
