/**
 * The definitions of custom resources: which there are, and what happens to them. Of each only the metadata is asked for, as
 * definitions are large: what follows from a change is for discovery to say. Used by observe-resources.ts.
 */
import { isForbidden } from '../client/api-error.ts'
import { describeError } from '../core/handling/outcomes.ts'
import type { ReflectedEvent } from '../core/watching/events.ts'
import { KnownObjects } from '../core/watching/known-objects.ts'
import type { WatchState } from '../core/watching/observer.ts'
import { reflect } from '../core/watching/reflect.ts'
import { definitionsResource } from '../kube/backbone.ts'
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
  /** Kept from one watch to the next, so that what goes in between is missed. */
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
  async follow(signal: AbortSignal): Promise<void> {
    const { session, clock, random, settings, logger } = this.#runtime
    const refused = new AbortController()
    const stop = () => refused.abort()
    signal.addEventListener('abort', stop, { once: true, signal: refused.signal })
    const observer = {
      watchStateChanged: (state: WatchState) => {
        if (state.type !== 'broken') return
        if (isForbidden(state.error)) refused.abort()
        else if (state.attempt === 2) {
          logger.warn(`Definitions of custom resources cannot be watched for now: ${describeError(state.error)}`)
        }
      },
      watchWarned: (message: string) => logger.warn(message),
    }
    const { watching } = settings
    const scope = { resource: definitionsResource, namespace: undefined, metadataOnly: true, known: this.#known }
    await reflect(
      { session, clock, random, watching, observer, ...scope },
      (event) => this.#take(event),
      refused.signal,
    )
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
