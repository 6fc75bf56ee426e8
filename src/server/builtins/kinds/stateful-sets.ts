/** Rules for StatefulSet. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, forbidden, invalid } from '../../field-errors.ts'
import { labelNameProblems } from '../../names.ts'
import { checkCounters, checkLabel, checkNonNegative, checkOneOf, inFieldOrder, isUsableSelector } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkPodTemplate } from '../validation/pod-spec.ts'
import type { PodTemplate, Volume } from '../validation/shapes.ts'
import { isEqual, type ObjectFields, part } from '../values.ts'
import { checkEndlessTemplate } from './pods.ts'
import { checkClaimSpec } from './storage.ts'
import {
  checkCollisions,
  checkMatch,
  checkReplicaStatus,
  checkSelector,
  shownStrategy,
  specOf,
  type WorkloadSpec,
} from './workload-checks.ts'

function checkStatefulStrategy(path: string, strategy: WorkloadSpec['updateStrategy']): FieldError[] {
  const { type, rollingUpdate } = strategy
  if (type === 'RollingUpdate') return checkNonNegative(`${path}.rollingUpdate.partition`, rollingUpdate?.partition)
  if (type !== 'OnDelete')
    return [
      inFieldOrder(
        invalid(path, shownStrategy(strategy), "must be 'RollingUpdate' or 'OnDelete'"),
        shownStrategy(strategy),
      ),
    ]
  if (!rollingUpdate) return []
  const shown = { Partition: rollingUpdate.partition ?? 0, MaxUnavailable: rollingUpdate.maxUnavailable ?? null }
  return [
    inFieldOrder(invalid(`${path}.rollingUpdate`, shown, "only allowed for updateStrategy 'RollingUpdate'"), shown),
  ]
}

/** Volume claim templates can be mounted like volumes and override volumes of the same name. */
function withClaims(template: PodTemplate, claims: WorkloadSpec['volumeClaimTemplates']): PodTemplate {
  if (!template.spec) return template
  const { subdomain: _subdomain, hostname: _hostname, ...spec } = template.spec
  const names = claims.map(({ metadata }) => metadata.name ?? '')
  const added = names.map((name): Volume => ({ name, persistentVolumeClaim: { claimName: name } }))
  const hidden = new Set(names)
  const volumes = [...added, ...(spec.volumes ?? []).filter(({ name }) => !hidden.has(name))]
  return { ...template, spec: { ...spec, volumes } }
}

function validateStatefulSet(object: KubeObject, isUpdate: boolean): FieldError[] {
  const spec = specOf(object)
  const { podManagementPolicy: policy = '', persistentVolumeClaimRetentionPolicy: retention = {} } = spec
  const claims = spec.volumeClaimTemplates ?? []
  const template = withClaims(spec.template ?? {}, claims)
  const errors: FieldError[] = []
  if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    errors.push(invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"))
  }
  const retains = 'spec.persistentVolumeClaimRetentionPolicy'
  return [
    ...errors,
    ...checkStatefulStrategy('spec.updateStrategy', spec.updateStrategy ?? {}),
    ...checkOneOf(`${retains}.whenDeleted`, retention.whenDeleted, ['Retain', 'Delete']),
    ...checkOneOf(`${retains}.whenScaled`, retention.whenScaled, ['Retain', 'Delete']),
    ...(isUpdate
      ? []
      : claims.flatMap((claim, index) => checkClaimSpec(`spec.volumeClaimTemplates[${index}].spec`, claim.spec))),
    ...checkCounters('spec', spec, ['replicas', 'minReadySeconds']),
    ...checkNonNegative('spec.ordinals.start', spec.ordinals?.start),
    ...(spec.serviceName && !isUpdate ? checkLabel('spec.serviceName', spec.serviceName) : []),
    ...checkSelector('spec.selector', spec.selector, 'statefulset'),
    ...(isUsableSelector(spec.selector)
      ? [...checkMatch('spec.template', spec.selector, template), ...checkPodTemplate('spec.template', template)]
      : [inFieldOrder(invalid('spec.selector', spec.selector, ''), spec.selector)]),
    ...checkEndlessTemplate('spec.template', template, 'StatefulSet'),
  ]
}

const changeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

function checkStatefulChange(object: KubeObject, old: KubeObject): FieldError[] {
  const fixed = (one: KubeObject): ObjectFields =>
    Object.fromEntries(Object.entries(part<ObjectFields>(one, 'spec')).filter(([name]) => !changeable.includes(name)))
  if (isEqual(fixed(object), fixed(old))) return []
  const quoted = changeable.map((name) => `'${name}'`)
  const list = `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`
  return [forbidden('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)]
}

/** `maxUnavailable` is behind a feature gate that is off by default: it is dropped unless the old object has it. */
function dropMaxUnavailable(object: KubeObject, old?: KubeObject): void {
  const rollingUpdate = specOf(object).updateStrategy?.rollingUpdate as ObjectFields | undefined
  if (rollingUpdate && old && specOf(old).updateStrategy?.rollingUpdate?.maxUnavailable !== undefined) return
  delete rollingUpdate?.['maxUnavailable']
}

export const statefulSetRules: KindRules = {
  nameProblems: labelNameProblems,
  hasStatus: true,
  generationOf: (object) => object['spec'],
  prepareForCreate: (object) => dropMaxUnavailable(object),
  prepareForUpdate: dropMaxUnavailable,
  validate: (object) => validateStatefulSet(object, false),
  validateUpdate: (object, old) => [...validateStatefulSet(object, true), ...checkStatefulChange(object, old)],
  validateStatus: (object, old) => [
    ...checkReplicaStatus(
      object,
      [
        'replicas',
        'readyReplicas',
        'currentReplicas',
        'updatedReplicas',
        'availableReplicas',
        'observedGeneration',
        'collisionCount',
      ],
      ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
      'status.readyReplicas',
    ),
    ...checkCollisions(object, old),
  ],
}
