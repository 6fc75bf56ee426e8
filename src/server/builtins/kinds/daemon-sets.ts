/** Rules for DaemonSet, and for the ControllerRevisions of DaemonSets and StatefulSets. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, invalid, notSupported, required } from '../../field-errors.ts'
import {
  checkAtMost100Percent,
  checkCounters,
  checkImmutable,
  checkIntOrPercent,
  checkLabelSelector,
  checkNonNegative,
  inFieldOrder,
  intOrPercentValue,
  isEmptySelector,
  isUsableSelector,
  selectorMatches,
} from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkPodTemplate } from '../validation/pod-spec.ts'
import { isEqual, isFields, part } from '../values.ts'
import { checkEndlessTemplate } from './pods.ts'
import { checkCollisions, selectorRule, shownStrategy, specOf, type WorkloadSpec } from './workload-checks.ts'

function checkDaemonStrategy(path: string, strategy: WorkloadSpec['updateStrategy']): FieldError[] {
  const { type, rollingUpdate } = strategy
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate')
    return [
      inFieldOrder(notSupported(path, shownStrategy(strategy), ['RollingUpdate', 'OnDelete']), shownStrategy(strategy)),
    ]
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {}
  const at = `${path}.rollingUpdate`
  const errors = [
    ...checkIntOrPercent(`${at}.maxUnavailable`, maxUnavailable),
    ...checkIntOrPercent(`${at}.maxSurge`, maxSurge),
    ...checkAtMost100Percent(`${at}.maxUnavailable`, maxUnavailable),
    ...checkAtMost100Percent(`${at}.maxSurge`, maxSurge),
  ]
  const [misses, surges] = [intOrPercentValue(maxUnavailable) !== 0, intOrPercentValue(maxSurge) !== 0]
  if (misses && surges)
    errors.push(invalid(`${at}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'))
  if (!misses && !surges) errors.push(required(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
  return errors
}

function validateDaemonSet(object: KubeObject): FieldError[] {
  const spec = specOf(object)
  const template = spec.template ?? {}
  const errors = checkLabelSelector('spec.selector', spec.selector)
  if (isUsableSelector(spec.selector) && !selectorMatches(spec.selector, template.metadata?.labels)) {
    errors.push(invalid('spec.template.metadata.labels', template.metadata?.labels ?? null, selectorRule))
  }
  if (spec.selector && isEmptySelector(spec.selector)) {
    errors.push(invalid('spec.selector', spec.selector, 'empty selector is invalid for daemonset'))
  }
  return [
    ...errors,
    ...checkPodTemplate('spec.template', template),
    ...checkEndlessTemplate('spec.template', template, 'DaemonSet'),
    ...checkNonNegative('spec.minReadySeconds', spec.minReadySeconds),
    ...checkDaemonStrategy('spec.updateStrategy', spec.updateStrategy ?? {}),
    ...checkNonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
  ]
}

const templateGeneration = 'deprecated.daemonset.template.generation'

/** Counts template changes in an annotation, since apps/v1 has no `templateGeneration` field. */
function countTemplates(object: KubeObject, old?: KubeObject): void {
  const before = Number(old?.metadata.annotations?.[templateGeneration] ?? 0)
  const isChanged = !old || !isEqual(specOf(object).template, specOf(old).template)
  const own = old ? 0 : Number(object.metadata.annotations?.[templateGeneration] ?? 0)
  object.metadata.annotations = {
    ...object.metadata.annotations,
    [templateGeneration]: String(Math.max(own, before + (isChanged ? 1 : 0))),
  }
}

export const daemonSetRules: KindRules = {
  hasStatus: true,
  generationOf: (object) => object['spec'],
  prepareForCreate: (object) => countTemplates(object),
  prepareForUpdate: countTemplates,
  validate: validateDaemonSet,
  validateChange: (object, old) => checkImmutable('spec.selector', specOf(object).selector, specOf(old).selector),
  validateStatus: (object, old) => [
    ...checkCounters('status', part<object>(object, 'status'), [
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ]),
    ...checkCollisions(object, old),
  ],
}

export const controllerRevisionRules: KindRules = {
  validate(object) {
    const errors = checkNonNegative('revision', object['revision'] as number)
    const data = object['data']
    if (data === undefined || data === null) errors.push(required('data', 'data is mandatory'))
    else if (!isFields(data)) errors.push(required('data', 'data must be a valid JSON object'))
    return errors
  },
  validateUpdate: (object, old) => [
    ...checkNonNegative('revision', object['revision'] as number),
    // Printed without field order: `inFieldOrder` recurses, and the depth of the client's data is not limited.
    ...(isEqual(object['data'], old['data']) ? [] : [invalid('data', object['data'], 'field is immutable')]),
  ],
}
