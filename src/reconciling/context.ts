/** What the reconciling feature needs in addition to the context of the run. */
import type { ReconcileHandler } from '../handlers/handler.ts'
import type { Context } from '../objects/context.ts'
import { FeatureState } from '../objects/state/feature-state.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'
import { ReconcilerState } from './reconciler-state.ts'
import type { ChildrenIndex } from './sources/children-index.ts'

export interface ReconcilingContext extends Context {
  /** The children of all reconciled objects. */
  readonly childrenIndex: ChildrenIndex
  /** The field manager of server-side apply. */
  readonly fieldManager: string
}

/** The reconcilers of an object that matched it so far. */
const statesOf = new FeatureState<Map<ReconcileHandler, ReconcilerState>>()

export function reconcilerStates(object: WatchedObject): ReadonlyMap<ReconcileHandler, ReconcilerState> {
  return statesOf.get(object) ?? new Map()
}

/** The state of one reconciler of an object, created on first use. */
export function reconcilerStateOf(object: WatchedObject, handler: ReconcileHandler): ReconcilerState {
  const states = statesOf.get(object) ?? statesOf.set(object, new Map())
  const state = states.get(handler) ?? new ReconcilerState()
  states.set(handler, state)
  return state
}

/** The reconciler does not match the object any more. */
export function forgetReconciler(object: WatchedObject, handler: ReconcileHandler): void {
  statesOf.get(object)?.delete(handler)
}
