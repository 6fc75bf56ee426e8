/** Computes the sizes of a Deployment's ReplicaSets during a rollout. Pure. */

import { type Deployment, desiredReplicasAnnotation, maxReplicasAnnotation } from './deployment-shapes.ts'
import type { ReplicaSet } from './shapes.ts'
import { parseTime } from './times.ts'

/** A ReplicaSet and its new number of replicas. */
export interface Scaling {
  readonly set: ReplicaSet
  readonly replicas: number
}

interface RolloutLimits {
  readonly surge: number
  readonly unavailable: number
}

/** maxSurge and maxUnavailable as absolute numbers; never both zero, otherwise the rollout could not progress. */
export function rolloutLimits({ spec }: Deployment): RolloutLimits {
  if (spec.strategy.type !== 'RollingUpdate') return { surge: 0, unavailable: 0 }
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy.rollingUpdate ?? {}
  const surge = scaled(maxSurge, spec.replicas, Math.ceil)
  const unavailable = scaled(maxUnavailable, spec.replicas, Math.floor)
  if (surge === 0 && unavailable === 0) return { surge, unavailable: Math.min(1, spec.replicas) }
  return { surge, unavailable: Math.min(unavailable, spec.replicas) }
}

/** A number, or a percentage of `total`. */
export function scaled(value: number | string, total: number, round: (value: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseInt(value, 10) * total) / 100)
}

function totalReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + spec.replicas, 0)
}

function availableIn(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { status }) => sum + (status.availableReplicas ?? 0), 0)
}

/** The size of the newest ReplicaSet: as large as maxSurge allows. */
export function newestSize(deployment: Deployment, current: number, all: readonly ReplicaSet[]): number {
  const { replicas, strategy } = deployment.spec
  if (strategy.type === 'Recreate' || current >= replicas) return replicas
  const room = replicas + rolloutLimits(deployment).surge - totalReplicas(all)
  return room <= 0 ? current : current + Math.min(room, replicas - current)
}

/** Scales down old ReplicaSets: unhealthy replicas first, then as many as maxUnavailable allows. */
export function shrinkOld(deployment: Deployment, newest: ReplicaSet, old: readonly ReplicaSet[]): Scaling[] {
  if (totalReplicas(old) === 0) return []
  const minimum = deployment.spec.replicas - rolloutLimits(deployment).unavailable
  const newestMissing = newest.spec.replicas - (newest.status.availableReplicas ?? 0)
  const spare = totalReplicas([...old, newest]) - minimum - newestMissing
  if (spare <= 0) return []
  const sizes = new Map(old.map((set) => [set, set.spec.replicas]))
  const oldestFirst = [...old].sort(byAge)
  takeUnhealthy(sizes, oldestFirst, spare)
  takeAvailable(sizes, oldestFirst, availableIn([...old, newest]) - minimum)
  return oldestFirst
    .map((set) => ({ set, replicas: sizes.get(set)! }))
    .filter(({ set, replicas }) => replicas !== set.spec.replicas)
}

function takeUnhealthy(sizes: Map<ReplicaSet, number>, sets: readonly ReplicaSet[], max: number): void {
  let taken = 0
  for (const set of sets) {
    const size = sizes.get(set)!
    const some = Math.min(max - taken, size - (set.status.availableReplicas ?? 0))
    if (some <= 0) continue
    sizes.set(set, size - some)
    taken += some
  }
}

function takeAvailable(sizes: Map<ReplicaSet, number>, sets: readonly ReplicaSet[], max: number): void {
  let taken = 0
  for (const set of sets) {
    const size = sizes.get(set)!
    const some = Math.min(size, max - taken)
    if (some <= 0) continue
    sizes.set(set, size - some)
    taken += some
  }
}

export function byAge(one: ReplicaSet, other: ReplicaSet): number {
  return (
    parseTime(one.metadata.creationTimestamp) - parseTime(other.metadata.creationTimestamp) ||
    (one.metadata.name! < other.metadata.name! ? -1 : 1)
  )
}

/** True if the Deployment was scaled since the last write of the desired-replicas annotation. */
export function isScaled({ spec }: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some(({ metadata, spec: { replicas } }) => {
    const desired = metadata.annotations?.[desiredReplicasAnnotation]
    return replicas > 0 && desired !== undefined && Number(desired) !== spec.replicas
  })
}

/** During a rollout, scales all ReplicaSets proportionally; otherwise scales the only active one. */
export function rescale(deployment: Deployment, newest: ReplicaSet | undefined, old: readonly ReplicaSet[]): Scaling[] {
  const { replicas } = deployment.spec
  const all = newest === undefined ? old : [...old, newest]
  const active = all.filter(({ spec }) => spec.replicas > 0)
  const single = active.length > 1 ? undefined : (active[0] ?? newest ?? [...old].sort(byAge).at(-1))
  if (single !== undefined) return single.spec.replicas === replicas ? [] : [{ set: single, replicas }]
  if (newest !== undefined && isSaturated(deployment, newest)) {
    return active.filter((set) => set !== newest).map((set) => ({ set, replicas: 0 }))
  }
  return deployment.spec.strategy.type === 'RollingUpdate' ? inProportion(deployment, active) : []
}

function isSaturated({ spec }: Deployment, newest: ReplicaSet): boolean {
  const desired = Number(newest.metadata.annotations?.[desiredReplicasAnnotation])
  return [newest.spec.replicas, desired, newest.status.availableReplicas].every((count) => count === spec.replicas)
}

function inProportion(deployment: Deployment, active: readonly ReplicaSet[]): Scaling[] {
  const { replicas } = deployment.spec
  const allowed = replicas > 0 ? replicas + rolloutLimits(deployment).surge : 0
  const toAdd = allowed - totalReplicas(active)
  const newestFirst = toAdd > 0 ? -1 : 1
  const sorted = [...active].sort(
    (one, other) => other.spec.replicas - one.spec.replicas || newestFirst * byAge(one, other),
  )
  let added = 0
  const scalings = sorted.map((set) => {
    const share = shareOf(deployment, set, { toAdd, added })
    added += share
    return { set, replicas: set.spec.replicas + share }
  })
  // The largest ReplicaSet gets the rounding remainder.
  return scalings.map(({ set, replicas: size }, index) => ({
    set,
    replicas: index === 0 ? Math.max(0, size + toAdd - added) : size,
  }))
}

function shareOf(
  deployment: Deployment,
  { spec, metadata }: ReplicaSet,
  { toAdd, added }: { readonly toAdd: number; readonly added: number },
): number {
  const { replicas } = deployment.spec
  if (toAdd === added) return 0
  if (replicas === 0) return -spec.replicas
  const before = Number(metadata.annotations?.[maxReplicasAnnotation] ?? deployment.status.replicas ?? 0)
  const size = Math.round((spec.replicas * (replicas + rolloutLimits(deployment).surge)) / before)
  const share = size - spec.replicas
  return toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added)
}
