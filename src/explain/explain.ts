/**
 * Explains one object: the handling state stored on it, the decision of the operator, and why each handler is called or not.
 * Implements `Operator.explain` and `kopf explain`. Calls the filters of the user, but no handler and no server.
 */

import { concealDiff } from '../causation/reveal-secrets.ts'
import { KopfError } from '../errors.ts'
import { createHandlerClock } from '../handlers/args/handler-clock.ts'
import { objectArgs } from '../handlers/args/object-args.ts'
import type { Registry } from '../handlers/registry.ts'
import { isDeletionOngoing, hasFinalizer as isFinalizerOn } from '../kube/finalizers.ts'
import { type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import { pluralize, type Resource, type ResourceLike } from '../kube/resources/resources.ts'
import { formatResource, toSelector } from '../kube/resources/selectors.ts'
import { compareWithHandled } from '../objects/compare-essences.ts'
import type { Settings } from '../settings/settings.ts'
import { systemClock } from '../util/async/clock.ts'
import { lazy } from '../util/lazy.ts'
import { detectFor } from './change-verdicts.ts'
import { explainReconcilers, readChildrenCondition } from './explained-reconcilers.ts'
import type { Explanation, ExplanationOptions } from './explanation.ts'
import { checkFilters, type ExplainedObject } from './filter-check.ts'
import { decideFor, handlerVerdicts } from './handler-verdicts.ts'
import { describeStorage, findRecords, ownPrefixes } from './stored-records.ts'

/**
 * The resource of an object, from any notation. Discovery is not asked: the version, the kind and the scope are those of the object. A resource of
 * discovery is returned as it is.
 */
export function toResource(like: ResourceLike | Resource, { apiVersion, kind, metadata }: KubeObject): Resource {
  if (typeof like === 'object' && 'verbs' in like) return like
  const selector = toSelector(like as ResourceLike)
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: 'v1' }
  const named = typeof selector.name === 'string' ? selector.name : undefined
  const resource: Resource = {
    group,
    version,
    kind,
    plural: selector.plural ?? pluralize(kind.toLowerCase()),
    singular: selector.singular ?? kind.toLowerCase(),
    // A name that is neither the kind nor derived from it is a short name or an irregular plural: handlers may be registered with it.
    shortcuts: [selector.shortcut, named].filter((name) => name !== undefined),
    categories: selector.category === undefined ? [] : [selector.category],
    subresources: [],
    namespaced: metadata.namespace !== undefined,
    preferred: true,
    verbs: [],
  }
  if (selector.matches(resource)) return resource
  throw new KopfError(
    'KOPF_EXPLAIN',
    `Cannot explain "${metadata.name}" as one of ${selector}: it is a ${kind} of ${apiVersion}`,
  )
}

export interface ExplainOptions extends ExplanationOptions {
  readonly registry: Registry
  readonly settings: Settings
  readonly resource: Resource
  readonly body: KubeObject
  readonly nowMs: number
  /** Creates the memo for filters that use it. */
  readonly memo: () => object
  /** The name of the operator. */
  readonly name: string | undefined
}

export function explainObject(options: ExplainOptions): Explanation {
  const { settings, registry, resource, body, nowMs, name: operator, children } = options
  const { progressStorage, diffbaseStorage, finalizer } = settings.persistence
  const explained = inspect(options)
  const { comparison, detected, handlers } = explained
  const notes: string[] = []
  const verdicts = handlerVerdicts(explained, notes)
  const childrenApplied = readChildrenCondition(body)
  const { namespace, name, creationTimestamp, deletionTimestamp, finalizers = [] } = body.metadata
  return {
    resource: formatResource(resource),
    apiVersion: body.apiVersion,
    kind: body.kind,
    ...(namespace !== undefined && { namespace }),
    name: name ?? '',
    ...(creationTimestamp && { created: creationTimestamp }),
    ...(deletionTimestamp && { deleting: deletionTimestamp }),
    finalizers: finalizers.map((one) => ({ name: one, isOurs: one === finalizer })),
    storage: {
      progress: describeStorage(progressStorage),
      lastHandled: describeStorage(diffbaseStorage),
      finalizer,
    },
    handled: comparison.old === undefined ? 'never' : comparison.diff.length === 0 ? 'is' : 'changed',
    changes:
      comparison.old === undefined
        ? []
        : concealDiff(comparison.diff, body).map(([operation, field, old, current]) => ({
            operation,
            field,
            old,
            new: current,
          })),
    ...findRecords({
      body,
      storage: progressStorage,
      prefixes: ownPrefixes(progressStorage, diffbaseStorage),
      // The records of reconcilers are those of their steps.
      ids: [...handlers.change, ...handlers.reconcile].map(({ id }) => id),
      nowMs,
    }),
    reason: detected.reason,
    decision: decideFor(explained),
    handlers: verdicts,
    reconcilers: explainReconcilers({ handlers: handlers.reconcile, name: operator, settings, body, children }),
    ...(childrenApplied !== undefined && { childrenApplied }),
    notes: [...handlers.conflicts, ...notes, ...startupNotes(registry)],
  }
}

function inspect({ registry, settings, resource, body, nowMs, memo }: ExplainOptions): ExplainedObject {
  const handlers = registry.handlersFor(resource)
  const comparison = compareWithHandled(settings, { body, extraFields: handlers.extraFields })
  const base = {
    resource,
    body,
    handlers,
    settings,
    nowMs,
    args: lazy(() => filterArgs({ resource, body, registry, memo })),
    deleting: isDeletionOngoing(body),
    hasFinalizer: isFinalizerOn(body, settings.persistence.finalizer),
    comparison,
  }
  const explained = { ...base, detected: detectFor(base, false) }
  return { ...explained, hasHandlers: handlers.change.some((handler) => checkFilters(handler, explained).matches) }
}

/** The arguments of filters, as in an operator. An argument that needs a running operator throws when a filter uses it. */
function filterArgs({
  resource,
  body,
  registry,
  memo,
}: Pick<ExplainOptions, 'resource' | 'body' | 'registry' | 'memo'>) {
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  return objectArgs({
    resource,
    body,
    logger: silent,
    memo: memo(),
    client: missing('client'),
    recorder: missing('recorder'),
    indices: registry.indices,
    metrics: missing('metrics'),
    clock: createHandlerClock(systemClock, { isWaitedFor: false }),
    workers: missing('workers'),
  })
}

function missing<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get() {
      throw new KopfError(
        'KOPF_EXPLAIN',
        `Cannot use "${name}" in a filter while an object is explained: no operator is running`,
      )
    },
  })
}

function startupNotes(registry: Registry): string[] {
  const ids = registry.activities('startup').map(({ id }) => `"${id}"`)
  if (ids.length === 0) return []
  return [
    `Startup handlers are not called here (${ids.join(', ')}): changes that they make to settings, such as the finalizer ` +
      'and the storages, are not taken into account',
  ]
}
