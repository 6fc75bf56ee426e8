/**
 * Lets the webhooks that a request concerns have their say: the mutating ones one after the other before the object is
 * prepared, the validating ones all at once before it is stored. The verbs make one for each request that concerns any.
 * Who is concerned is said in match.ts; one question is ask.ts.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { Call } from '../call.ts'
import { notFound } from '../status.ts'
import { askWebhook, type Question } from './ask.ts'
import { meetsConditions } from './conditions.ts'
import type { Hook, Phase } from './hooks.ts'
import { type Invocation, isExempt, isNamespace, isSelected, matchHook, type Selectable } from './match.ts'
import { applyPatch } from './patch.ts'
import { Reinvocations } from './reinvocations.ts'
import type { Attributes, Objects } from './review.ts'
import { convert, equivalentsOf } from './versions.ts'

/** What the verb knows of a request beside the call. */
export type RequestAttributes = Pick<Attributes, 'operation' | 'name' | 'options' | 'dryRun'>

/** Undefined where nobody is to be asked, which is found out without looking at the object. */
export function createReviewer(call: Call, describe: () => RequestAttributes): Reviewer | undefined {
  const { hooks, resource, registry } = call
  if (hooks.isEmpty || isExempt(resource)) return undefined
  const attributes = attributesOf(call, describe())
  const equivalents = equivalentsOf(registry, resource, attributes.subresource)
  const concerned = (phase: Phase) => hooks[phase].flatMap((hook) => matchHook(hook, attributes, equivalents) ?? [])
  const [mutating, validating] = [concerned('mutating'), concerned('validating')]
  if (mutating.length === 0 && validating.length === 0) return undefined
  return new Reviewer(call, attributes, { mutating, validating })
}

function attributesOf({ resource, path, user }: Call, request: RequestAttributes): Attributes {
  const namespace = isNamespace(resource) ? request.name : path.namespace
  return { resource, subresource: path.subresource, namespace, user, ...request }
}

export class Reviewer {
  readonly #call: Call
  readonly #attributes: Attributes
  readonly #concerned: Readonly<Record<Phase, readonly Invocation[]>>
  #isChanged = false

  constructor(call: Call, attributes: Attributes, concerned: Readonly<Record<Phase, readonly Invocation[]>>) {
    this.#call = call
    this.#attributes = attributes
    this.#concerned = concerned
  }

  /** Whether a webhook has changed the object: then there may be more in it than its kind knows of. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** The object as the webhooks want it. Each sees what those before it have made of it. */
  async mutate(object: KubeObject, old?: KubeObject): Promise<KubeObject> {
    const { object: changed } = await this.#runMutating({ object, old })
    return changed!
  }

  /** Rejects with the first refusal, when all have answered. */
  async validate(object: KubeObject | undefined, old?: KubeObject): Promise<void> {
    const asking: Array<() => Promise<unknown>> = []
    // Who is to be asked is known before the first one is: a condition that fails keeps all of them from it.
    for (const invocation of this.#concerned.validating) {
      if (!this.#isSelected(invocation.hook, { object, old })) continue
      const question = await this.#questionFor('validating', invocation, { object, old })
      if (question) asking.push(() => askWebhook(this.#call, invocation, question))
    }
    const refusals: unknown[] = []
    await Promise.all(asking.map((ask) => ask().catch((error: unknown) => refusals.push(error))))
    if (refusals.length > 0) throw refusals[0]
  }

  /** For a deletion, which nobody can change. */
  async reviewDeletion(old: KubeObject): Promise<void> {
    await this.#runMutating({ old })
    await this.validate(undefined, old)
  }

  /** At most twice: the second time, those are asked again who wish to see what others did after them. */
  async #runMutating(given: Objects): Promise<Objects> {
    const { mutating } = this.#concerned
    const own = this.#attributes.resource
    const reinvocations = new Reinvocations()
    let { object } = given
    let version = own
    for (const round of [1, 2]) {
      for (const invocation of mutating) {
        const { hook, target } = invocation
        if (round === 2 && !reinvocations.isDue(hook)) continue
        if (!this.#isSelected(hook, { object, old: given.old })) continue
        if (object !== undefined) object = await convert(object, version, target)
        version = target
        const changed = await this.#change(invocation, { object, old: given.old })
        reinvocations.note(hook, changed !== undefined)
        object = changed ?? object
      }
      if (!reinvocations.isNeeded) break
    }
    return { object: object && (await convert(object, version, own)) }
  }

  /** Undefined where it stays as it is. */
  async #change(invocation: Invocation, objects: Objects): Promise<KubeObject | undefined> {
    const question = await this.#questionFor('mutating', invocation, objects)
    const operations = question === undefined ? [] : await askWebhook(this.#call, invocation, question)
    if (operations.length === 0) return undefined
    const changed = applyPatch(this.#call, invocation, { object: objects.object, operations })
    if (changed !== undefined) this.#isChanged = true
    return changed
  }

  /** Undefined where its conditions are not met. */
  async #questionFor(phase: Phase, invocation: Invocation, { object, old }: Objects): Promise<Question | undefined> {
    const { resource } = this.#attributes
    const { target } = invocation
    const attributes = this.#named(object)
    const objects = {
      // Mutating webhooks get it in their version already.
      object: phase === 'validating' && object !== undefined ? await convert(object, resource, target) : object,
      old: old && (await convert(old, resource, target)),
    }
    const { authorizer } = this.#call
    if (!meetsConditions(invocation, { attributes, authorizer, ...objects })) return undefined
    return { phase, attributes, ...objects }
  }

  /** A name that was made for the object is known to those who are asked later. */
  #named(object: KubeObject | undefined): Attributes {
    const { name, operation } = this.#attributes
    if (name !== '' || operation !== 'CREATE') return this.#attributes
    return { ...this.#attributes, name: object?.metadata.name ?? '' }
  }

  #isSelected(hook: Hook, { object, old }: Objects): boolean {
    const selectable: Selectable = {
      object: object && (object.metadata.labels ?? {}),
      old: old && (old.metadata.labels ?? {}),
      namespace: this.#namespaceLabels(object),
    }
    return isSelected(hook, selectable)
  }

  /** Of a namespace that is created or updated, the labels that it shall have. */
  #namespaceLabels(object: KubeObject | undefined): Selectable['namespace'] {
    const { resource, subresource, namespace } = this.#attributes
    const isOwn = isNamespace(resource)
    if (namespace === '' && !isOwn) return undefined
    if (isOwn && subresource === '' && object !== undefined) return () => object.metadata.labels ?? {}
    return () => {
      const stored = this.#call.store.collection('namespaces').get(namespace)
      if (stored === undefined) throw notFound({ group: '', plural: 'namespaces' }, namespace)
      return stored.labels ?? {}
    }
  }
}
