/**
 * Watches CustomResourceDefinitions and reports which exist and which change. Requests only their metadata, because CRDs are
 * large; discovery then reads the served resources. Used by resource-observer.ts.
 */
import { isForbidden } from '../client/api-error.ts'
import { crdsResource } from '../kube/resources/well-known.ts'
import type { Context } from '../objects/context.ts'
import { describeError } from '../util/log/describe-error.ts'
import { KnownObjects } from '../watching/store.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { watchMetadata } from './metadata-watch.ts'

/** The resource that a CRD defines, parsed from the name of the CRD: `databases.example.com`. */
interface CrdName {
  readonly group: string
  readonly plural: string
}

interface WatchedCrd extends CrdName {
  readonly uid: string | undefined
  /** `metadata.generation` grows only when the spec of the CRD changes. */
  readonly generation: number | undefined
}

export interface CrdWatchOptions {
  /** The CRD exists. `isChanged`: its spec has changed, or it is a new CRD with the same name. */
  readonly onSeen: (crd: CrdName, isChanged: boolean) => void
  readonly onGone: (crd: CrdName) => void
}

export class CrdWatch {
  readonly #context: Context
  readonly #options: CrdWatchOptions
  /** By the name of the CRD. */
  readonly #crds = new Map<string, WatchedCrd>()
  readonly #known = new KnownObjects()

  constructor(context: Context, options: CrdWatchOptions) {
    this.#context = context
    this.#options = options
  }

  /** The CRDs of an API group. */
  in(group: string): readonly CrdName[] {
    return [...this.#crds.values()].filter((one) => one.group === group)
  }

  /** Resolves when the signal is aborted, or when the operator lacks the permission to watch CRDs. */
  follow(signal: AbortSignal): Promise<void> {
    const take = (event: ReflectedEvent) => this.#take(event)
    const onState = (state: WatchState) => this.#report(state)
    return watchMetadata(this.#context, { resource: crdsResource, known: this.#known, take, onState }, signal)
  }

  #report(state: WatchState): void {
    if (state.type !== 'broken' || state.attempt !== 2 || isForbidden(state.error)) return
    const why = describeError(state.error)
    this.#context.logger.warn(`CRDs cannot be watched for now: ${why}`)
  }

  #take(event: ReflectedEvent): void {
    if (event.type === 'listed') return
    const { metadata } = event.object
    const { name = '' } = metadata
    const crd = parseName(name)
    if (event.type === 'deleted') {
      this.#crds.delete(name)
      this.#options.onGone(crd)
      return
    }
    const known = this.#crds.get(name)
    const { uid, generation } = metadata
    this.#crds.set(name, { ...crd, uid, generation })
    this.#options.onSeen(crd, known !== undefined && (known.uid !== uid || known.generation !== generation))
  }
}

function parseName(name: string): CrdName {
  const [plural = '', ...group] = name.split('.')
  return { plural, group: group.join('.') }
}
