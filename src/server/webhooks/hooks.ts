/**
 * The configured admission webhooks, parsed once and again after every change of a configuration, in calling order. match.ts decides
 * which requests they apply to.
 */
import { isPlainObject } from '../../util/json/json.ts'
import type { Webhook, WebhookRule } from '../builtins/kinds/webhooks.ts'
import type { CompiledConditions } from '../cel/conditions.ts'
import { celEngine } from '../cel/lazy.ts'
import { labelSelectorFromObject, type ParsedLabelSelector } from '../selectors.ts'
import type { ServerStore } from '../storage/store.ts'
import { parseStored, type Stored } from '../storage/stored.ts'
import type { WebhookEndpoint } from './call.ts'

export type Phase = 'mutating' | 'validating'

export interface Hook {
  /** Unique, unlike the name. */
  readonly id: string
  readonly name: string
  readonly clientConfig: WebhookEndpoint
  readonly rules: readonly WebhookRule[]
  /** matchPolicy `Exact`: requests in other versions of the resource do not match. */
  readonly isExact: boolean
  readonly namespaceSelector: ParsedLabelSelector
  readonly objectSelector: ParsedLabelSelector
  /** failurePolicy `Ignore`: the request continues if the webhook fails. */
  readonly isOptional: boolean
  readonly timeoutMs: number
  readonly reviewVersion: 'v1' | 'v1beta1'
  /** reinvocationPolicy `IfNeeded`: called again if a later webhook changed the object. */
  readonly isReinvoked: boolean
  /** Undefined if there are no match conditions. */
  readonly conditions: CompiledConditions | undefined
}

const collections: ReadonlyArray<readonly [Phase, string]> = [
  ['mutating', 'admissionregistration.k8s.io/mutatingwebhookconfigurations'],
  ['validating', 'admissionregistration.k8s.io/validatingwebhookconfigurations'],
]

export class Hooks {
  mutating: readonly Hook[] = []
  validating: readonly Hook[] = []

  /** Usually true; the fast path of every write. */
  get isEmpty(): boolean {
    return this.mutating.length === 0 && this.validating.length === 0
  }

  constructor(store: ServerStore) {
    for (const [phase, collection] of collections) {
      store.subscribe(collection, () => {
        this[phase] = store.collection(collection).list('').toSorted(byName).flatMap(hooksOf)
      })
    }
  }
}

function byName(left: Stored, right: Stored): number {
  return left.name < right.name ? -1 : 1
}

function hooksOf(stored: Stored): Hook[] {
  const webhooks = (parseStored(stored)['webhooks'] ?? []) as readonly Webhook[]
  return webhooks.map((webhook) => toHook(webhook, stored.name))
}

function toHook(webhook: Webhook, configuration: string): Hook {
  return {
    id: `${configuration}/${webhook.name}`,
    name: webhook.name,
    clientConfig: webhook.clientConfig ?? {},
    rules: webhook.rules ?? [],
    isExact: webhook.matchPolicy === 'Exact',
    namespaceSelector: selectorOf(webhook.namespaceSelector),
    objectSelector: selectorOf(webhook.objectSelector),
    isOptional: webhook.failurePolicy === 'Ignore',
    timeoutMs: (webhook.timeoutSeconds ?? 10) * 1000,
    reviewVersion: webhook.admissionReviewVersions?.find(isKnownVersion) ?? 'v1',
    isReinvoked: webhook.reinvocationPolicy === 'IfNeeded',
    conditions: webhook.matchConditions?.length ? celEngine().compileConditions(webhook.matchConditions) : undefined,
  }
}

function isKnownVersion(version: string): version is 'v1' | 'v1beta1' {
  return version === 'v1' || version === 'v1beta1'
}

/** A missing selector selects everything, unlike in other kinds. */
function selectorOf(selector: unknown): ParsedLabelSelector {
  return labelSelectorFromObject(isPlainObject(selector) ? selector : {})
}
