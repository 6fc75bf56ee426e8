/** Revision annotations that a Deployment writes to its ReplicaSets for rollbacks. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import {
  type Deployment,
  desiredReplicasAnnotation,
  historyAnnotation,
  maxReplicasAnnotation,
  revisionAnnotation,
  revisionOf,
} from './deployment-shapes.ts'
import { controllerReference } from './reading.ts'
import { rolloutLimits } from './rollout.ts'
import type { ReplicaSet } from './shapes.ts'
import { hashLabel, templateHash } from './template-hash.ts'

type RevisionAnnotations = Readonly<Record<string, string>>

const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  'deprecated.deployment.rollback.to',
])

const maxHistoryLength = 2000

/** The newest ReplicaSet has the annotations of the Deployment and its revision number, which only increases. */
export function newestAnnotations(
  { metadata }: Deployment,
  present: RevisionAnnotations,
  revision: number,
): RevisionAnnotations {
  const copied = Object.entries(metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key))
  const annotations = { ...present, ...Object.fromEntries(copied) }
  const before = present[revisionAnnotation]
  if (Number(before ?? 0) >= revision) return annotations
  const history = before === undefined ? {} : { [historyAnnotation]: appendHistory(present[historyAnnotation], before) }
  return { ...annotations, [revisionAnnotation]: String(revision), ...history }
}

/** Appends to the revision history; drops the oldest revisions if it becomes too long. */
function appendHistory(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(',') : []), revision]
  while (revisions.join(',').length > maxHistoryLength) revisions.shift()
  return revisions.join(',')
}

/** The desired and maximum replicas, from which a later sync detects that the Deployment was scaled. */
export function sizeAnnotations(deployment: Deployment): RevisionAnnotations {
  const { replicas } = deployment.spec
  return {
    [desiredReplicasAnnotation]: String(replicas),
    [maxReplicasAnnotation]: String(replicas + rolloutLimits(deployment).surge),
  }
}

export function lastRevision(sets: readonly KubeObject[]): number {
  return Math.max(0, ...sets.map(revisionOf))
}

/** A new ReplicaSet for the Deployment's current template. */
export function toReplicaSet(deployment: Deployment, replicas: number, revision: number): ReplicaSet {
  const { spec, status, metadata } = deployment
  const { name = '', namespace = '' } = metadata
  const { template, minReadySeconds } = spec
  const hash = templateHash(template, status.collisionCount)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  const selector = spec.selector as { readonly matchLabels?: object }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name.slice(0, 252 - hash.length)}-${hash}`,
      namespace,
      labels,
      annotations: { ...newestAnnotations(deployment, {}, revision), ...sizeAnnotations(deployment) },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0 },
  } as ReplicaSet
}

/** Old ReplicaSets beyond the history limit, lowest revisions first; only those without replicas. */
export function expiredReplicaSets({ spec }: Deployment, old: readonly ReplicaSet[]): ReplicaSet[] {
  const { revisionHistoryLimit = noLimit } = spec
  const remaining = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const surplus = [...remaining]
    .sort((one, other) => revisionOf(one) - revisionOf(other))
    .slice(0, Math.max(0, remaining.length - revisionHistoryLimit))
  return surplus.filter(
    ({ spec: { replicas }, status, metadata }) =>
      replicas === 0 && status.replicas === 0 && (status.observedGeneration ?? 0) >= metadata.generation!,
  )
}

const noLimit = 2 ** 31 - 1
