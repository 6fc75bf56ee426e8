/** Support for `runHandler` of kopf/testing with a reconciler: builds its `children` argument and parses its result as an operator does. */
import type { Children } from '../handlers/args/args.ts'
import type { Handler, ReconcileHandler } from '../handlers/handler.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import { refuseSteps, whyNoSteps } from '../steps/step-run.ts'
import { createChildren } from './children/children-arg.ts'
import { readReconciled } from './children/desired.ts'
import { toReconcilerLabel } from './children/labels.ts'
import { findKind } from './children/owned-kinds.ts'

export interface ReconcileTestRun {
  readonly handler: ReconcileHandler
  readonly owner: KubeObject
  /** The name of the operator, which is part of the children's label. */
  readonly operator: string | undefined
  readonly describe: (selector: ResourceSelector) => Resource
}

/** The parsed result of a reconciler. */
export interface TestReconciler {
  /** The children as an operator would apply them, in the order of their groups; undefined if the reconciler returned no `children`. */
  readonly children: readonly KubeObject[] | undefined
  /** In seconds. */
  readonly requeueAfter: number | undefined
}

/** Throws the PermanentError of an operator if the result is invalid. */
export function readTestRun(result: unknown, { handler, owner, operator, describe }: ReconcileTestRun): TestReconciler {
  const kinds = kindsOf(handler, describe)
  const label = toReconcilerLabel(operator, handler.id)
  const { requeueMs, groups } = readReconciled(result, {
    owner,
    kinds,
    label,
    existing: handler.reconciling.existing,
  })
  return {
    children: groups?.flatMap(({ children }) => children.map(({ object }) => object as unknown as KubeObject)),
    requeueAfter: requeueMs === undefined ? undefined : requeueMs / 1000,
  }
}

/** Builds the argument `children` from the existing children that the test gives. */
export function testChildren(objects: readonly object[], { handler, owner, describe }: ReconcileTestRun): Children {
  const kinds = kindsOf(handler, describe)
  const present = kinds.map((kind) => ({
    resource: kind.resource,
    objects: (objects as readonly KubeObject[]).filter((object) => findKind(kinds, object) === kind),
  }))
  return createChildren(present, owner.metadata.namespace)
}

/** The step functions that throw, for a reconciler that cannot have steps; undefined if it can. */
export function refusedSteps(handler: Handler): object | undefined {
  const why = handler.category === 'reconcile' ? whyNoSteps(handler, []) : undefined
  return why === undefined ? undefined : refuseSteps(handler, why)
}

function kindsOf({ reconciling }: ReconcileHandler, describe: ReconcileTestRun['describe']) {
  return reconciling.owns.map((selector) => ({ selector, resource: describe(selector) }))
}
