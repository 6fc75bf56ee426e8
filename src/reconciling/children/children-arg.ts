/** Builds the argument `children` of a reconciler: the existing children by kind and by name, frozen. */
import type { Body, Children } from '../../handlers/args/args.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource, ResourceLike } from '../../kube/resources/resources.ts'
import { toSelector } from '../../kube/resources/selectors.ts'
import { deepFreeze } from '../../util/json/deep-freeze.ts'

export interface ChildrenOfKind {
  readonly resource: Resource
  readonly objects: readonly KubeObject[]
}

export function createChildren(kinds: readonly ChildrenOfKind[], namespace: string | undefined): Children {
  for (const { objects } of kinds) for (const object of objects) deepFreeze(object)
  const all = kinds.flatMap(({ objects }) => objects)
  const of = (like: ResourceLike) => {
    const selector = toSelector(like)
    return kinds.filter(({ resource }) => selector.matchesAnyVersion(resource)).flatMap(({ objects }) => objects)
  }
  return {
    size: all.length,
    of: (like) => of(like) as never,
    get: (like, name, { namespace: where = namespace } = {}) => {
      const found = of(like).find(({ metadata }) => metadata.name === name && isIn(metadata.namespace, where))
      return found as never
    },
    [Symbol.iterator]: () => all[Symbol.iterator]() as never as Iterator<Body>,
  }
}

/** A cluster-scoped child has no namespace and matches any. */
function isIn(namespace: string | undefined, where: string | undefined): boolean {
  return namespace === undefined || namespace === where
}
