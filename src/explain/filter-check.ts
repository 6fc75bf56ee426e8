/** The object to be explained, and the check of handler filters against it. Used by explain.ts and the verdicts. */

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
  /** The arguments of filters, without the cause. */
  readonly args: () => object
  readonly deleting: boolean
  readonly hasFinalizer: boolean
  readonly comparison: EssenceComparison
  /** The reason as detected by an operator that is already running. */
  readonly detected: DetectedReason
  /** Whether the filters of any change handler match the object, for any reason. */
  readonly hasHandlers: boolean
}

interface CauseLike extends EssenceComparison {
  readonly reason: Reason
  readonly initial: boolean
}

export function matchContextOf(
  explained: Pick<ExplainedObject, 'resource' | 'body' | 'deleting' | 'args' | 'comparison'>,
  cause: CauseLike,
): MatchContext {
  const { resource, body, deleting, comparison } = explained
  const { reason, initial, old, new: current, diff } = revealSecret(cause, { body, stored: comparison.stored })
  const args = lazy(() => assignAll(explained.args(), { reason, old, new: current, diff }))
  return { resource, body, deleting, reason, initial, old, new: current, diff, args }
}

type FilterResult = Pick<ExplainedObject, 'resource' | 'body' | 'deleting' | 'args' | 'comparison' | 'detected'>

/** Whether the filters of a change handler match the object for any reason, or the error of a filter that has failed. */
export function checkFilters(
  handler: Handler,
  explained: FilterResult,
): { readonly matches: boolean; readonly error?: string } {
  return attempt(() => {
    const context = matchContextOf(explained, { ...explained.detected, ...explained.comparison })
    whyNot(handler, context)
    return preMatches(handler, context)
  })
}

/** The same for handlers without a cause (index, event, background, admission handlers). */
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

/** A filter may fail here and not in an operator, because it uses an argument that only a running operator has. */
function attempt(check: () => boolean): { readonly matches: boolean; readonly error?: string } {
  try {
    return { matches: check() }
  } catch (error) {
    if (!(error instanceof KopfError)) throw error
    return { matches: false, error: error.message }
  }
}
