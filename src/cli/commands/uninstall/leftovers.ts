/** Objects of an operator in a cluster, apart from its Deployment and roles: what `kopf uninstall` finds (find-leftovers.ts) and removes (remove-leftovers.ts). */
import type { Located, ObjectKey } from '../../../client/paths.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { Resource } from '../../../kube/resources/resources.ts'
import type { HeldByFinalizer } from '../release-objects.ts'

/** A resource with its kind, for requests and messages. */
export type LeftoverResource = Located & Pick<Resource, 'kind'>

export type Leftover =
  /** An object that is deleted, unless it was replaced by another of the same name. */
  | {
      readonly type: 'object'
      readonly resource: LeftoverResource
      readonly object: KubeObject
      /** Whether the object is deleted only if it has not changed: a Lease that is renewed belongs to an operator that runs. */
      readonly isGuarded?: boolean
    }
  | { readonly type: 'finalizer'; readonly resource: Resource; readonly held: readonly HeldByFinalizer[] }
  /** Expired records in a peering object, which itself stays. */
  | {
      readonly type: 'records'
      readonly resource: LeftoverResource
      readonly object: KubeObject
      readonly identities: readonly string[]
    }
  /** A CRD, which is deleted with all objects of its resource. */
  | { readonly type: 'crd'; readonly object: KubeObject; readonly resource: Located; readonly objects: number }

export interface FoundLeftovers {
  /** In the order of removal: webhooks first, since they could reject the following writes; CRDs last. */
  readonly leftovers: readonly Leftover[]
  /** Signs that the operator still runs, as sentences without a full stop. */
  readonly signs: readonly string[]
  /** Objects that stay, with the reason. */
  readonly notes: readonly string[]
  /** Searches that were not allowed, with the rule that is needed. */
  readonly problems: readonly string[]
}

export function describeObject({ kind }: Pick<LeftoverResource, 'kind'>, { metadata }: KubeObject): string {
  const { name, namespace } = metadata
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

export function keyOfObject({ metadata }: KubeObject): ObjectKey {
  return { name: metadata.name!, namespace: metadata.namespace }
}

export function countObjects(number: number): string {
  return `${number} ${number === 1 ? 'object' : 'objects'}`
}
