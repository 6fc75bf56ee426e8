/** Cells of core kinds except pods (pod-cells.ts) and services (network-cells.ts). */
import type { KubeObject } from '../../kube/objects.ts'
import {
  at,
  containers,
  entryAt,
  formatLabels,
  formatQuantity,
  listAt,
  mapAt,
  number,
  numberAt,
  type TableCells,
  text,
  textAt,
} from './cells.ts'
import { formatAge } from './duration.ts'

const accessModes: ReadonlyArray<readonly [string, string]> = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

function formatAccessModes(modes: readonly unknown[]): string {
  return accessModes.flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(',')
}

/** The older annotation takes precedence over the field. */
function storageClassOf(object: KubeObject): string {
  const annotation = entryAt(object, 'metadata.annotations', 'volume.beta.kubernetes.io/storage-class')
  return typeof annotation === 'string' ? annotation : textAt(object, 'spec.storageClassName')
}

function phaseOf(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined ? textAt(object, 'status.phase') : 'Terminating'
}

function claimOf(volume: KubeObject): string {
  const claim = at(volume, 'spec.claimRef')
  return claim === undefined ? '' : `${textAt(claim, 'namespace')}/${textAt(claim, 'name')}`
}

/** A claim shows the properties of its volume only when it is bound. */
function whenBound(format: (claim: KubeObject) => string): (claim: KubeObject) => string {
  return (claim) => (textAt(claim, 'spec.volumeName') === '' ? '' : format(claim))
}

/** Quotas of `limits.*` have their own column. */
function formatQuotas(quota: KubeObject, isLimit: boolean): string {
  const names = Object.keys(mapAt(quota, 'status.hard')).sort()
  return names
    .filter((name) => name.startsWith('limits.') === isLimit)
    .map((name) => {
      const [used, hard] = ['used', 'hard'].map((field) => formatQuantity(entryAt(quota, `status.${field}`, name)))
      return `${name}: ${used}/${hard}`
    })
    .join(', ')
}

function nodeStatus(node: KubeObject): string {
  // The last condition of the type counts here.
  const ready = listAt(node, 'status.conditions').findLast((condition) => textAt(condition, 'type') === 'Ready')
  const status = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  return at(node, 'spec.unschedulable') === true ? `${status},SchedulingDisabled` : status
}

const rolePrefix = 'node-role.kubernetes.io/'

function nodeRoles(node: KubeObject): string {
  const roles = Object.entries(node.metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length)
    return key === 'kubernetes.io/role' ? value : ''
  })
  return [...new Set(roles.filter((role) => role !== ''))].sort().join(',') || '<none>'
}

function nodeAddress(node: KubeObject, type: string): string {
  const address = listAt(node, 'status.addresses').find((candidate) => textAt(candidate, 'type') === type)
  return address === undefined ? '<none>' : textAt(address, 'address')
}

function kernelVersion(node: KubeObject): string {
  const version = textAt(node, 'status.nodeInfo.kernelVersion') || '<unknown>'
  const architecture = textAt(node, 'status.nodeInfo.architecture')
  return architecture === '' ? version : `${version} (${architecture})`
}

function healthOf(component: KubeObject): { status: string; message: string; error: string } {
  const health = listAt(component, 'conditions').find((condition) => textAt(condition, 'type') === 'Healthy')
  if (health === undefined) return { status: 'Unknown', message: '', error: '' }
  const status = textAt(health, 'status') === 'True' ? 'Healthy' : 'Unhealthy'
  return { status, message: textAt(health, 'message'), error: textAt(health, 'error') }
}

const size = (object: KubeObject, path: string): number => Object.keys(mapAt(object, path)).length

export const coreCells: TableCells = {
  '/namespaces': { Status: text('status.phase') },
  '/secrets': { Type: text('type'), Data: (secret) => size(secret, 'data') },
  '/serviceaccounts': {},
  '/configmaps': { Data: (map) => size(map, 'data') + size(map, 'binaryData') },
  '/podtemplates': {
    ...containers('template.spec.containers'),
    'Pod Labels': (template) => formatLabels(mapAt(template, 'template.metadata.labels')),
  },
  '/replicationcontrollers': {
    Desired: number('spec.replicas'),
    Current: number('status.replicas'),
    Ready: number('status.readyReplicas'),
    ...containers('spec.template.spec.containers'),
    Selector: (controller) => formatLabels(mapAt(controller, 'spec.selector')),
  },
  '/nodes': {
    Status: nodeStatus,
    Roles: nodeRoles,
    Version: text('status.nodeInfo.kubeletVersion'),
    'Internal-IP': (node) => nodeAddress(node, 'InternalIP'),
    'External-IP': (node) => nodeAddress(node, 'ExternalIP'),
    'OS-Image': text('status.nodeInfo.osImage', '<unknown>'),
    'Kernel-Version': kernelVersion,
    'Container-Runtime': text('status.nodeInfo.containerRuntimeVersion', '<unknown>'),
  },
  '/persistentvolumes': {
    Capacity: (volume) => formatQuantity(at(volume, 'spec.capacity.storage')),
    'Access Modes': (volume) => formatAccessModes(listAt(volume, 'spec.accessModes')),
    'Reclaim Policy': text('spec.persistentVolumeReclaimPolicy'),
    Status: phaseOf,
    Claim: claimOf,
    StorageClass: storageClassOf,
    VolumeAttributesClass: text('spec.volumeAttributesClassName', '<unset>'),
    Reason: text('status.reason'),
    VolumeMode: text('spec.volumeMode', '<unset>'),
  },
  '/persistentvolumeclaims': {
    Status: phaseOf,
    Volume: text('spec.volumeName'),
    Capacity: whenBound((claim) => formatQuantity(at(claim, 'status.capacity.storage'))),
    'Access Modes': whenBound((claim) => formatAccessModes(listAt(claim, 'status.accessModes'))),
    StorageClass: storageClassOf,
    VolumeAttributesClass: text('spec.volumeAttributesClassName', '<unset>'),
    VolumeMode: text('spec.volumeMode', '<unset>'),
  },
  '/componentstatuses': {
    Status: (component) => healthOf(component).status,
    Message: (component) => healthOf(component).message,
    Error: (component) => healthOf(component).error,
  },
  '/resourcequotas': {
    Request: (quota) => formatQuotas(quota, false),
    Limit: (quota) => formatQuotas(quota, true),
  },
}

/** Events of events.k8s.io have other names for the same fields than core events. */
const otherNames: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  count: 'deprecatedCount',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  source: 'deprecatedSource',
  reportingComponent: 'reportingController',
}

function eventField(event: KubeObject, name: string): unknown {
  return at(event, name) ?? at(event, otherNames[name]!)
}

function firstSeen(event: KubeObject, now: Date): string {
  return formatAge(eventField(event, 'firstTimestamp') ?? at(event, 'eventTime'), now)
}

function lastSeen(event: KubeObject, now: Date): string {
  if (at(event, 'series') !== undefined) return formatAge(at(event, 'series.lastObservedTime'), now)
  const last = eventField(event, 'lastTimestamp')
  return last === undefined ? firstSeen(event, now) : formatAge(last, now)
}

function timesSeen(event: KubeObject): number {
  if (at(event, 'series') !== undefined) return numberAt(event, 'series.count')
  const times = eventField(event, 'count')
  return typeof times === 'number' && times !== 0 ? times : 1
}

function eventTarget(event: KubeObject): string {
  const target = eventField(event, 'involvedObject')
  const kind = textAt(target, 'kind').toLowerCase()
  const name = textAt(target, 'name')
  return name === '' ? kind : `${kind}/${name}`
}

function eventSource(event: KubeObject): string {
  const source = eventField(event, 'source')
  const component = textAt(source, 'component') || String(eventField(event, 'reportingComponent') ?? '')
  const instance = textAt(source, 'host') || textAt(event, 'reportingInstance')
  return instance === '' ? component : `${component}, ${instance}`
}

const events: TableCells[string] = {
  'Last Seen': lastSeen,
  Type: text('type'),
  Reason: text('reason'),
  Object: eventTarget,
  Subobject: (event) => textAt(eventField(event, 'involvedObject'), 'fieldPath'),
  Source: eventSource,
  Message: (event) => String(eventField(event, 'message') ?? '').trim(),
  'First Seen': firstSeen,
  Count: timesSeen,
}

export const eventCells: TableCells = { '/events': events, 'events.k8s.io/events': events }
