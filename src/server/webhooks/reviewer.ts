/**
 * Calls the admission webhooks of one request: the mutating ones in sequence before the object is prepared, the validating ones in
 * parallel before it is stored. Created by the verbs. match.ts selects the webhooks, ask.ts calls one of them.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { ResourceCall } from '../call.ts'
import { notFound } from '../status.ts'
import { askWebhook, type ReviewInput } from './ask.ts'
import { meetsConditions } from './conditions.ts'
import type { Hook, Phase } from './hooks.ts'
import { type Invocation, isExempt, isNamespace, isSelected, matchHook, type Selectable } from './match.ts'
import { applyPatch } from './patch.ts'
import { Reinvocations } from './reinvocations.ts'
import type { Attributes, Objects } from './review.ts'
import { convert, equivalentsOf } from './versions.ts'

/** The attributes of a request that only the verb knows. */
export type RequestAttributes = Pick<Attributes, 'operation' | 'name' | 'options' | 'dryRun'>

/** Undefined if no webhook matches, which is decided without the object. */
export function createReviewer(call: ResourceCall, describe: () => RequestAttributes): Reviewer | undefined {
  const { hooks, resource, registry } = call
  if (hooks.isEmpty || isExempt(resource)) return undefined
  const attributes = attributesOf(call, describe())
  const equivalents = equivalentsOf(registry, resource, attributes.subresource)
  const concerned = (phase: Phase) => hooks[phase].flatMap((hook) => matchHook(hook, attributes, equivalents) ?? [])
  const [mutating, validating] = [concerned('mutating'), concerned('validating')]
  if (mutating.length === 0 && validating.length === 0) return undefined
  return new Reviewer(call, attributes, { mutating, validating })
}

function attributesOf({ resource, path, user }: ResourceCall, request: RequestAttributes): Attributes {
  const namespace = isNamespace(resource) ? request.name : path.namespace
  return { resource, subresource: path.subresource, namespace, user, ...request }
}

export class Reviewer {
  readonly #call: ResourceCall
  readonly #attributes: Attributes
  readonly #concerned: Readonly<Record<Phase, readonly Invocation[]>>
  #isChanged = false

  constructor(call: ResourceCall, attributes: Attributes, concerned: Readonly<Record<Phase, readonly Invocation[]>>) {
    this.#call = call
    this.#attributes = attributes
    this.#concerned = concerned
  }

  /** True if a webhook has changed the object, which may then have unknown fields. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** Returns the object after all mutating webhooks. Each sees the changes of the ones before it. */
  async mutate(object: KubeObject, old?: KubeObject): Promise<KubeObject> {
    const { object: changed } = await this.#runMutating({ object, old })
    return changed!
  }

  /** Rejects with the first denial after all webhooks have responded. */
  async validate(object: KubeObject | undefined, old?: KubeObject): Promise<void> {
    const asking: Array<() => Promise<unknown>> = []
    // All match conditions are evaluated before the first call: if one fails, no webhook is called.
    for (const invocation of this.#concerned.validating) {
      if (!this.#isSelected(invocation.hook, { object, old })) continue
      const question = await this.#questionFor('validating', invocation, { object, old })
      if (question) asking.push(() => askWebhook(this.#call, invocation, question))
    }
    const refusals: unknown[] = []
    await Promise.all(asking.map((ask) => ask().catch((error: unknown) => refusals.push(error))))
    if (refusals.length > 0) throw refusals[0]
  }

  /** Reviews a deletion; webhooks cannot change the object. */
  async reviewDeletion(old: KubeObject): Promise<void> {
    await this.#runMutating({ old })
    await this.validate(undefined, old)
  }

  /** At most two rounds: the second calls webhooks with reinvocationPolicy `IfNeeded` again if the object was changed after them. */
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

  /** Undefined if the webhook changes nothing. */
  async #change(invocation: Invocation, objects: Objects): Promise<KubeObject | undefined> {
    const question = await this.#questionFor('mutating', invocation, objects)
    const operations = question === undefined ? [] : await askWebhook(this.#call, invocation, question)
    if (operations.length === 0) return undefined
    const changed = applyPatch(this.#call, invocation, { object: objects.object, operations })
    if (changed !== undefined) this.#isChanged = true
    return changed
  }

  /** Undefined if the match conditions are not met. */
  async #questionFor(phase: Phase, invocation: Invocation, { object, old }: Objects): Promise<ReviewInput | undefined> {
    const { resource } = this.#attributes
    const { target } = invocation
    const attributes = this.#named(object)
    const objects = {
      // For mutating webhooks the object has already been converted.
      object: phase === 'validating' && object !== undefined ? await convert(object, resource, target) : object,
      old: old && (await convert(old, resource, target)),
    }
    const { authorizer } = this.#call
    if (!meetsConditions(invocation, { attributes, authorizer, ...objects })) return undefined
    return { phase, attributes, ...objects }
  }

  /** Validating webhooks get a generated name. */
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

  /** For a namespace that is created or updated, its new labels. */
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
