/**
 * What is stored on an object, and why each handler is called for it or is not: the answer of `kopf explain`. Asked through
 * `Operator.explain`. Pure but for the filters of the user; calls no handler and no server.
 */
import { KopfError } from '../../errors.ts'
import { isDeletionBlocked, isDeletionOngoing } from '../../kube/finalizers.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { formatResource } from '../../kube/selectors.ts'
import { systemClock } from '../../util/clock.ts'
import { once } from '../../util/once.ts'
import { concealDiff } from '../causation/reveal.ts'
import { compareWithHandled } from '../handling/compare.ts'
import { createHandlerClock } from '../handling/handler-clock.ts'
import type { Registry } from '../handling/registry.ts'
import { objectArgs } from '../handling/subject.ts'
import type { Settings } from '../settings.ts'
import { detectFor } from './change-verdicts.ts'
import type { Explanation } from './explanation.ts'
import { findRecords, ownPrefixes } from './records.ts'
import { askFilters, type Sight } from './sight.ts'
import { describeStorage } from './storages.ts'
import { judgeHandlers } from './verdicts.ts'

export interface ExplainOptions {
  readonly registry: Registry
  readonly settings: Settings
  readonly resource: Resource
  readonly body: KubeObject
  readonly nowMs: number
  /** For filters that ask for it. */
  readonly memo: () => object
}

export function explainObject(options: ExplainOptions): Explanation {
  const { settings, registry, resource, body, nowMs } = options
  const { progressStorage, diffbaseStorage, finalizer } = settings.persistence
  const sight = look(options)
  const { comparison, detected, handlers } = sight
  const notes: string[] = []
  const verdicts = judgeHandlers(sight, notes)
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
      // Those of reconcilers are of their steps.
      ids: [...handlers.change, ...handlers.reconcile].map(({ id }) => id),
      nowMs,
    }),
    reason: detected.reason,
    handlers: verdicts,
    notes: [...handlers.conflicts, ...notes, ...noteStartup(registry)],
  }
}

function look({ registry, settings, resource, body, nowMs, memo }: ExplainOptions): Sight {
  const handlers = registry.handlersFor(resource)
  const comparison = compareWithHandled(settings, { body, extraFields: handlers.extraFields })
  const base = {
    resource,
    body,
    handlers,
    settings,
    nowMs,
    args: once(() => filterArgs({ resource, body, registry, memo })),
    deleting: isDeletionOngoing(body),
    blocked: isDeletionBlocked(body, settings.persistence.finalizer),
    comparison,
  }
  const sight = { ...base, detected: detectFor(base, false) }
  return { ...sight, isOfInterest: handlers.change.some((handler) => askFilters(handler, sight).matches) }
}

/** As an operator gives them, but for what needs one that runs: that is missed by whoever asks for it. */
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
    clock: createHandlerClock(systemClock, { isWaitedFor: false }),
    workers: missing('workers'),
  })
}

function missing<T extends object>(name: string): T {
  return new Proxy({} as T, {
    get() {
      throw new KopfError('KOPF_EXPLAIN', `Cannot use "${name}" in a filter while an object is explained: nothing runs`)
    },
  })
}

function noteStartup(registry: Registry): string[] {
  const ids = registry.activities('startup').map(({ id }) => `"${id}"`)
  if (ids.length === 0) return []
  return [
    `Startup handlers are not called here (${ids.join(', ')}): settings that they change, such as the finalizer and the ` +
      'storages, count as they are without them',
  ]
}
