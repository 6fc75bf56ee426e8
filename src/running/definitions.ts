/**
 * The definitions of custom resources: which there are, and what happens to them. Of each only the metadata is asked for, as
 * definitions are large: what follows from a change is for discovery to say. Used by observe-resources.ts.
 */
import { isForbidden } from '../client/api-error.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchState } from '../core/watching/observer.ts'
import { definitionsResource } from '../kube/backbone.ts'
import { observe } from './observe.ts'
import type { Runtime } from './runtime.ts'

/** A definition is named after what it defines: `databases.example.com`. */
interface Defined {
  readonly group: string
  readonly plural: string
}

interface Definition extends Defined {
  readonly uid: string | undefined
  /** Grows with every change of what it says, and with no other. */
  readonly generation: number | undefined
}

export interface DefinitionsOptions {
  /** It is there. `isChanged`: it says something else than it did, or is another one of the same name. */
  readonly onSeen: (defined: Defined, isChanged: boolean) => void
  readonly onGone: (defined: Defined) => void
}

export class Definitions {
  readonly #runtime: Runtime
  readonly #options: DefinitionsOptions
  /** By name. */
  readonly #definitions = new Map<string, Definition>()
  readonly #known = new KnownObjects()

  constructor(runtime: Runtime, options: DefinitionsOptions) {
    this.#runtime = runtime
    this.#options = options
  }

  /** Those in a group. */
  in(group: string): readonly Defined[] {
    return [...this.#definitions.values()].filter((one) => one.group === group)
  }

  /** Resolves when the signal is aborted, or when we may not see them. */
  follow(signal: AbortSignal): Promise<void> {
    const take = (event: ReflectedEvent) => this.#take(event)
    const onState = (state: WatchState) => this.#report(state)
    return observe(this.#runtime, { resource: definitionsResource, known: this.#known, take, onState }, signal)
  }

  #report(state: WatchState): void {
    if (state.type !== 'broken' || state.attempt !== 2 || isForbidden(state.error)) return
    const why = describeError(state.error)
    this.#runtime.logger.warn(`Definitions of custom resources cannot be watched for now: ${why}`)
  }

  #take(event: ReflectedEvent): void {
    if (event.type === 'listed') return
    const { metadata } = event.object
    const { name = '' } = metadata
    const defined = parseName(name)
    if (event.type === 'deleted') {
      this.#definitions.delete(name)
      this.#options.onGone(defined)
      return
    }
    const known = this.#definitions.get(name)
    const { uid, generation } = metadata
    this.#definitions.set(name, { ...defined, uid, generation })
    this.#options.onSeen(defined, known !== undefined && (known.uid !== uid || known.generation !== generation))
  }
}

function parseName(name: string): Defined {
  const [plural = '', ...group] = name.split('.')
  return { plural, group: group.join('.') }
}
