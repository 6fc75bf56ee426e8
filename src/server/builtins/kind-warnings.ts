/** Maps kinds to their warnings: pods, kinds with a pod template (and the path of that template), and ingresses. */
import type { KubeObject } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import { labelProblems } from '../names.ts'
import type { Strategy } from '../resource.ts'
import { podWarnings, type WarnedPod } from './pod-warnings.ts'
import { isFields, type ObjectFields } from './values.ts'

interface TemplatedKind {
  /** Path of the pod template. */
  readonly template: readonly string[]
  /** True if the names of the pods begin with the object's name. */
  readonly prefixesPodNames?: boolean
}

const template = ['spec', 'template']
const prefixesPodNames = true

const templatedKinds: Readonly<Record<string, TemplatedKind>> = {
  'apps.v1.Deployment': { template, prefixesPodNames },
  'apps.v1.ReplicaSet': { template, prefixesPodNames },
  'core.v1.ReplicationController': { template, prefixesPodNames },
  'apps.v1.DaemonSet': { template },
  'apps.v1.StatefulSet': { template },
  'batch.v1.Job': { template, prefixesPodNames },
  'batch.v1.CronJob': { template: ['spec', 'jobTemplate', 'spec', 'template'], prefixesPodNames },
  'core.v1.PodTemplate': { template: ['template'] },
}

type Warn = NonNullable<Strategy['warnings']>

/** Looks up by type name; undefined for kinds without warnings. */
export function kindWarnings(type: string): Warn | undefined {
  if (type === 'core.v1.Pod') return warnOfPod
  if (type === 'networking.v1.Ingress') return warnOfIngress
  const kind = Object.hasOwn(templatedKinds, type) ? templatedKinds[type] : undefined
  return kind && ((object, old) => warnOfTemplate(kind, object, old))
}

function warnOfTemplate(
  { template: way, prefixesPodNames: hasName }: TemplatedKind,
  object: KubeObject,
  old?: KubeObject,
): string[] {
  // An update warns only if it changes the spec, which increments the generation.
  if (old !== undefined && object.metadata.generation === old.metadata.generation) return []
  const pod = way.reduce<unknown>((value, key) => (isFields(value) ? value[key] : undefined), object)
  const names = hasName && old === undefined ? nameWarnings(object, 'Pod names and hostnames') : []
  return [...names, ...(isFields(pod) ? podWarnings(way.join('.'), pod as WarnedPod) : [])]
}

function warnOfPod(object: KubeObject, old?: KubeObject): string[] {
  if (old !== undefined) return []
  return [...nameWarnings(object, "the Pod's hostname"), ...podWarnings('', object as WarnedPod)]
}

function nameWarnings({ metadata }: KubeObject, use: string): string[] {
  const problems = labelProblems(metadata.name ?? '')
  if (problems.length === 0) return []
  const effect = 'which can result in surprising behavior; a DNS label is recommended'
  return [`metadata.name: this is used in ${use}, ${effect}: [${problems.join(' ')}]`]
}

const classAnnotation = 'kubernetes.io/ingress.class'

function warnOfIngress({ metadata, spec }: KubeObject, old?: KubeObject): string[] {
  const isSet = metadata.annotations?.[classAnnotation] !== undefined
  if (old !== undefined || !isSet || (spec as ObjectFields | undefined)?.['ingressClassName'] !== undefined) return []
  return [`annotation ${quote(classAnnotation)} is deprecated, please use 'spec.ingressClassName' instead`]
}
