/** One object as an explanation looks at it, and what its filters say. Made by explain.ts. */
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { join } from '../../util/join.ts'
import { once } from '../../util/once.ts'
import type { Reason } from '../causation/causes.ts'
import type { Detected } from '../causation/detect.ts'
import { revealSecret } from '../causation/reveal.ts'
import type { Comparison } from '../handling/compare.ts'
import type { Handler } from '../handling/handler.ts'
import type { ResourceHandlers } from '../handling/registry.ts'
import { preMatches, type Situation, whyNot } from '../handling/select.ts'
import type { Settings } from '../settings.ts'

export interface Sight {
  readonly resource: Resource
  readonly body: KubeObject
  readonly handlers: ResourceHandlers
  readonly settings: Settings
  readonly nowMs: number
  /** What filters are given, but for the cause. */
  readonly args: () => object
  readonly deleting: boolean
  readonly blocked: boolean
  readonly comparison: Comparison
  /** For an operator that runs already. */
  readonly detected: Detected
  /** Whether there are handlers of changes that could ever be for the object. */
  readonly isOfInterest: boolean
}

interface CauseLike extends Comparison {
  readonly reason: Reason
  readonly initial: boolean
}

export function situationOf(
  sight: Pick<Sight, 'resource' | 'body' | 'deleting' | 'args' | 'comparison'>,
  cause: CauseLike,
): Situation {
  const { resource, body, deleting, comparison } = sight
  const { reason, initial, old, new: current, diff } = revealSecret(cause, { body, stored: comparison.stored })
  const args = once(() => join(sight.args(), { reason, old, new: current, diff }))
  return { resource, body, deleting, reason, initial, old, new: current, diff, args }
}

type Filtered = Pick<Sight, 'resource' | 'body' | 'deleting' | 'args' | 'comparison' | 'detected'>

/** Whether the filters of a handler of changes match, whatever has happened; with the error of one that has failed. */
export function askFilters(handler: Handler, sight: Filtered): { readonly matches: boolean; readonly error?: string } {
  return attempt(() => {
    const situation = situationOf(sight, { ...sight.detected, ...sight.comparison })
    whyNot(handler, situation)
    return preMatches(handler, situation)
  })
}

/** The same for those that see the object without any cause. */
export function askObjectFilters(
  handler: Handler,
  { resource, body, args }: Pick<Sight, 'resource' | 'body' | 'args'>,
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
