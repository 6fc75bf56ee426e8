/** What there is to see of one object: its essence now and as last handled, and what follows. Worked out when asked for. */
import type { Diff, Essence, Reason } from '../core/causation/causes.ts'
import { type Detected, detectReason } from '../core/causation/detect.ts'
import { prepareDigest } from '../core/causation/essence-digest.ts'
import { type Compared, revealSecret } from '../core/causation/reveal.ts'
import type { Cause } from '../core/handling/cause.ts'
import { type Comparison, compareWithHandled, essenceOf } from '../core/handling/compare.ts'
import type { Situation } from '../core/handling/select.ts'
import { bodyArgs, type ObjectArguments, objectArgs } from '../core/handling/subject.ts'
import { isDeletionBlocked, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { join } from '../util/join.ts'
import type { Logger } from '../util/log.ts'
import { once } from '../util/once.ts'
import type { Memory } from './memories.ts'
import { type Runtime, subjectOf } from './runtime.ts'

export class View implements Situation {
  readonly resource: Resource
  readonly body: KubeObject
  readonly deleting: boolean
  /** Our finalizer is on the object. */
  readonly blocked: boolean
  /** What all handlers of this object get. */
  readonly objectArgs: () => ObjectArguments
  /** What filters get. */
  readonly args: () => object
  readonly #essences: () => Comparison
  /** The same as handlers and filters get it. */
  readonly #revealed: () => Comparison
  readonly #detected: () => Detected
  readonly #buildEssence: () => Essence

  constructor(runtime: Runtime, memory: Memory, logger: Logger) {
    const { served, body, unstored } = memory
    const { extraFields } = served.handlers
    this.resource = served.resource
    this.body = body
    this.deleting = isDeletionOngoing(body)
    this.blocked = isDeletionBlocked(body, runtime.settings.persistence.finalizer)
    this.#essences = once(() => compareWithHandled(runtime.settings, { body, extraFields, unstored }))
    this.#revealed = once(() => this.#reveal(this.#essences()))
    this.#buildEssence = () => essenceOf(runtime.settings, { body, extraFields })
    this.#detected = once(() => this.#detect(memory.isInitial))
    this.objectArgs = once(() => objectArgs(subjectOf(runtime, memory, logger)))
    this.args = this.#argsOf(() => this)
  }

  /** For a large object: works out the digest of its essence with other work in between. */
  async prepare(): Promise<void> {
    await prepareDigest(this.#buildEssence())
  }

  /** The states as they are compared and stored: with digests for the values of a Secret. */
  get compared(): Comparison {
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

  /** The same object, judged by another cause, or as handlers of the running cycle have changed it. */
  situationOf(cause: Cause, changed?: KubeObject): Situation {
    const { resource, deleting } = this
    const revealed = this.#reveal(cause)
    const { reason, initial, old, new: current, diff } = revealed
    const args = this.#argsOf(() => revealed, changed)
    return { resource, body: changed ?? this.body, deleting, reason, initial, old, new: current, diff, args }
  }

  #reveal<C extends Compared>(compared: C): C {
    return revealSecret(compared, { body: this.body, stored: this.#essences().stored })
  }

  #argsOf(source: () => Pick<Situation, 'reason' | 'old' | 'new' | 'diff'>, changed?: KubeObject): () => object {
    return once(() => {
      const { reason, old, new: current, diff } = source()
      const stanzas = changed === undefined ? {} : bodyArgs(changed)
      return join(this.objectArgs(), stanzas, { reason, old, new: current, diff })
    })
  }

  #detect(isInitial: boolean): Detected {
    const { deleting, blocked } = this
    // Without a look at the essence where it does not matter: parsing what is stored is most of the work.
    const { old, diff } = deleting ? { old: undefined, diff: [] } : this.#essences()
    return detectReason({ deleting, blocked, old, diff, initial: isInitial })
  }
}
