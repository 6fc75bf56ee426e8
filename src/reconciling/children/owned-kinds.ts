/** The kinds that a reconciler owns: which of them a child is of, and where it may live. Pure. */
import { formatGroupVersion, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { pluralize, type Resource } from '../../kube/resources/resources.ts'
import type { ResourceSelector } from '../../kube/resources/selectors.ts'

export interface OwnedKind {
  readonly selector: ResourceSelector
  /** Undefined where the cluster does not serve it, or not yet. */
  readonly resource: Resource | undefined
}

interface TypedObject {
  readonly apiVersion: string
  readonly kind: string
}

/** Or what is wrong with the child, as the end of a sentence. */
export function findKind(kinds: readonly OwnedKind[], child: TypedObject): OwnedKind | string {
  const { group = '', version = '' } = parseGroupVersion(child.apiVersion) ?? {}
  const served = kinds.find(({ resource }) => resource?.group === group && resource.kind === child.kind)
  if (served?.resource !== undefined && served.resource.version !== version) {
    const watched = formatGroupVersion(served.resource.group, served.resource.version)
    return `is of ${child.apiVersion}, and what is owned are those of ${watched}: use the same version in both`
  }
  const found = served ?? kinds.find((kind) => mayBecome(kind, { group, version, kind: child.kind }))
  if (found !== undefined) return found
  const owned = kinds.map(({ selector }) => `"${selector}"`).join(', ')
  return `is of a kind that is not owned: add it to "owns"${owned === '' ? '' : `, where there is ${owned}`}`
}

/** Of a kind that is not there nobody knows more than how it was named. */
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

/** Owner references lead from a child to its own namespace, or out of all of them: never into another one. */
export function placeChild(
  { resource }: OwnedKind,
  given: unknown,
  { metadata: { namespace: own } }: KubeObject,
): { readonly namespace: string | undefined } | { readonly problem: string } {
  const namespace = typeof given === 'string' && given !== '' ? given : own
  if (resource?.namespaced === false) {
    if (own === undefined) return { namespace: undefined }
    return { problem: 'is of the whole cluster: it cannot be owned by an object in a namespace' }
  }
  if (own !== undefined && namespace !== own) {
    return { problem: `is in the namespace "${namespace}": it cannot be owned by an object in "${own}"` }
  }
  if (namespace === undefined && resource !== undefined) {
    return { problem: 'has no "metadata.namespace", and the object has none that it could be in' }
  }
  return { namespace }
}
