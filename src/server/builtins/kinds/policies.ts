/** Rules for Lease, PriorityClass, PodDisruptionBudget and HorizontalPodAutoscaler. */
import { type KubeObject, parseGroupVersion } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { pathSegmentNameProblems } from '../../names.ts'
import {
  checkAtMost100Percent,
  checkCounters,
  checkImmutable,
  checkIntOrPercent,
  checkLabelSelector,
  checkOneOf,
  type IntOrString,
  inFieldOrder,
  type LabelSelectorSpec,
  problemsAt,
} from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { type ObjectFields, part } from '../values.ts'

interface LeaseSpec {
  readonly leaseDurationSeconds: number
  readonly leaseTransitions: number
}

/** The CoordinatedLeaderElection feature gate is off by default. */
function dropCoordination(lease: KubeObject): void {
  const spec = part<ObjectFields>(lease, 'spec') as ObjectFields
  delete spec['strategy']
  delete spec['preferredHolder']
}

export const leaseRules: KindRules = {
  prepareForCreate: dropCoordination,
  prepareForUpdate: dropCoordination,
  validate(lease) {
    const { leaseDurationSeconds: duration, leaseTransitions: transitions } = part<LeaseSpec>(lease, 'spec')
    const errors: FieldError[] = []
    if (duration !== undefined && duration <= 0)
      errors.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'))
    if (transitions !== undefined && transitions < 0) {
      errors.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'))
    }
    return errors
  },
  extra: { allowsCreateOnUpdate: true, allowsUnconditionalUpdate: false },
}

const maxUserPriority = 1_000_000_000

export const priorityClassRules: KindRules = {
  generationOf: () => undefined,
  validate(object) {
    const errors: FieldError[] = []
    if ((object['value'] as number) > maxUserPriority && !object.metadata.name?.startsWith('system-')) {
      errors.push(forbidden('value', `maximum allowed value of a user defined priority is ${maxUserPriority}`))
    }
    return [
      ...errors,
      ...checkOneOf('preemptionPolicy', object['preemptionPolicy'] as string, ['PreemptLowerPriority', 'Never']),
    ]
  },
  validateUpdate(object, old) {
    const errors = object['value'] === old['value'] ? [] : [forbidden('value', 'may not be changed in an update.')]
    return [...errors, ...checkImmutable('preemptionPolicy', object['preemptionPolicy'], old['preemptionPolicy'])]
  },
}

interface BudgetSpec {
  readonly minAvailable: IntOrString
  readonly maxUnavailable: IntOrString
  readonly selector: LabelSelectorSpec
  readonly unhealthyPodEvictionPolicy: string
}

export const disruptionBudgetRules: KindRules = {
  hasStatus: true,
  generationOf: (object) => object['spec'],
  validate(object) {
    const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = part<BudgetSpec>(object, 'spec')
    const errors: FieldError[] = []
    if (minAvailable !== undefined && maxUnavailable !== undefined) {
      // Field names of the internal type, as the real server prints the value.
      const shown = {
        MinAvailable: minAvailable,
        Selector: selector ?? null,
        MaxUnavailable: maxUnavailable,
        UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
      }
      errors.push(inFieldOrder(invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set'), shown))
    }
    for (const [field, value] of Object.entries({ minAvailable, maxUnavailable })) {
      if (value === undefined) continue
      errors.push(...checkIntOrPercent(`spec.${field}`, value), ...checkAtMost100Percent(`spec.${field}`, value))
    }
    return [
      ...errors,
      ...checkLabelSelector('spec.selector', selector),
      ...checkOneOf('spec.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, ['AlwaysAllow', 'IfHealthyBudget']),
    ]
  },
  validateStatus: (object) =>
    checkCounters('status', part<object>(object, 'status'), [
      'disruptionsAllowed',
      'currentHealthy',
      'desiredHealthy',
      'expectedPods',
    ]),
  extra: { allowsUnconditionalUpdate: false },
}

interface AutoscalerSpec {
  readonly minReplicas: number
  readonly maxReplicas: number
  readonly scaleTargetRef: { readonly kind: string; readonly name: string; readonly apiVersion?: string }
}

function checkTarget(path: string, { kind, name, apiVersion = '' }: AutoscalerSpec['scaleTargetRef']): FieldError[] {
  const text = (field: string, value: string): FieldError[] =>
    value === ''
      ? [required(`${path}.${field}`)]
      : problemsAt(`${path}.${field}`, value, pathSegmentNameProblems(value, false))
  const errors = [...text('kind', kind), ...text('name', name)]
  const group = parseGroupVersion(apiVersion)?.group ?? ''
  if (group !== '' || kind === 'ReplicationController') return errors
  return [...errors, invalid(`${path}.apiVersion`, apiVersion, 'apiVersion must specify API group')]
}

export const autoscalerRules: KindRules = {
  hasStatus: true,
  validate(object) {
    const {
      minReplicas,
      maxReplicas = 0,
      scaleTargetRef = { kind: '', name: '' },
    } = part<AutoscalerSpec>(object, 'spec')
    const errors: FieldError[] = []
    if (minReplicas !== undefined && minReplicas < 1)
      errors.push(invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'))
    if (maxReplicas === 0) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'))
    if (maxReplicas < 0) errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'))
    if (minReplicas !== undefined && maxReplicas < minReplicas) {
      errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'))
    }
    return [...errors, ...checkTarget('spec.scaleTargetRef', scaleTargetRef)]
  },
}
