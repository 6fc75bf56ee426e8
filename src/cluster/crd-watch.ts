/**
 * The definitions of custom resources: which there are, and what happens to them. Of each only the metadata is asked for, as
 * definitions are large: what follows from a change is for discovery to say. Used by resource-observer.ts.
 */
import { isForbidden } from '../client/api-error.ts'
import { crdsResource } from '../kube/resources/well-known.ts'
import type { Context } from '../objects/context.ts'
import { describeError } from '../util/log/describe-error.ts'
import { KnownObjects } from '../watching/store.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { watchMetadata } from './metadata-watch.ts'

/** A definition is named after what it defines: `databases.example.com`. */
interface ServedDefinition {
  readonly group: string
  readonly plural: string
}

interface WatchedCrd extends ServedDefinition {
  readonly uid: string | undefined
  /** Grows with every change of what it says, and with no other. */
  readonly generation: number | undefined
}

export interface CrdWatchOptions {
  /** It is there. `isChanged`: it says something else than it did, or is another one of the same name. */
  readonly onSeen: (defined: ServedDefinition, isChanged: boolean) => void
  readonly onGone: (defined: ServedDefinition) => void
}

export class CrdWatch {
  readonly #context: Context
  readonly #options: CrdWatchOptions
  /** By name. */
  readonly #definitions = new Map<string, WatchedCrd>()
  readonly #known = new KnownObjects()

  constructor(context: Context, options: CrdWatchOptions) {
    this.#context = context
    this.#options = options
  }

  /** Those in a group. */
  in(group: string): readonly ServedDefinition[] {
    return [...this.#definitions.values()].filter((one) => one.group === group)
  }

  /** Resolves when the signal is aborted, or when we may not see them. */
  follow(signal: AbortSignal): Promise<void> {
    const take = (event: ReflectedEvent) => this.#take(event)
    const onState = (state: WatchState) => this.#report(state)
    return watchMetadata(this.#context, { resource: crdsResource, known: this.#known, take, onState }, signal)
  }

  #report(state: WatchState): void {
    if (state.type !== 'broken' || state.attempt !== 2 || isForbidden(state.error)) return
    const why = describeError(state.error)
    this.#context.logger.warn(`Definitions of custom resources cannot be watched for now: ${why}`)
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

function parseName(name: string): ServedDefinition {
  const [plural = '', ...group] = name.split('.')
  return { plural, group: group.join('.') }
}
