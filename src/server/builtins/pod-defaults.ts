/** Defaults of pods and of everything in them, wherever pod templates occur. Part of defaulters.ts. */
import type { Defaulters } from './defaulting.ts'
import { type Fields, isFields } from './values.ts'

/** Sets what is absent or empty. */
export function fill(value: Fields, defaults: Fields): void {
  for (const [name, content] of Object.entries(defaults)) {
    if (value[name] === undefined || value[name] === '' || value[name] === 0) value[name] = content
  }
}

/** Sets what is absent: for Go's pointers, where zero is a value. */
export function fillAbsent(value: Fields, defaults: Fields): void {
  for (const [name, content] of Object.entries(defaults)) value[name] ??= content
}

export function list(value: unknown): Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : []
}

/** Images without a tag or with `latest` may change, and are pulled each time; those by digest never do. */
function pullPolicy(image: unknown): string {
  const text = typeof image === 'string' ? image : ''
  if (text.includes('@') || !/^\S+$/.test(text)) return 'IfNotPresent'
  const tag = /:([\w][\w.-]{0,127})$/.exec(text.replace(/^.*\//, ''))?.[1] ?? 'latest'
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}

function container(value: Fields): void {
  fill(value, {
    imagePullPolicy: pullPolicy(value['image']),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
}

function volume(value: Fields): void {
  const sources = Object.keys(value).filter((name) => name !== 'name')
  if (sources.length === 0) value['emptyDir'] = {}
  const image = value['image']
  if (isFields(image)) fill(image, { pullPolicy: pullPolicy(image['reference']) })
}

/** Requests are the limits where only limits are given: of a pod, not of a template. */
function requestLimits(containers: Fields[]): void {
  for (const { resources } of containers) {
    if (!isFields(resources) || !isFields(resources['limits'])) continue
    const requests = { ...(isFields(resources['requests']) ? resources['requests'] : {}) }
    resources['requests'] = { ...resources['limits'], ...requests }
  }
}

function mirrorHostPorts(containers: Fields[]): void {
  for (const { ports } of containers) for (const port of list(ports)) fill(port, { hostPort: port['containerPort'] })
}

function pod(value: Fields): void {
  value['spec'] ??= {}
  const spec = value['spec'] as Fields
  const containers = [...list(spec['containers']), ...list(spec['initContainers'])]
  requestLimits(containers)
  fillAbsent(spec, { enableServiceLinks: true })
  if (spec['hostNetwork'] === true) mirrorHostPorts(containers)
  if ((spec['terminationGracePeriodSeconds'] as number) < 0) spec['terminationGracePeriodSeconds'] = 1
}

function podSpec(value: Fields): void {
  fill(value, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fillAbsent(value, { securityContext: {}, terminationGracePeriodSeconds: 30 })
  // The old name of the field is an alias: both always show the same.
  const account = value['serviceAccountName'] || value['serviceAccount']
  if (account) Object.assign(value, { serviceAccountName: account, serviceAccount: account })
}

/** The first of the plural and the singular are one; where they differ, the singular counts. */
function singularAndPlural(value: Fields, one: string, many: string): void {
  const first = list(value[many])[0]?.['ip']
  if (typeof value[one] === 'string' && value[one] !== '' && value[one] !== first) value[many] = [{ ip: value[one] }]
  else if (first !== undefined) value[one] = first
}

export const podDefaulters: Defaulters = {
  'core.v1.Pod': pod,
  'core.v1.PodSpec': podSpec,
  'core.v1.PodStatus'(value) {
    singularAndPlural(value, 'podIP', 'podIPs')
    singularAndPlural(value, 'hostIP', 'hostIPs')
  },
  'core.v1.Container': container,
  'core.v1.EphemeralContainer': container,
  'core.v1.Volume': volume,
  'core.v1.Probe'(value) {
    fill(value, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
  },
  'core.v1.HTTPGetAction'(value) {
    fill(value, { path: '/', scheme: 'HTTP' })
  },
  'core.v1.ObjectFieldSelector'(value) {
    fill(value, { apiVersion: 'v1' })
  },
  'core.v1.SecretVolumeSource'(value) {
    fillAbsent(value, { defaultMode: 0o644 })
  },
  'core.v1.ConfigMapVolumeSource'(value) {
    fillAbsent(value, { defaultMode: 0o644 })
  },
  'core.v1.DownwardAPIVolumeSource'(value) {
    fillAbsent(value, { defaultMode: 0o644 })
  },
  'core.v1.ProjectedVolumeSource'(value) {
    fillAbsent(value, { defaultMode: 0o644 })
  },
  'core.v1.ServiceAccountTokenProjection'(value) {
    fillAbsent(value, { expirationSeconds: 3600 })
  },
  'core.v1.HostPathVolumeSource'(value) {
    fillAbsent(value, { type: '' })
  },
}
