/**
 * Managed fields through the scale subresource: the manager of an object's replicas is the manager of the Scale's replicas, and vice
 * versa. Exactly as in kube-apiserver: an Update manager has the Scale's version in between, so it counts as another manager when
 * mapped back, and loses its time.
 */
import { difference, has, isEmpty, toFieldSet } from './field-set.ts'
import { identityOf, type Manager } from './managers.ts'

const scaleVersion = 'autoscaling/v1'
const replicas = ['f:spec', 'f:replicas']
const replicasOnly = toFieldSet(replicas)

/** The path of the replicas in a version; null if the version has no scale, undefined if it is unknown. */
export type ReplicasPath = (apiVersion: string) => readonly string[] | null | undefined

/** `.spec.replicas` -> `f:spec`, `f:replicas` */
export function toReplicasPath(path: string): string[] {
  return path
    .replace(/^\./, '')
    .split('.')
    .map((name) => `f:${name}`)
}

export function toScaleManagers(managers: readonly Manager[], pathOf: ReplicasPath): Manager[] {
  return managers.flatMap((manager) => {
    const path = pathOf(manager.apiVersion)
    if (!path || !has(manager.fields, path)) return []
    return { ...manager, apiVersion: scaleVersion, fields: replicasOnly }
  })
}

export interface Parent {
  readonly managers: readonly Manager[]
  readonly apiVersion: string
  readonly pathOf: ReplicasPath
}

export function fromScaleManagers(scaled: readonly Manager[], { managers, apiVersion, pathOf }: Parent): Manager[] {
  const left = new Map(scaled.map((manager) => [identityOf(manager), manager]))
  const kept = managers.flatMap((manager) => {
    const path = pathOf(manager.apiVersion)
    if (path === undefined) return []
    if (path === null || !has(manager.fields, path)) return manager
    if (left.delete(identityOf(manager))) return manager
    const fields = difference(manager.fields, toFieldSet(path))
    return isEmpty(fields) ? [] : { ...manager, fields }
  })
  const path = pathOf(apiVersion)!
  const fields = toFieldSet(path)
  const times = new Map(managers.map((manager) => [identityOf(manager), manager.time]))
  const taken = [...left].filter(([, manager]) => has(manager.fields, replicas))
  return [...kept, ...taken.map(([id, manager]) => ({ ...manager, apiVersion, fields, time: times.get(id) }))]
}
