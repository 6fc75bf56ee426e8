/** What reviews are answered with: the handlers, the object at hand, and what is remembered of it. Put together for admission.ts. */

import type { Registry } from '../core/handling/registry.ts'
import type { Subject } from '../core/handling/subject.ts'
import type { WebhookFn } from '../core/webhook-server.ts'
import { type Converting, reviewConversion } from '../features/admission/conversion.ts'
import { type Reviewing, reviewAdmission } from '../features/admission/review.ts'
import { type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { type AdmissionRequest, isConversionReview } from '../kube/reviews.ts'
import { formatResource, selectResources } from '../kube/selectors.ts'
import { toMs } from '../util/duration.ts'
import type { Gate } from '../util/gate.ts'
import type { Insights } from './insights.ts'
import type { Memory } from './memories.ts'
import { loggerOf, type Runtime } from './runtime.ts'
import type { Watchdog } from './watchdog.ts'

export interface ReviewsOptions {
  readonly registry: Registry
  readonly insights: Insights
  readonly watchdog: Watchdog
  /** Opened when it is known what the cluster serves. */
  readonly looked: Gate
  /** Opened when the indices are complete: nobody is called before who could look into them. */
  readonly indexed: Gate
  readonly memoryOf: (resource: Resource, uid: string) => Memory | undefined
}

export function createReview(runtime: Runtime, options: ReviewsOptions): WebhookFn {
  const reviewing = toReviewing(runtime, options)
  const converting = toConverting(runtime, options)
  return async (review, info = {}) => {
    const { looked, indexed } = options
    // Not for the indices: what is indexed may have to be converted first.
    if (!looked.isOpen) await looked.pass(info.signal)
    if (isConversionReview(review)) return reviewConversion(converting, review, info)
    if (!indexed.isOpen) await indexed.pass(info.signal)
    return reviewAdmission(reviewing, review, info)
  }
}

function toReviewing(runtime: Runtime, { registry, insights, watchdog, memoryOf }: ReviewsOptions): Reviewing {
  const { clock, settings, writing } = runtime
  const reviewed = whenChanged((known: readonly Resource[]) => reviewedOf(registry, known))
  return {
    clock,
    // Not that of other handlers: while the operator waits for them to end, the API server may still ask.
    signal: writing,
    watch: watchdog.watchOf(),
    defaultBackoffMs: toMs(settings.execution.defaultBackoff),
    resources: () => reviewed(insights.resources),
    handlersFor: (resource) => registry.handlersFor(resource),
    subjectOf: (resource, body, request) => {
      const { uid } = body.metadata ?? {}
      const memory = request.operation === 'CREATE' || uid === undefined ? undefined : memoryOf(resource, uid)
      const { name } = request
      // The API server sends the name of a Namespace as the namespace of the request.
      const namespace = resource.namespaced ? request.namespace : undefined
      return { ...toSubject(runtime, resource, body, { name, namespace }), memo: memoOf(runtime, memory) }
    },
  }
}

/** What is created has nothing to be remembered yet, and may never come to be. */
function memoOf(runtime: Runtime, memory: Memory | undefined): object {
  if (memory === undefined) return runtime.makeMemo()
  memory.memo ??= runtime.makeMemo()
  return memory.memo
}

function toConverting(runtime: Runtime, { registry, insights, watchdog }: ReviewsOptions): Converting {
  const { clock, settings, writing } = runtime
  const versionsOf = (group: string, kind: string) =>
    insights.resources.filter((one) => one.group === group && one.kind === kind)
  return {
    clock,
    signal: writing,
    watch: watchdog.watchOf(),
    defaultBackoffMs: toMs(settings.execution.defaultBackoff),
    // They are for all versions, whichever one they were registered for: that one may be stored still, and not served any more.
    conversionsFor: (group, kind) => {
      const versions = versionsOf(group, kind)
      return registry.asked.filter(
        ({ conversion, selector }) =>
          conversion !== undefined && versions.some((one) => selector!.matchesAnyVersion(one)),
      )
    },
    subjectOf: (body) => {
      const { group, version } = parseGroupVersion(body.apiVersion)!
      const versions = versionsOf(group, body.kind)
      const resource = versions.find((one) => one.version === version) ?? { ...versions[0]!, version }
      return { ...toSubject(runtime, resource, body), memo: runtime.makeMemo() }
    },
  }
}

/** What is asked about may have no name yet, or be no object at all: then the request says what it is called. */
function toSubject(
  runtime: Runtime,
  resource: Resource,
  body: KubeObject,
  { name, namespace }: Partial<Pick<AdmissionRequest, 'name' | 'namespace'>> = {},
): Omit<Subject, 'memo'> {
  const { metadata } = body
  const called = name ?? (metadata?.generateName && `${metadata.generateName}*`)
  const reference = { ...(namespace && { namespace }), ...(called && { name: called }), ...metadata }
  return {
    resource,
    body,
    logger: loggerOf(runtime, { ...body, metadata: reference }, { isLocal: true }),
    client: runtime.clientIn(reference.namespace),
    recorder: runtime.recorderOf(body),
    indices: runtime.indices,
    clock: runtime.handlerClock,
    workers: runtime.workers,
  }
}

function reviewedOf(registry: Registry, known: readonly Resource[]): readonly Resource[] {
  const found = new Map<string, Resource>()
  for (const { selector, admission } of registry.asked) {
    if (admission === undefined) continue
    for (const resource of selectResources(selector!, known).candidates) found.set(formatResource(resource), resource)
  }
  return [...found.values()]
}

/** Worked out anew only for another value than the last time. */
function whenChanged<K, V>(make: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | undefined
  return (key) => {
    if (last?.key !== key) last = { key, value: make(key) }
    return last!.value
  }
}
