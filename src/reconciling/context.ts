/** The context of the reconciling feature, and the state of each reconciler of an object. Created in run/bootstrap.ts. */
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

/** Per object, the states of the reconcilers that match it. */
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

/** Called when the reconciler does not match the object any more. */
export function forgetReconciler(object: WatchedObject, handler: ReconcileHandler): void {
  statesOf.get(object)?.delete(handler)
}

/** Calls the reconciler when the worker of the object runs next. */
export function requestReconcile(object: WatchedObject, handler: ReconcileHandler): void {
  statesOf.get(object)?.get(handler)?.addTrigger('requested')
}
