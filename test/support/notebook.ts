/** An observer of a run that writes down what it is told. */
import type { ObjectOutcome, RunObserver } from 'kopf'

export class Notebook {
  readonly servers: Array<string | undefined> = []
  /** By the plural. */
  readonly kinds: Record<string, readonly string[]> = {}
  readonly objects: Record<string, number> = {}
  readonly outcomes: Partial<Record<ObjectOutcome, number>> = {}
  found = 0
  settled = 0

  readonly observer: RunObserver = {
    connected: (server) => void this.servers.push(server),
    served: ({ plural }, kinds) => void Object.assign(this.kinds, { [plural]: kinds }),
    listed: ({ plural }, objects) => void Object.assign(this.objects, { [plural]: objects }),
    found: () => {
      this.found += 1
    },
    settled: (_, outcome) => {
      this.settled += 1
      this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1
    },
  }

  /** Everything that was found has been settled. */
  get isSettled(): boolean {
    return this.settled === this.found
  }
}
