/**
 * The order of groups and versions in discovery, which decides the preferred one: `kubectl get` with a short name takes the first
 * group that knows it.
 */
import { compareKubeVersions } from '../kube/crds/kube-versions.ts'
import type { ApiResource } from './resource.ts'

/** The priorities of kube-apiserver's aggregator. The groups of CRDs share one lower priority. */
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

export interface ApiGroup {
  readonly name: string
  /** The preferred version first. */
  readonly versions: readonly string[]
}

/** Groups of equal priority are sorted by `name`, or by version and name as in the older form of discovery. */
export function sortGroups(resources: readonly ApiResource[], tie: 'name' | 'version'): ApiGroup[] {
  const versions = new Map<string, Set<string>>()
  for (const { group, version } of resources) {
    const known = versions.get(group) ?? new Set()
    versions.set(group, known.add(version))
  }
  const groups = [...versions].map(([name, set]) => ({
    name,
    versions: [...set].sort((one, other) => compareKubeVersions(other, one)),
  }))
  const keyOf = tie === 'name' ? (group: ApiGroup) => group.name : serviceName
  return groups.sort((one, other) => priorityOf(other) - priorityOf(one) || (keyOf(one) < keyOf(other) ? -1 : 1))
}

function priorityOf({ name }: ApiGroup): number {
  return Object.hasOwn(groupPriorities, name) ? groupPriorities[name]! : customPriority
}

/** An APIService is named `<version>.<group>`; the older form of discovery lists them in the order of their names. */
function serviceName({ name, versions }: ApiGroup): string {
  return `${versions.toSorted()[0]}.${name}`
}
