/** Rules for PersistentVolumeClaim, PersistentVolume and StorageClass. */
import type { KubeObject } from '../../../kube/objects.ts'
import { nanosOf } from '../../../kube/quantities.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../field-errors.ts'
import { qualifiedNameProblems, subdomainNameProblems } from '../../names.ts'
import { checkImmutable, checkLabelSelector, checkOneOf, type LabelSelectorSpec, problemsAt } from '../checks.ts'
import { describeDifference } from '../difference.ts'
import type { KindRules } from '../strategy.ts'
import type { Amounts } from '../validation/shapes.ts'
import { checkBacksteps, checkHostPath, checkNfs } from '../validation/volumes.ts'
import { isEqual, type ObjectFields, part } from '../values.ts'

export interface ClaimSpec {
  readonly accessModes?: readonly string[]
  readonly selector?: LabelSelectorSpec
  readonly resources?: { readonly requests?: Amounts }
  readonly storageClassName?: string
  readonly volumeMode?: string
  readonly volumeName?: string
  readonly volumeAttributesClassName?: string
}

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']

function checkModes(path: string, given: readonly string[]): FieldError[] {
  const errors = given.flatMap((mode) => checkOneOf(path, mode, modes))
  const isMixed =
    given.includes('ReadWriteOncePod') && given.some((mode) => mode !== 'ReadWriteOncePod' && modes.includes(mode))
  return isMixed ? [...errors, forbidden(path, 'may not use ReadWriteOncePod with other access modes')] : errors
}

export function checkClaimSpec(path: string, spec: ClaimSpec): FieldError[] {
  const { accessModes = [], resources, storageClassName, volumeAttributesClassName } = spec
  const name = (field: string, value: string | undefined): FieldError[] =>
    value ? problemsAt(`${path}.${field}`, value, subdomainNameProblems(value, false)) : []
  const size = resources?.requests?.['storage']
  const at = `${path}.resources[storage]`
  return [
    ...(accessModes.length === 0 ? [required(`${path}.accessModes`, 'at least 1 access mode is required')] : []),
    ...checkLabelSelector(`${path}.selector`, spec.selector),
    ...checkModes(`${path}.accessModes`, accessModes),
    ...(size === undefined
      ? [required(at)]
      : nanosOf(size) <= 0n
        ? [invalid(at, size, 'must be greater than zero')]
        : []),
    ...name('storageClassName', storageClassName),
    ...checkOneOf(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']),
    ...name('volumeAttributesClassName', volumeAttributesClassName),
  ]
}

interface ClaimStatus {
  readonly phase: string
  readonly capacity: Amounts
}

/** Only these changes are allowed: a larger request of a bound claim, and setting an absent storage class or volume name. */
function checkClaimChange(claim: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [part<ClaimSpec>(claim, 'spec'), part<ClaimSpec>(old, 'spec')]
  const isBound = part<ClaimStatus>(claim, 'status').phase === 'Bound'
  const sizes = [spec, oldSpec].map(({ resources }) => resources?.requests?.['storage'])
  const allowed: ObjectFields = { ...spec }
  if (!oldSpec.volumeName) allowed['volumeName'] = oldSpec.volumeName
  if (oldSpec.storageClassName === undefined) allowed['storageClassName'] = undefined
  if (isBound) {
    allowed['volumeAttributesClassName'] = oldSpec.volumeAttributesClassName
    allowed['resources'] = { ...spec.resources, requests: { ...spec.resources?.requests, storage: sizes[1] } }
  }
  const errors: FieldError[] = []
  if (!isEqual(allowed, oldSpec)) {
    const rule =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
    errors.push(forbidden('spec', `${rule}\n${describeDifference(oldSpec, allowed)}`))
  }
  const capacity = nanosOf(part<ClaimStatus>(old, 'status').capacity?.['storage'])
  if (nanosOf(sizes[0]) < nanosOf(sizes[1]) && nanosOf(sizes[0]) <= capacity) {
    errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'))
  }
  return [...errors, ...checkImmutable('volumeMode', spec.volumeMode, oldSpec.volumeMode)]
}

const validateClaim = (claim: KubeObject): FieldError[] => checkClaimSpec('spec', part<ClaimSpec>(claim, 'spec'))

export const claimRules: KindRules = {
  hasStatus: true,
  prepareForCreate(claim) {
    claim['status'] = { phase: 'Pending' }
  },
  validate: validateClaim,
  validateUpdate: (claim, old) => [...validateClaim(claim), ...checkClaimChange(claim, old)],
  extra: { returnsDeletedObject: true },
}

/** Volume sources, in the order in which the real server checks them. */
const sources = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
]

interface VolumeSpec {
  readonly accessModes: readonly string[]
  readonly capacity: Amounts
  readonly persistentVolumeReclaimPolicy: string
  readonly storageClassName: string
  readonly volumeMode: string
  readonly [source: string]: unknown
}

function checkVolume(volume: KubeObject): FieldError[] {
  const spec = part<VolumeSpec>(volume, 'spec')
  const { accessModes = [], capacity = {}, storageClassName } = spec
  const errors = accessModes.length === 0 ? [required('spec.accessModes')] : []
  errors.push(...checkModes('spec.accessModes', accessModes))
  const names = Object.keys(capacity)
  if (names.length === 0) errors.push(required('spec.capacity'))
  if (names.length !== 1 || names[0] !== 'storage')
    errors.push(notSupported('spec.capacity', spec.capacity ?? null, ['storage']))
  for (const [name, size] of Object.entries(capacity)) {
    if (nanosOf(size) <= 0n) errors.push(invalid(`spec.capacity[${name}]`, size, 'must be greater than zero'))
  }
  const policies = ['Delete', 'Recycle', 'Retain']
  return [
    ...errors,
    ...checkOneOf('spec.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, policies),
    ...checkVolumeSource(spec),
    ...(storageClassName
      ? problemsAt('spec.storageClassName', storageClassName, subdomainNameProblems(storageClassName, false))
      : []),
    ...checkOneOf('spec.volumeMode', spec.volumeMode, ['Block', 'Filesystem']),
  ]
}

function checkVolumeSource(spec: Partial<VolumeSpec>): FieldError[] {
  const [first, ...others] = sources.filter((source) => spec[source] !== undefined)
  if (first === undefined) return [required('spec', 'must specify a volume type')]
  const tooMany = others.map((source) => forbidden(`spec.${source}`, 'may not specify more than 1 volume type'))
  const source = spec[first] as { path?: string }
  if (first === 'hostPath') return [...checkHostPath('spec.hostPath', source), ...tooMany]
  if (first === 'nfs') return [...checkNfs('spec.nfs', source), ...tooMany]
  if (first !== 'local') return tooMany
  return [...(source.path ? checkBacksteps('spec.local.path', source.path) : [required('spec.local.path')]), ...tooMany]
}

function checkVolumeChange(volume: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [part<VolumeSpec>(volume, 'spec'), part<VolumeSpec>(old, 'spec')]
  const sourceOf = (one: Partial<VolumeSpec>): ObjectFields =>
    Object.fromEntries(sources.map((source) => [source, one[source]]))
  const errors: FieldError[] = []
  if (!isEqual(sourceOf(spec), sourceOf(oldSpec))) {
    const difference = describeDifference(sourceOf(oldSpec), sourceOf(spec))
    errors.push(
      forbidden(
        'spec.persistentvolumesource',
        `spec.persistentvolumesource is immutable after creation\n${difference}`,
      ),
    )
  }
  return [...errors, ...checkImmutable('volumeMode', spec.volumeMode, oldSpec.volumeMode)]
}

/** `now` supplies the timestamp of a phase transition. */
export function createVolumeRules(now: () => string): KindRules {
  return {
    hasStatus: true,
    prepareForCreate(volume) {
      volume['status'] = { phase: 'Pending', lastPhaseTransitionTime: volume.metadata.creationTimestamp ?? now() }
    },
    prepareForStatusUpdate(volume, old) {
      const [status, before] = [part<ObjectFields>(volume, 'status') as ObjectFields, part<ObjectFields>(old, 'status')]
      const field = 'lastPhaseTransitionTime'
      if (status['phase'] === before['phase']) status[field] ??= before[field]
      else if (status[field] === undefined || status[field] === before[field]) status[field] = now()
    },
    validate: checkVolume,
    validateUpdate: (volume, old) => [...checkVolume(volume), ...checkVolumeChange(volume, old)],
    extra: { returnsDeletedObject: true },
  }
}

export const storageClassRules: KindRules = {
  validate(object) {
    const provisioner = (object['provisioner'] as string).toLowerCase()
    return [
      ...(provisioner === ''
        ? [required('provisioner')]
        : problemsAt('provisioner', provisioner, qualifiedNameProblems(provisioner))),
      ...checkOneOf('reclaimPolicy', object['reclaimPolicy'] as string, ['Delete', 'Retain']),
      ...checkOneOf('volumeBindingMode', object['volumeBindingMode'] as string, ['Immediate', 'WaitForFirstConsumer']),
    ]
  },
  validateUpdate: (object, old) =>
    ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'].flatMap((field) =>
      checkImmutable(field, object[field], old[field]),
    ),
  extra: { returnsDeletedObject: true },
}
