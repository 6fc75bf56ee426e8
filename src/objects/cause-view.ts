/** The cause of one run for one object: its essence now and as last handled, their difference and the reason. Computed on first use. */
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
  /** Our finalizer is on the object. */
  readonly hasFinalizer: boolean
  /** The arguments of all handlers of this object. */
  readonly objectArgs: () => ObjectArguments
  /** The arguments of filters. */
  readonly args: () => object
  readonly #essences: () => EssenceComparison
  /** The comparison as handlers and filters see it. */
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

  /** For a large object: computes the digest of its essence in slices, so that other work goes on in between. */
  async prepare(): Promise<void> {
    await prepareDigest(this.#buildEssence())
  }

  /** The states as they are compared and stored: with digests instead of the values of a Secret. */
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

  /** The same object with another cause, or as handlers of the running cycle have changed it. */
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
    // The deletion does not depend on the essence; parsing the stored one is most of the work.
    const { old, diff } = deleting ? { old: undefined, diff: [] } : this.#essences()
    return detectReason({ deleting, blocked: hasFinalizer, old, diff, initial: isInitial })
  }
}
