/**
 * The admission plugin Priority for new pods: the pod's PriorityClass, or the global default, determines its priority and preemption
 * policy. The two system classes count as present, since kube-apiserver creates them at its start.
 */
import type { KubeObject } from '../kube/objects.ts'
import { systemPriorities } from './builtins/kinds/pods.ts'
import type { ApiResource } from './resource.ts'
import { forbidden, type StatusError } from './status.ts'
import type { ServerStore } from './storage/store.ts'
import { parseStored } from './storage/stored.ts'

interface PriorityClass {
  readonly name: string
  readonly value: number
  readonly preemptionPolicy: string
}

interface PrioritySpec {
  priorityClassName?: string
  priority?: number
  preemptionPolicy?: string
}

const collection = 'scheduling.k8s.io/priorityclasses'

export function admitPriority(store: ServerStore, resource: ApiResource, pod: KubeObject): void {
  const spec = pod['spec'] as PrioritySpec | undefined
  if (spec === undefined) return
  const refuse = (why: string): StatusError => forbidden(resource, pod.metadata.name ?? '', why)
  const { priorityClassName: name = '' } = spec
  const found = name === '' ? defaultClass(store) : classNamed(store, name)
  if (found === undefined) throw refuse(`no PriorityClass with name ${name} was found`)
  const { value, preemptionPolicy } = found
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refuse(`the integer value of priority (${spec.priority}) ${mustNotBeGiven} ${value} ${fromClass}`)
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) ${mustNotBeGiven} ${preemptionPolicy} ${fromClass}`,
    )
  }
  if (found.name !== '') spec.priorityClassName = found.name
  spec.priority = value
  spec.preemptionPolicy = preemptionPolicy
}

const mustNotBeGiven = 'must not be provided in pod spec; priority admission controller computed'
const fromClass = 'from the given PriorityClass name'

function classNamed(store: ServerStore, name: string): PriorityClass | undefined {
  const stored = store.collection(collection).get(name)
  if (stored !== undefined) return toClass(parseStored(stored))
  const value = Object.hasOwn(systemPriorities, name) ? systemPriorities[name] : undefined
  return value === undefined ? undefined : { name, value, preemptionPolicy: 'PreemptLowerPriority' }
}

/** Of several global defaults, the class with the lowest value is used. */
function defaultClass(store: ServerStore): PriorityClass {
  const defaults = [...store.collection(collection).values()]
    .filter(({ json }) => json.includes('"globalDefault":true'))
    .map((stored) => toClass(parseStored(stored)))
  const [lowest] = defaults.sort((one, other) => one.value - other.value)
  return lowest ?? { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' }
}

function toClass(object: KubeObject): PriorityClass {
  const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = object as Partial<PriorityClass> & KubeObject
  return { name: object.metadata.name ?? '', value, preemptionPolicy }
}
