/**
 * The cause of one processing run for one object: the current essence, the last handled essence, their diff and the reason. Each part is computed on first use.
 * Used by change-handling.ts and the features.
 */
import type { Cause, Diff, Essence, Reason } from '../causation/cause.ts'
import { type DetectedReason, detectReason } from '../causation/detect.ts'
import { prepareDigest } from '../causation/essence.ts'
import { type ComparedStates, revealSecret } from '../causation/reveal-secrets.ts'
import { bodyArgs, type ObjectArguments, objectArgs } from '../handlers/args/object-args.ts'
import type { MatchContext } from '../handlers/matching.ts'
import { hasFinalizer as hasFinalizerOn, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { assignAll } from '../util/assign-all.ts'
import { lazy } from '../util/lazy.ts'
import type { Logger } from '../util/log/log.ts'
import { compareWithHandled, type EssenceComparison, essenceOf } from './compare-essences.ts'
import { argsSourceOf, type Context } from './context.ts'
import type { WatchedObject } from './state/watched-object.ts'

export class CauseView implements MatchContext {
  readonly resource: Resource
  readonly body: KubeObject
  readonly deleting: boolean
  /** Whether the object has the operator's finalizer. */
  readonly hasFinalizer: boolean
  /** The arguments of all handlers of this object. */
  readonly objectArgs: () => ObjectArguments
  /** The arguments of filters. */
  readonly args: () => object
  readonly #essences: () => EssenceComparison
  /** The comparison that handlers and filters get: with the plain values of a Secret where they are allowed. */
  readonly #revealed: () => EssenceComparison
  readonly #detected: () => DetectedReason
  readonly #buildEssence: () => Essence

  constructor(context: Context, object: WatchedObject, logger: Logger) {
    const { served, body, handled } = object
    const { extraFields } = served.handlers
    this.resource = served.resource
    this.body = body
    this.deleting = isDeletionOngoing(body)
    this.hasFinalizer = hasFinalizerOn(body, context.settings.persistence.finalizer)
    this.#essences = lazy(() => compareWithHandled(context.settings, { body, extraFields, unstored: handled.essence }))
    this.#revealed = lazy(() => this.#reveal(this.#essences()))
    this.#buildEssence = () => essenceOf(context.settings, { body, extraFields })
    this.#detected = lazy(() => this.#detect(handled.isInitial))
    this.objectArgs = lazy(() => objectArgs(argsSourceOf(context, object, logger)))
    this.args = this.#argsOf(() => this)
  }

  /** Computes the digest of the essence of a large object in slices, so that the event loop is not blocked. */
  async prepare(): Promise<void> {
    await prepareDigest(this.#buildEssence())
  }

  /** The states as they are compared and stored: a Secret has digests instead of values. */
  get compared(): EssenceComparison {
    return this.#essences()
  }

  get old(): Essence | undefined {
    return this.#revealed().old
  }

  get new(): Essence {
    return this.#revealed().new
  }

  get diff(): Diff {
    return this.#revealed().diff
  }

  get reason(): Reason {
    return this.#detected().reason
  }

  get initial(): boolean {
    return this.#detected().initial
  }

  /** The context to match handlers against another cause of the same object, or against a body that handlers of the running cycle have changed. */
  matchContextOf(cause: Cause, changed?: KubeObject): MatchContext {
    const { resource, deleting } = this
    const revealed = this.#reveal(cause)
    const { reason, initial, old, new: current, diff } = revealed
    const args = this.#argsOf(() => revealed, changed)
    return { resource, body: changed ?? this.body, deleting, reason, initial, old, new: current, diff, args }
  }

  #reveal<C extends ComparedStates>(compared: C): C {
    return revealSecret(compared, { body: this.body, stored: this.#essences().stored })
  }

  #argsOf(source: () => Pick<MatchContext, 'reason' | 'old' | 'new' | 'diff'>, changed?: KubeObject): () => object {
    return lazy(() => {
      const { reason, old, new: current, diff } = source()
      const stanzas = changed === undefined ? {} : bodyArgs(changed)
      return assignAll(this.objectArgs(), stanzas, { reason, old, new: current, diff })
    })
  }

  #detect(isInitial: boolean): DetectedReason {
    const { deleting, hasFinalizer } = this
    // A deletion does not depend on the essence, so the stored essence is not parsed, which would be most of the work.
    const { old, diff } = deleting ? { old: undefined, diff: [] } : this.#essences()
    return detectReason({ deleting, blocked: hasFinalizer, old, diff, initial: isInitial })
  }
}
