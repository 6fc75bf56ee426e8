/**
 * Ownership through the scale subresource: who owns the replicas of an object owns those of its Scale, and the other way
 * round. As the real server does it, to the letter: an updater that scaled is known by the version of the Scale meanwhile, so
 * it is taken for another one on the way back, and loses its time.
 */
import { difference, has, isEmpty, toFieldSet } from './field-set.ts'
import { identityOf, type Manager } from './managers.ts'

const scaleVersion = 'autoscaling/v1'
const replicas = ['f:spec', 'f:replicas']
const replicasOnly = toFieldSet(replicas)

/** Where the replicas are in a version; null where it has no scale, undefined for a version that is not known. */
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
