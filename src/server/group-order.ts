/**
 * In which order groups and versions are shown, and thereby which one is preferred: `kubectl get` by a short name takes the
 * first group that knows it. Called by discovery.
 */
import { compareKubeVersions } from '../kube/kube-versions.ts'
import type { ServedResource } from './resource.ts'

/** The priorities that the real server's aggregator is given; those of CRDs are all the same, and lower. */
const groupPriorities: Readonly<Record<string, number>> = {
  'apiregistration.k8s.io': 20000,
  '': 18000,
  apps: 17800,
  'events.k8s.io': 17750,
  'authentication.k8s.io': 17700,
  'authorization.k8s.io': 17600,
  autoscaling: 17500,
  batch: 17400,
  'certificates.k8s.io': 17300,
  'networking.k8s.io': 17200,
  policy: 17100,
  'rbac.authorization.k8s.io': 17000,
  'storage.k8s.io': 16800,
  'admissionregistration.k8s.io': 16700,
  'apiextensions.k8s.io': 16700,
  'scheduling.k8s.io': 16600,
  'coordination.k8s.io': 16500,
  'node.k8s.io': 16300,
  'discovery.k8s.io': 16200,
  'resource.k8s.io': 16200,
  'flowcontrol.apiserver.k8s.io': 16100,
}

const customPriority = 1000

export interface Group {
  readonly name: string
  /** The preferred one first. */
  readonly versions: readonly string[]
}

/** Groups of the same priority come by `name`, or by the version and the name, as the older form of discovery has them. */
export function sortGroups(resources: readonly ServedResource[], tie: 'name' | 'version'): Group[] {
  const versions = new Map<string, Set<string>>()
  for (const { group, version } of resources) {
    const known = versions.get(group) ?? new Set()
    versions.set(group, known.add(version))
  }
  const groups = [...versions].map(([name, set]) => ({
    name,
    versions: [...set].sort((one, other) => compareKubeVersions(other, one)),
  }))
  const keyOf = tie === 'name' ? (group: Group) => group.name : serviceName
  return groups.sort((one, other) => priorityOf(other) - priorityOf(one) || (keyOf(one) < keyOf(other) ? -1 : 1))
}

function priorityOf({ name }: Group): number {
  return Object.hasOwn(groupPriorities, name) ? groupPriorities[name]! : customPriority
}

/** APIServices are named by the version first: the older form of discovery goes through them in the order of their names. */
function serviceName({ name, versions }: Group): string {
  return `${versions.toSorted()[0]}.${name}`
}
