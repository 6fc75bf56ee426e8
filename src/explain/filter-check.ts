/** One object as an explanation looks at it, and what its filters say. Made by explain.ts. */

import type { Reason } from '../causation/cause.ts'
import type { DetectedReason } from '../causation/detect.ts'
import { revealSecret } from '../causation/reveal-secrets.ts'
import { KopfError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { type MatchContext, preMatches, whyNot } from '../handlers/matching.ts'
import type { ResourceHandlers } from '../handlers/registry.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { EssenceComparison } from '../objects/compare-essences.ts'
import type { Settings } from '../settings/settings.ts'
import { assignAll } from '../util/assign-all.ts'
import { lazy } from '../util/lazy.ts'

export interface ExplainedObject {
  readonly resource: Resource
  readonly body: KubeObject
  readonly handlers: ResourceHandlers
  readonly settings: Settings
  readonly nowMs: number
  /** What filters are given, but for the cause. */
  readonly args: () => object
  readonly deleting: boolean
  readonly hasFinalizer: boolean
  readonly comparison: EssenceComparison
  /** For an operator that runs already. */
  readonly detected: DetectedReason
  /** Whether there are handlers of changes that could ever be for the object. */
  readonly hasHandlers: boolean
}

interface CauseLike extends EssenceComparison {
  readonly reason: Reason
  readonly initial: boolean
}

export function matchContextOf(
  sight: Pick<ExplainedObject, 'resource' | 'body' | 'deleting' | 'args' | 'comparison'>,
  cause: CauseLike,
): MatchContext {
  const { resource, body, deleting, comparison } = sight
  const { reason, initial, old, new: current, diff } = revealSecret(cause, { body, stored: comparison.stored })
  const args = lazy(() => assignAll(sight.args(), { reason, old, new: current, diff }))
  return { resource, body, deleting, reason, initial, old, new: current, diff, args }
}

type FilterResult = Pick<ExplainedObject, 'resource' | 'body' | 'deleting' | 'args' | 'comparison' | 'detected'>

/** Whether the filters of a handler of changes match, whatever has happened; with the error of one that has failed. */
export function checkFilters(
  handler: Handler,
  sight: FilterResult,
): { readonly matches: boolean; readonly error?: string } {
  return attempt(() => {
    const context = matchContextOf(sight, { ...sight.detected, ...sight.comparison })
    whyNot(handler, context)
    return preMatches(handler, context)
  })
}

/** The same for those that see the object without any cause. */
export function checkObjectFilters(
  handler: Handler,
  { resource, body, args }: Pick<ExplainedObject, 'resource' | 'body' | 'args'>,
): { readonly matches: boolean; readonly why?: string; readonly error?: string } {
  let why: string | undefined
  const { matches, error } = attempt(() => {
    why = whyNot(handler, { resource, body, args })
    return why === undefined
  })
  return { matches, ...(why !== undefined && { why }), ...(error !== undefined && { error }) }
}

/** A filter may fail here and not in an operator: it may ask for what only an operator has. */
function attempt(judge: () => boolean): { readonly matches: boolean; readonly error?: string } {
  try {
    return { matches: judge() }
  } catch (error) {
    if (!(error instanceof KopfError)) throw error
    return { matches: false, error: error.message }
  }
}
