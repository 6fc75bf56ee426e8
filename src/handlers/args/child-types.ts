/**
 * Types of the desired children in the result of a reconciler: a child must have the type of a resource in the option `owns`, told apart by
 * `apiVersion` and `kind`. Types only: reconciling/children/desired.ts checks the values at run time.
 */
import type { Desired } from '../../kube/build-object.ts'
import type { ObjectOf } from '../../kube/resources/resources.ts'

/** The children that a reconciler with these owned resources may return. */
export type ChildOf<R> = [R] extends [never] ? MissingOwns : R extends unknown ? ChildOfType<ObjectOf<R>> : never

type ChildOfType<T> = [keyof T] extends [never]
  ? UntypedChild
  : string extends keyof T
    ? UntypedChild
    : 'apiVersion' | 'kind' extends keyof T
      ? Desired<T>
      : Desired<T> & ApiType

/** Added to types of objects that do not declare these fields. */
interface ApiType {
  readonly apiVersion: string
  readonly kind: string
}

/** A child of a resource that has no type: any fields, but `apiVersion` and `kind` are required. */
export interface UntypedChild {
  /** The group and version: `apps/v1`. */
  readonly apiVersion: string
  /** The kind: `Deployment`. */
  readonly kind: string
  /** All other fields. */
  // biome-ignore lint/suspicious/noExplicitAny: an index signature of the type `any` also accepts interfaces.
  readonly [field: string]: any
}

/** The text is the error message for children of a reconciler without owned resources. */
type MissingOwns = 'Children need the option "owns": kopf.reconcile(Database, { owns: [Deployment] }, …)'
