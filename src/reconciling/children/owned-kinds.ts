/** The kinds in `owns` of a reconciler: finds the one that a child belongs to, and checks the namespace of the child. Called by desired.ts. Pure. */
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { pluralize, type Resource } from '../../kube/resources/resources.ts'
import type { ResourceSelector } from '../../kube/resources/selectors.ts'

export interface OwnedKind {
  readonly selector: ResourceSelector
  /** Undefined while the cluster does not serve the kind. */
  readonly resource: Resource | undefined
}

interface TypedObject {
  readonly apiVersion: string
  readonly kind: string
}

/** Returns the owned kind of a child, or a description of the problem as the end of a sentence. */
export function findKind(kinds: readonly OwnedKind[], child: TypedObject): OwnedKind | string {
  const { group = '', version = '' } = parseGroupVersion(child.apiVersion) ?? {}
  const served = kinds.find(({ resource }) => resource?.group === group && resource.kind === child.kind)
  if (served?.resource !== undefined && served.resource.version !== version) {
    const watched = formatGroupVersion(served.resource.group, served.resource.version)
    return `has the apiVersion ${child.apiVersion}, but the owned kind has ${watched}: use the same version in both`
  }
  const found = served ?? kinds.find((kind) => mayBecome(kind, { group, version, kind: child.kind }))
  if (found !== undefined) return found
  const owned = kinds.map(({ selector }) => `"${selector}"`).join(', ')
  return `is of a kind that is not owned: add it to "owns"${owned === '' ? '' : `, which has ${owned}`}`
}

/** Whether a child may belong to a kind that the cluster does not serve yet: only the names in the selector can be compared. */
function mayBecome(
  { resource, selector }: OwnedKind,
  { group, version, kind }: { readonly group: string; readonly version: string; readonly kind: string },
): boolean {
  if (resource !== undefined) return false
  const names = [selector.kind, selector.plural, selector.singular, selector.name].filter((one) => one !== undefined)
  const lower = kind.toLowerCase()
  return (
    (selector.group === undefined || selector.group === group) &&
    (selector.version === undefined || selector.version === version) &&
    names.every((name) => typeof name === 'string' && [lower, pluralize(lower)].includes(name.toLowerCase()))
  )
}

/** Decides the namespace of a child. Kubernetes allows an owner only in the namespace of the child or without a namespace. */
export function placeChild(
  { resource }: OwnedKind,
  given: unknown,
  { metadata: { namespace: own } }: KubeObject,
): { readonly namespace: string | undefined } | { readonly problem: string } {
  const namespace = typeof given === 'string' && given !== '' ? given : own
  if (resource?.namespaced === false) {
    if (own === undefined) return { namespace: undefined }
    return { problem: 'is cluster-scoped: it cannot be owned by an object in a namespace' }
  }
  if (own !== undefined && namespace !== own) {
    return { problem: `is in the namespace "${namespace}": it cannot be owned by an object in "${own}"` }
  }
  if (namespace === undefined && resource !== undefined) {
    return { problem: 'has no "metadata.namespace", and its owner has none either' }
  }
  return { namespace }
}
