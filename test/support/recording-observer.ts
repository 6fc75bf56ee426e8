/** An observer of a run that records the catch-up events. */
import type { ObjectOutcome, Observer } from 'kopf'

export class RecordingObserver {
  readonly servers: Array<string | undefined> = []
  /** Handler types by plural. */
  readonly kinds: Record<string, readonly string[]> = {}
  readonly objects: Record<string, number> = {}
  readonly outcomes: Partial<Record<ObjectOutcome, number>> = {}
  found = 0
  settled = 0

  readonly observer: Observer = {
    connected: ({ server }) => void this.servers.push(server),
    resourceServed: ({ resource, handlerTypes }) => void Object.assign(this.kinds, { [resource.plural]: handlerTypes }),
    listed: ({ resource, objects }) => void Object.assign(this.objects, { [resource.plural]: objects }),
    objectFound: () => {
      this.found += 1
    },
    objectHandled: ({ outcome }) => {
      this.settled += 1
      this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
    },
  }

  /** Every found object is handled. */
  get isSettled(): boolean {
    return this.settled === this.found
  }
}
