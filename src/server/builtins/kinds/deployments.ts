/** Rules for Deployment, ReplicaSet and ReplicationController. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../field-errors.ts'
import {
  checkAtMost100Percent,
  checkCounters,
  checkImmutable,
  checkIntOrPercent,
  checkNonNegative,
  inFieldOrder,
  intOrPercentValue,
  isEmptySelector,
  isUsableSelector,
} from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkPodTemplate } from '../validation/pod-spec.ts'
import type { PodTemplate } from '../validation/shapes.ts'
import { part } from '../values.ts'
import { checkEndlessTemplate } from './pods.ts'
import {
  type Counters,
  checkCollisions,
  checkMatch,
  checkReplicaStatus,
  checkSelector,
  shownStrategy,
  specOf,
  type WorkloadSpec,
} from './workload-checks.ts'

function checkReplicaTemplate(spec: Partial<WorkloadSpec>): FieldError[] {
  const template = spec.template ?? {}
  if (!isUsableSelector(spec.selector))
    return [inFieldOrder(invalid('spec.selector', spec.selector, 'invalid label selector'), spec.selector)]
  return [
    ...checkMatch('spec.template', spec.selector, template),
    ...checkPodTemplate('spec.template', template),
    ...checkEndlessTemplate('spec.template', template, 'ReplicaSet'),
  ]
}

function checkDeploymentStrategy(path: string, strategy: WorkloadSpec['strategy']): FieldError[] {
  const { type, rollingUpdate } = strategy
  if (type === 'Recreate') {
    const rule = "may not be specified when strategy `type` is 'Recreate'"
    return rollingUpdate ? [forbidden(`${path}.rollingUpdate`, rule)] : []
  }
  if (type !== 'RollingUpdate')
    return [
      inFieldOrder(notSupported(path, shownStrategy(strategy), ['Recreate', 'RollingUpdate']), shownStrategy(strategy)),
    ]
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {}
  const at = `${path}.rollingUpdate`
  const errors = [
    ...checkIntOrPercent(`${at}.maxUnavailable`, maxUnavailable),
    ...checkIntOrPercent(`${at}.maxSurge`, maxSurge),
  ]
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    errors.push(invalid(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'))
  }
  return [...errors, ...checkAtMost100Percent(`${at}.maxUnavailable`, maxUnavailable)]
}

function validateDeployment(object: KubeObject): FieldError[] {
  const spec = specOf(object)
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec
  const errors = [
    ...checkNonNegative('spec.replicas', spec.replicas),
    ...checkSelector('spec.selector', spec.selector, 'deployment'),
    ...checkReplicaTemplate(spec),
    ...checkDeploymentStrategy('spec.strategy', spec.strategy ?? {}),
    ...checkCounters('spec', spec, ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']),
  ]
  if (deadline !== undefined && deadline <= minReadySeconds) {
    errors.push(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'))
  }
  return errors
}

export const deploymentRules: KindRules = {
  hasStatus: true,
  generationOf: (object) => [object['spec'], object.metadata.annotations],
  prepareForStatusUpdate(object, old) {
    if (old.metadata.labels === undefined) delete object.metadata.labels
    else object.metadata.labels = old.metadata.labels
  },
  validate: validateDeployment,
  validateUpdate: (object, old) => [
    ...validateDeployment(object),
    ...checkImmutable('spec.selector', specOf(object).selector, specOf(old).selector),
  ],
  validateStatus: (object, old) => [
    ...checkReplicaStatus(
      object,
      [
        'observedGeneration',
        'replicas',
        'updatedReplicas',
        'readyReplicas',
        'availableReplicas',
        'unavailableReplicas',
        'terminatingReplicas',
        'collisionCount',
      ],
      ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
      'readyReplicas',
    ),
    ...checkCollisions(object, old),
  ],
}

function validateReplicaSet(object: KubeObject): FieldError[] {
  const spec = specOf(object)
  return [
    ...checkCounters('spec', spec, ['replicas', 'minReadySeconds']),
    // The real server's message says "deployment" for a ReplicaSet, too.
    ...checkSelector('spec.selector', spec.selector, 'deployment'),
    ...checkReplicaTemplate(spec),
  ]
}

const setStatus = (object: KubeObject): FieldError[] =>
  checkReplicaStatus(
    object,
    [
      'replicas',
      'fullyLabeledReplicas',
      'readyReplicas',
      'availableReplicas',
      'observedGeneration',
      'terminatingReplicas',
    ],
    ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    'readyReplicas',
  )
const replicasField = {
  'status.replicas': (object: KubeObject): string => String(part<Counters>(object, 'status')['replicas'] ?? 0),
}

export const replicaSetRules: KindRules = {
  hasStatus: true,
  generationOf: (object) => object['spec'],
  validate: validateReplicaSet,
  validateUpdate: (object, old) => [
    ...validateReplicaSet(object),
    ...checkImmutable('spec.selector', specOf(object).selector, specOf(old).selector),
  ],
  validateStatus: setStatus,
}

/** The selector of a ReplicationController is a plain map of labels. */
export const replicationControllerRules: KindRules = {
  extra: { defaultPropagation: 'Orphan' },
  hasStatus: true,
  generationOf: (object) => object['spec'],
  validate(object) {
    const spec = part<{ selector: Record<string, string>; template: PodTemplate; replicas: number }>(object, 'spec')
    const selector = spec.selector ? { matchLabels: spec.selector } : undefined
    const errors = checkCounters('spec', spec, ['minReadySeconds', 'replicas'])
    if (isEmptySelector(selector)) errors.push(required('spec.selector'))
    if (!spec.template) return [...errors, required('spec.template')]
    return [
      ...errors,
      ...(isEmptySelector(selector) ? [] : checkMatch('spec.template', selector, spec.template)),
      ...checkPodTemplate('spec.template', spec.template),
      ...checkEndlessTemplate('spec.template', spec.template, 'ReplicationController'),
    ]
  },
  validateStatus: setStatus,
  selectable: replicasField,
}
