/** A reconciler that is tried out by itself: the children it is given, and what it has returned, as in an operator. For kopf/testing. */
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
  /** The name of the operator. */
  readonly operator: string | undefined
  readonly describe: (selector: ResourceSelector) => Resource
}

/** What would follow from what a reconciler has returned. */
export interface TestReconciler {
  /** As they would be applied, in the order of their groups; undefined where it said nothing of children. */
  readonly children: readonly KubeObject[] | undefined
  /** In seconds. */
  readonly requeueAfter: number | undefined
}

/** Throws for what an operator would refuse. */
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

/** Those that the object is said to have. */
export function testChildren(objects: readonly object[], { handler, owner, describe }: ReconcileTestRun): Children {
  const kinds = kindsOf(handler, describe)
  const present = kinds.map((kind) => ({
    resource: kind.resource,
    objects: (objects as readonly KubeObject[]).filter((object) => findKind(kinds, object) === kind),
  }))
  return createChildren(present, owner.metadata.namespace)
}

/** What it is given in the place of steps, where it has none. */
export function refusedSteps(handler: Handler): object | undefined {
  const why = handler.category === 'reconcile' ? whyNoSteps(handler, []) : undefined
  return why === undefined ? undefined : refuseSteps(handler, why)
}

function kindsOf({ reconciling }: ReconcileHandler, describe: ReconcileTestRun['describe']) {
  return reconciling.owns.map((selector) => ({ selector, resource: describe(selector) }))
}
