/** One row about an object, for the lists of objects and the page of one object. */

import { toRef } from '../../journal/journal.ts'
import { observedObject } from '../../objects/context.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import type { ObjectRecord } from '../object-facts.ts'
import type { ObjectRow, ObjectState } from '../protocol.ts'
import { stateOf, type ViewSource } from './source.ts'

const maxWhyLength = 200

export function toObjectRow(source: ViewSource, object: WatchedObject): ObjectRow {
  const observed = observedObject(object)
  const facts = source.facts.of(observed)
  const state = stateOf(source, observed)
  const nextAtMs = nextAt(source, object, facts)
  const why = whyOf(state, facts)
  return {
    ...toRef(observed),
    state,
    ...(why !== undefined && { why: why.length > maxWhyLength ? `${why.slice(0, maxWhyLength - 1)}…` : why }),
    ...(facts?.changedAtMs !== undefined && { changedAtMs: facts.changedAtMs }),
    ...(nextAtMs !== undefined && { nextAtMs }),
    errors: facts?.errors ?? 0,
  }
}

function whyOf(state: ObjectState, facts: ObjectRecord | undefined): string | undefined {
  if (facts === undefined) return undefined
  if (facts.isTooLarge) return 'It is larger than settings.watching.maxObjectBytes'
  if (state !== 'failed' && state !== 'retrying') return undefined
  const { handler, message } = facts.lastFailure ?? { handler: undefined, message: 'It waits for its next attempt' }
  return handler === undefined ? message : `${handler}: ${message}`
}

/** The next attempt of a handler, or what else wakes the worker of the object. */
function nextAt({ run }: ViewSource, object: WatchedObject, facts: ObjectRecord | undefined): number | undefined {
  const attempts = [...(facts?.failing.values() ?? [])].flatMap(({ nextAtMs }) => nextAtMs ?? [])
  if (attempts.length > 0) return Math.min(...attempts)
  const dueMs = run.context()?.timers.remainingMs(object)
  // To seconds: the row changes only if the time does.
  return dueMs === undefined ? undefined : Math.round((run.clock.now() + dueMs) / 1000) * 1000
}
