/** Rules for Pod: QoS class, the fields set by default admission plugins, and the immutable fields. */
import type { KubeObject } from '../../../kube/objects.ts'
import { nanosOf } from '../../../kube/quantities.ts'
import { type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { qualifiedNameProblems } from '../../names.ts'
import { checkImmutable, checkOneOf, problemsAt, rangeProblem } from '../checks.ts'
import { describeDifference } from '../difference.ts'
import type { KindRules } from '../strategy.ts'
import { checkPodSpec, checkPodTemplate, checkTolerations } from '../validation/pod-spec.ts'
import type { Amounts, Container, PodSpec, PodTemplate, Toleration } from '../validation/shapes.ts'
import { isEqual, type ObjectFields, part } from '../values.ts'

const specOf = (pod: KubeObject): Partial<PodSpec> => part<PodSpec>(pod, 'spec')

function qosClass(spec: Partial<PodSpec>): string {
  const compute = ['cpu', 'memory']
  const amounts = (list: Amounts | undefined): Array<readonly [string, bigint]> =>
    Object.entries(list ?? {})
      .filter(([name, amount]) => compute.includes(name) && nanosOf(amount) > 0n)
      .map(([name, amount]) => [name, nanosOf(amount)])
  const sums = { requests: new Map<string, bigint>(), limits: new Map<string, bigint>() }
  let isLimited = true
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const [name, size] of amounts(resources?.requests))
      sums.requests.set(name, (sums.requests.get(name) ?? 0n) + size)
    const limits = amounts(resources?.limits)
    for (const [name, size] of limits) sums.limits.set(name, (sums.limits.get(name) ?? 0n) + size)
    if (limits.length < compute.length) isLimited = false
  }
  if (sums.requests.size === 0 && sums.limits.size === 0) return 'BestEffort'
  const isCovered =
    sums.requests.size === sums.limits.size &&
    [...sums.requests].every(([name, size]) => sums.limits.get(name) === size)
  return isLimited && isCovered ? 'Guaranteed' : 'Burstable'
}

/** Priority classes that the real API server creates itself, with their values. */
export const systemPriorities: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}

/**
 * Sets the fields that the default admission plugins DefaultTolerationSeconds, ServiceAccount and Priority (for pods without a
 * class) set on a new pod. The token volume of the service account is omitted: this server runs no containers that could read
 * it.
 */
function admitPod(pod: KubeObject): void {
  const spec = pod['spec'] as ObjectFields
  const tolerations = (spec['tolerations'] ?? []) as Toleration[]
  const tolerates = (taint: string): boolean =>
    tolerations.some(({ key, effect }) => (!key || key === taint) && (!effect || effect === 'NoExecute'))
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((taint) => !tolerates(taint))
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }))
  spec['tolerations'] = [...tolerations, ...added]
  // Only for a pod without a class: pod-priority.ts, which knows the PriorityClasses, has resolved all other pods.
  if (!spec['priorityClassName']) spec['priority'] ??= 0
  spec['preemptionPolicy'] ??= 'PreemptLowerPriority'
  spec['serviceAccountName'] ||= 'default'
  spec['serviceAccount'] = spec['serviceAccountName']
}

function prepareForCreate(pod: KubeObject): void {
  admitPod(pod)
  const spec = specOf(pod)
  const gated = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
    lastTransitionTime: pod.metadata.creationTimestamp,
  }
  const isGated = (spec.schedulingGates ?? []).length > 0
  pod['status'] = { phase: 'Pending', qosClass: qosClass(spec), ...(isGated && { conditions: [gated] }) }
}

/** A `/status` update cannot remove the QoS class or change deletionTimestamp and ownerReferences. */
function prepareForStatusUpdate(pod: KubeObject, old: KubeObject): void {
  const status = pod['status'] as ObjectFields
  status['qosClass'] ??= part<{ qosClass: string }>(old, 'status').qosClass
  if (old.metadata.deletionTimestamp === undefined) delete pod.metadata.deletionTimestamp
  else pod.metadata.deletionTimestamp = old.metadata.deletionTimestamp
  if (old.metadata.ownerReferences === undefined) delete pod.metadata.ownerReferences
  else pod.metadata.ownerReferences = old.metadata.ownerReferences
}

function checkPod(pod: KubeObject): FieldError[] {
  const spec = specOf(pod)
  return [
    ...checkPodSpec('spec', spec, true),
    ...checkImages('spec.containers', spec.containers ?? []),
    ...checkImages('spec.initContainers', spec.initContainers ?? []),
  ]
}

function checkImages(path: string, containers: readonly Container[]): FieldError[] {
  return containers.flatMap(({ image = '' }, index) =>
    image === image.trim()
      ? []
      : [invalid(`${path}[${index}].image`, image, 'must not have leading or trailing whitespace')],
  )
}

function validate(pod: KubeObject): FieldError[] {
  const spec = specOf(pod)
  const errors = checkPod(pod)
  if ((spec.ephemeralContainers ?? []).length > 0)
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'))
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    errors.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'))
  }
  return errors
}

function validateUpdate(pod: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [specOf(pod), specOf(old)]
  const errors = checkPod(pod)
  for (const list of ['containers', 'initContainers'] as const) {
    if ((spec[list] ?? []).length !== (oldSpec[list] ?? []).length) {
      return [...errors, forbidden(`spec.${list}`, 'pod updates may not add or remove containers')]
    }
    for (const [index, { image }] of (spec[list] ?? []).entries()) {
      if (!image) errors.push(required(`spec.${list}[${index}].image`))
    }
  }
  const deadline = checkDeadline(spec.activeDeadlineSeconds, oldSpec.activeDeadlineSeconds)
  return [...errors, ...(deadline ? [deadline] : [...checkAdditions(spec, oldSpec), ...checkUnchanged(spec, oldSpec)])]
}

function checkDeadline(deadline: number | undefined, old: number | undefined): FieldError | undefined {
  const path = 'spec.activeDeadlineSeconds'
  if (deadline === undefined) {
    return old === undefined ? undefined : invalid(path, null, 'must not update from a positive integer to nil value')
  }
  if (deadline < 0 || deadline > 2 ** 31 - 1) return invalid(path, deadline, rangeProblem(0, 2 ** 31 - 1))
  if (old !== undefined && old < deadline)
    return invalid(path, deadline, 'must be less than or equal to previous value')
  return undefined
}

function checkAdditions(spec: Partial<PodSpec>, old: Partial<PodSpec>): FieldError[] {
  const same = (a: Toleration, b: Toleration): boolean =>
    isEqual({ ...a, tolerationSeconds: 0 }, { ...b, tolerationSeconds: 0 })
  const isKept = (old.tolerations ?? []).every((toleration) =>
    (spec.tolerations ?? []).some((other) => same(toleration, other)),
  )
  const rule = 'existing toleration can not be modified except its tolerationSeconds'
  const errors = isKept
    ? checkTolerations('spec.tolerations', spec.tolerations ?? [])
    : [forbidden('spec.tolerations', rule)]
  const known = new Set((old.schedulingGates ?? []).map(({ name }) => name))
  for (const [index, { name }] of (spec.schedulingGates ?? []).entries()) {
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`
    if (!known.has(name)) errors.push(forbidden(`spec.schedulingGates[${index}].name`, why))
  }
  return errors
}

const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',')

/** Resets the mutable fields and then compares. Node selection is mutable while the pod has scheduling gates. */
function checkUnchanged(spec: Partial<PodSpec>, old: Partial<PodSpec>): FieldError[] {
  const withOldImages = (
    list: readonly Container[] | null | undefined,
    olds: readonly Container[] | null | undefined,
  ): object => (list ?? []).map((container, index) => ({ ...container, image: olds?.[index]?.image }))
  const restored = {
    ...spec,
    containers: withOldImages(spec.containers, old.containers),
    initContainers: withOldImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
    ...((old.schedulingGates ?? []).length > 0 && {
      nodeSelector: old.nodeSelector,
      affinity: (old as ObjectFields)['affinity'],
    }),
  }
  if (isEqual(restored, old)) return []
  return [
    forbidden(
      'spec',
      `pod updates may not change fields other than ${changeable}\n${describeDifference(old, restored)}`,
    ),
  ]
}

interface PodStatus {
  readonly qosClass: string
  readonly conditions: ReadonlyArray<{ readonly type: string; readonly status: string }>
}

function validateStatus(pod: KubeObject, old: KubeObject): FieldError[] {
  const [status, oldStatus] = [part<PodStatus>(pod, 'status'), part<PodStatus>(old, 'status')]
  const conditions = (status.conditions ?? []).flatMap(({ type }, index) =>
    type.includes('/') ? problemsAt(`status.conditions[${index}].Type`, type, qualifiedNameProblems(type)) : [],
  )
  return [...conditions, ...checkImmutable('status.qosClass', status.qosClass, oldStatus.qosClass)]
}

/** A pod without a node or in a final phase is deleted without a grace period. */
function gracePeriodSeconds(pod: KubeObject, requested: number | undefined): number {
  const spec = specOf(pod)
  const phase = part<{ phase: string }>(pod, 'status').phase
  if (!spec.nodeName || phase === 'Failed' || phase === 'Succeeded') return 0
  const period = requested ?? spec.terminationGracePeriodSeconds ?? 0
  return period < 0 ? 1 : period
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export const podRules: KindRules = {
  hasStatus: true,
  generationOf: (pod) => pod['spec'],
  prepareForCreate,
  prepareForStatusUpdate,
  validate,
  validateUpdate,
  validateStatus,
  selectable: {
    'spec.nodeName': (pod) => text(specOf(pod).nodeName),
    'spec.restartPolicy': (pod) => text(specOf(pod).restartPolicy),
    'spec.schedulerName': (pod) => text((specOf(pod) as ObjectFields)['schedulerName']),
    'spec.serviceAccountName': (pod) => text(specOf(pod).serviceAccountName),
    'spec.hostNetwork': (pod) => String(specOf(pod).hostNetwork === true),
    'status.phase': (pod) => text(part<ObjectFields>(pod, 'status')['phase']),
    'status.podIP': (pod) => text(part<ObjectFields>(pod, 'status')['podIP']),
    // A supported selector whose value is always empty in the real server, too.
    'status.podIPs': () => '',
    // The name of `spec.nodeName` in the earliest API versions.
    'spec.host': (pod) => text(specOf(pod).nodeName),
    'status.nominatedNodeName': (pod) => text(part<ObjectFields>(pod, 'status')['nominatedNodeName']),
  },
  extra: { returnsDeletedObject: true, gracePeriodSeconds },
}

export const podTemplateRules: KindRules = {
  generationOf: (template) => template['template'],
  validate: (object) => checkPodTemplate('template', part<PodTemplate>(object, 'template') as PodTemplate),
  extra: { returnsDeletedObject: true },
}

/** For workloads whose pods must not terminate. */
export function checkEndlessTemplate(path: string, template: PodTemplate, kind: string): FieldError[] {
  const errors = checkOneOf(`${path}.spec.restartPolicy`, template.spec?.restartPolicy, ['Always'])
  if (template.spec?.activeDeadlineSeconds === undefined) return errors
  return [
    ...errors,
    forbidden(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`),
  ]
}
