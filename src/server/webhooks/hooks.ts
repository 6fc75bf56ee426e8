/**
 * The admission webhooks that are configured at this moment, read once for all requests and again with every change of a
 * configuration. Who is asked about what is match.ts; this only keeps them, in the order in which they are asked.
 */
import { isPlainObject } from '../../util/json.ts'
import type { Webhook, WebhookRule } from '../builtins/kinds/webhooks.ts'
import type { CompiledConditions } from '../cel/conditions.ts'
import { celEngine } from '../cel/lazy.ts'
import { type LabelSelector, labelSelectorFromObject } from '../selectors.ts'
import type { Store } from '../storage/store.ts'
import { parseStored, type Stored } from '../storage/stored.ts'
import type { WebhookClientConfig } from './call.ts'

export type Phase = 'mutating' | 'validating'

export interface Hook {
  /** Unlike the name, it occurs once. */
  readonly id: string
  readonly name: string
  readonly clientConfig: WebhookClientConfig
  readonly rules: readonly WebhookRule[]
  /** Whether requests by other versions of a resource are none of its business. */
  readonly isExact: boolean
  readonly namespaceSelector: LabelSelector
  readonly objectSelector: LabelSelector
  /** Whether a request goes on where the webhook cannot be asked. */
  readonly isOptional: boolean
  readonly timeoutMs: number
  readonly reviewVersion: 'v1' | 'v1beta1'
  /** Whether it wants to see what others have changed after it. */
  readonly isReinvoked: boolean
  /** Undefined where it has none, as most. */
  readonly conditions: CompiledConditions | undefined
}

const collections: ReadonlyArray<readonly [Phase, string]> = [
  ['mutating', 'admissionregistration.k8s.io/mutatingwebhookconfigurations'],
  ['validating', 'admissionregistration.k8s.io/validatingwebhookconfigurations'],
]

export class Hooks {
  mutating: readonly Hook[] = []
  validating: readonly Hook[] = []

  /** Mostly so; then nothing else is looked at. */
  get isEmpty(): boolean {
    return this.mutating.length === 0 && this.validating.length === 0
  }

  constructor(store: Store) {
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

/** Unlike elsewhere, a missing selector selects everything. */
function selectorOf(selector: unknown): LabelSelector {
  return labelSelectorFromObject(isPlainObject(selector) ? selector : {})
}
