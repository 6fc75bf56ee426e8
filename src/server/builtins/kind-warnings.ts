/** Which kinds are warned about: those that hold pods, by where the pod's template is, and ingresses. */
import type { KubeObject } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import { labelProblems } from '../names.ts'
import type { Strategy } from '../resource.ts'
import { podWarnings, type WarnedPod } from './pod-warnings.ts'
import { type Fields, isFields } from './values.ts'

interface Holder {
  /** The way to the template. */
  readonly template: readonly string[]
  /** The names of pods begin with that of the object. */
  readonly isNamesake?: boolean
}

const template = ['spec', 'template']
const isNamesake = true

const holders: Readonly<Record<string, Holder>> = {
  'apps.v1.Deployment': { template, isNamesake },
  'apps.v1.ReplicaSet': { template, isNamesake },
  'core.v1.ReplicationController': { template, isNamesake },
  'apps.v1.DaemonSet': { template },
  'apps.v1.StatefulSet': { template },
  'batch.v1.Job': { template, isNamesake },
  'batch.v1.CronJob': { template: ['spec', 'jobTemplate', 'spec', 'template'], isNamesake },
  'core.v1.PodTemplate': { template: ['template'] },
}

type Warn = NonNullable<Strategy['warnings']>

/** By the name of the kind's type; undefined for those that nobody warns about. */
export function kindWarnings(type: string): Warn | undefined {
  if (type === 'core.v1.Pod') return warnOfPod
  if (type === 'networking.v1.Ingress') return warnOfIngress
  const holder = Object.hasOwn(holders, type) ? holders[type] : undefined
  return holder && ((object, old) => warnOfHolder(holder, object, old))
}

function warnOfHolder({ template: way, isNamesake: hasName }: Holder, object: KubeObject, old?: KubeObject): string[] {
  // Of an update only where it changes what the object is for.
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
  if (old !== undefined || !isSet || (spec as Fields | undefined)?.['ingressClassName'] !== undefined) return []
  return [`annotation ${quote(classAnnotation)} is deprecated, please use 'spec.ingressClassName' instead`]
}
