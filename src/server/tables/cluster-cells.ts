/** Cells of cluster administration kinds: RBAC, admission, storage, scheduling and others. */
import type { KubeObject } from '../../kube/objects.ts'
import {
  at,
  type Cells,
  conditionStatus,
  count,
  entryAt,
  flag,
  listAt,
  mapAt,
  number,
  numberAt,
  type ReadCell,
  type TableCells,
  text,
  textAt,
} from './cells.ts'
import { formatDuration } from './duration.ts'

function subjects(kind: string, format: (subject: unknown) => string): ReadCell {
  return (binding) =>
    listAt(binding, 'subjects')
      .filter((subject) => textAt(subject, 'kind') === kind)
      .map(format)
      .join(', ')
}

const binding: Cells = {
  Role: (object) => `${textAt(object, 'roleRef.kind')}/${textAt(object, 'roleRef.name')}`,
  Users: subjects('User', (subject) => textAt(subject, 'name')),
  Groups: subjects('Group', (subject) => textAt(subject, 'name')),
  ServiceAccounts: subjects(
    'ServiceAccount',
    (subject) => `${textAt(subject, 'namespace')}/${textAt(subject, 'name')}`,
  ),
}

function requestedDuration(request: KubeObject): string {
  const seconds = at(request, 'spec.expirationSeconds')
  return typeof seconds === 'number' ? formatDuration(seconds * 1000) : '<none>'
}

function requestCondition(request: KubeObject): string {
  const types = listAt(request, 'status.conditions').map((condition) => textAt(condition, 'type'))
  const parts = [types.includes('Denied') ? 'Denied' : types.includes('Approved') ? 'Approved' : 'Pending']
  if (types.includes('Failed')) parts.push('Failed')
  if (textAt(request, 'status.certificate') !== '') parts.push('Issued')
  return parts.join(',')
}

function parameterKind(policy: KubeObject): string {
  const kind = at(policy, 'spec.paramKind')
  return kind === undefined ? '<unset>' : `${textAt(kind, 'apiVersion')}/${textAt(kind, 'kind')}`
}

function parameterReference(policyBinding: KubeObject): string {
  const reference = at(policyBinding, 'spec.paramRef')
  const name = textAt(reference, 'name')
  // It is not known here whether the parameter is namespaced.
  if (name !== '') return `${textAt(reference, 'namespace') || '*'}/${name}`
  const selector = at(reference, 'selector')
  return selector === undefined ? '<unset>' : printSelector(selector)
}

/** kube-apiserver prints the Go struct here. */
function printSelector(selector: unknown): string {
  const labels = Object.entries(mapAt(selector, 'matchLabels')).sort(([one], [other]) => (one < other ? -1 : 1))
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const values = listAt(expression, 'values').join(' ')
    const [key, operator] = [textAt(expression, 'key'), textAt(expression, 'operator')]
    return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values}],},`
  })
  const pairs = labels.map(([key, value]) => `${key}: ${value},`).join('')
  const requirements = `[]LabelSelectorRequirement{${expressions.join('')}}`
  return `&LabelSelector{MatchLabels:map[string]string{${pairs}},MatchExpressions:${requirements},}`
}

const policyBindings: Cells = { PolicyName: text('spec.policyName'), ParamRef: parameterReference }

function storageClassName(object: KubeObject): string {
  const isDefault = ['storageclass.kubernetes.io/', 'storageclass.beta.kubernetes.io/'].some((prefix) => {
    return entryAt(object, 'metadata.annotations', `${prefix}is-default-class`) === 'true'
  })
  return isDefault ? `${object.metadata.name ?? ''} (default)` : (object.metadata.name ?? '')
}

function tokenRequests(driver: KubeObject): string {
  if (at(driver, 'spec.tokenRequests') === undefined) return '<unset>'
  return listAt(driver, 'spec.tokenRequests')
    .map((request) => textAt(request, 'audience'))
    .join(',')
}

function claimState(claim: KubeObject): string {
  const isDeleted = claim.metadata.deletionTimestamp !== undefined
  const isAllocated = at(claim, 'status.allocation') !== undefined
  const states = isDeleted ? ['deleted'] : isAllocated ? [] : ['pending']
  if (isAllocated) states.push('allocated')
  if (isAllocated && listAt(claim, 'status.reservedFor').length > 0) states.push('reserved')
  return states.join(',')
}

/** A number of a limited priority level; unlimited ones have none. */
function limit(holder: string, field: string): ReadCell {
  return (level) => (at(level, holder) === undefined ? '<none>' : numberAt(level, `${holder}.${field}`))
}

export const clusterCells: TableCells = {
  'rbac.authorization.k8s.io/rolebindings': binding,
  'rbac.authorization.k8s.io/clusterrolebindings': binding,
  'certificates.k8s.io/certificatesigningrequests': {
    SignerName: text('spec.signerName', '<none>'),
    Requestor: text('spec.username'),
    RequestedDuration: requestedDuration,
    Condition: requestCondition,
  },
  'coordination.k8s.io/leases': { Holder: text('spec.holderIdentity') },
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': { Webhooks: count('webhooks') },
  'admissionregistration.k8s.io/validatingwebhookconfigurations': { Webhooks: count('webhooks') },
  'admissionregistration.k8s.io/validatingadmissionpolicies': {
    Validations: count('spec.validations'),
    ParamKind: parameterKind,
  },
  'admissionregistration.k8s.io/mutatingadmissionpolicies': {
    Mutations: count('spec.mutations'),
    ParamKind: parameterKind,
  },
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': policyBindings,
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': policyBindings,
  'storage.k8s.io/storageclasses': {
    Name: storageClassName,
    Provisioner: text('provisioner'),
    ReclaimPolicy: text('reclaimPolicy', 'Delete'),
    VolumeBindingMode: text('volumeBindingMode', 'Immediate'),
    AllowVolumeExpansion: flag('allowVolumeExpansion'),
  },
  'storage.k8s.io/volumeattributesclasses': { DriverName: text('driverName') },
  'storage.k8s.io/volumeattachments': {
    Attacher: text('spec.attacher'),
    PV: text('spec.source.persistentVolumeName'),
    Node: text('spec.nodeName'),
    Attached: flag('status.attached'),
  },
  'storage.k8s.io/csinodes': { Drivers: count('spec.drivers') },
  'storage.k8s.io/csidrivers': {
    AttachRequired: flag('spec.attachRequired', true),
    PodInfoOnMount: flag('spec.podInfoOnMount'),
    StorageCapacity: flag('spec.storageCapacity'),
    TokenRequests: tokenRequests,
    RequiresRepublish: flag('spec.requiresRepublish'),
    Modes: (driver) => listAt(driver, 'spec.volumeLifecycleModes').join(',') || '<none>',
  },
  'scheduling.k8s.io/priorityclasses': {
    Value: number('value'),
    'Global-Default': flag('globalDefault'),
    PreemptionPolicy: text('preemptionPolicy'),
  },
  'node.k8s.io/runtimeclasses': { Handler: text('handler') },
  'flowcontrol.apiserver.k8s.io/flowschemas': {
    PriorityLevel: text('spec.priorityLevelConfiguration.name'),
    MatchingPrecedence: number('spec.matchingPrecedence'),
    DistinguisherMethod: text('spec.distinguisherMethod.type', '<none>'),
    MissingPL: (schema) => conditionStatus(schema, 'Dangling') || '?',
  },
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': {
    Type: text('spec.type'),
    NominalConcurrencyShares: limit('spec.limited', 'nominalConcurrencyShares'),
    Queues: limit('spec.limited.limitResponse.queuing', 'queues'),
    HandSize: limit('spec.limited.limitResponse.queuing', 'handSize'),
    QueueLengthLimit: limit('spec.limited.limitResponse.queuing', 'queueLengthLimit'),
  },
  'resource.k8s.io/deviceclasses': {},
  'resource.k8s.io/resourceclaims': { State: claimState },
  'resource.k8s.io/resourceclaimtemplates': {},
  'resource.k8s.io/resourceslices': {
    Node: text('spec.nodeName'),
    Driver: text('spec.driver'),
    Pool: text('spec.pool.name'),
  },
}
