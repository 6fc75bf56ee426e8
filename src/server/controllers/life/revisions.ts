/** What a deployment writes on its replica sets so that it can be rolled back: revisions, and its own annotations. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import {
  type Deployment,
  desiredAnnotation,
  historyAnnotation,
  maximumAnnotation,
  revisionAnnotation,
  revisionOf,
} from './deployment-shapes.ts'
import { controllerReference } from './reading.ts'
import { fencesOf } from './rollout.ts'
import type { ReplicaSet } from './shapes.ts'
import { hashLabel, templateHash } from './template-hash.ts'

type Annotations = Readonly<Record<string, string>>

const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maximumAnnotation,
  'deprecated.deployment.rollback.to',
])

const longestHistory = 2000

/** The newest replica set has those of the deployment, and the number of its revision, which only ever grows. */
export function newestAnnotations({ metadata }: Deployment, present: Annotations, revision: number): Annotations {
  const copied = Object.entries(metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key))
  const annotations = { ...present, ...Object.fromEntries(copied) }
  const before = present[revisionAnnotation]
  if (Number(before ?? 0) >= revision) return annotations
  const history = before === undefined ? {} : { [historyAnnotation]: grownHistory(present[historyAnnotation], before) }
  return { ...annotations, [revisionAnnotation]: String(revision), ...history }
}

/** The revisions that one replica set has been, the latest ones where there are too many. */
function grownHistory(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(',') : []), revision]
  while (revisions.join(',').length > longestHistory) revisions.shift()
  return revisions.join(',')
}

/** How many there are to be, by which it can be seen later whether somebody has scaled the deployment. */
export function sizeAnnotations(deployment: Deployment): Annotations {
  const { replicas } = deployment.spec
  return { [desiredAnnotation]: String(replicas), [maximumAnnotation]: String(replicas + fencesOf(deployment).surge) }
}

export function lastRevision(sets: readonly KubeObject[]): number {
  return Math.max(0, ...sets.map(revisionOf))
}

/** A replica set to be created, for the present template of the deployment. */
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

/** Old replica sets that nobody will go back to: beyond the limit, the oldest revisions first, and only where all is quiet. */
export function forgotten({ spec }: Deployment, old: readonly ReplicaSet[]): ReplicaSet[] {
  const { revisionHistoryLimit = noLimit } = spec
  const there = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const surplus = [...there]
    .sort((one, other) => revisionOf(one) - revisionOf(other))
    .slice(0, Math.max(0, there.length - revisionHistoryLimit))
  return surplus.filter(
    ({ spec: { replicas }, status, metadata }) =>
      replicas === 0 && status.replicas === 0 && (status.observedGeneration ?? 0) >= metadata.generation!,
  )
}

const noLimit = 2 ** 31 - 1
