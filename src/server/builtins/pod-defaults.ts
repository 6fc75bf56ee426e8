/** Defaults of pods and their parts, wherever pod templates occur. Part of defaulters.ts. */
import type { Defaulters } from './defaulting.ts'
import { isFields, type ObjectFields } from './values.ts'

/** Sets fields that are absent or zero values. */
export function fill(value: ObjectFields, defaults: ObjectFields): void {
  for (const [name, content] of Object.entries(defaults)) {
    if (value[name] === undefined || value[name] === '' || value[name] === 0) value[name] = content
  }
}

/** Sets fields that are absent. For pointer fields, in which a zero value is explicit. */
export function fillAbsent(value: ObjectFields, defaults: ObjectFields): void {
  for (const [name, content] of Object.entries(defaults)) value[name] ??= content
}

export function list(value: unknown): ObjectFields[] {
  return Array.isArray(value) ? (value as ObjectFields[]) : []
}

/** Images with the tag `latest` or without a tag are always pulled; images with a digest are not, since they cannot change. */
function pullPolicy(image: unknown): string {
  const text = typeof image === 'string' ? image : ''
  if (text.includes('@') || !/^\S+$/.test(text)) return 'IfNotPresent'
  const tag = /:([\w][\w.-]{0,127})$/.exec(text.replace(/^.*\//, ''))?.[1] ?? 'latest'
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}

function container(value: ObjectFields): void {
  fill(value, {
    imagePullPolicy: pullPolicy(value['image']),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  })
}

function volume(value: ObjectFields): void {
  const sources = Object.keys(value).filter((name) => name !== 'name')
  if (sources.length === 0) value['emptyDir'] = {}
  const image = value['image']
  if (isFields(image)) fill(image, { pullPolicy: pullPolicy(image['reference']) })
}

/** Requests default to the limits. Applies to pods, not to pod templates. */
function requestLimits(containers: ObjectFields[]): void {
  for (const { resources } of containers) {
    if (!isFields(resources) || !isFields(resources['limits'])) continue
    const requests = { ...(isFields(resources['requests']) ? resources['requests'] : {}) }
    resources['requests'] = { ...resources['limits'], ...requests }
  }
}

function mirrorHostPorts(containers: ObjectFields[]): void {
  for (const { ports } of containers) for (const port of list(ports)) fill(port, { hostPort: port['containerPort'] })
}

function pod(value: ObjectFields): void {
  value['spec'] ??= {}
  const spec = value['spec'] as ObjectFields
  const containers = [...list(spec['containers']), ...list(spec['initContainers'])]
  requestLimits(containers)
  fillAbsent(spec, { enableServiceLinks: true })
  if (spec['hostNetwork'] === true) mirrorHostPorts(containers)
  if ((spec['terminationGracePeriodSeconds'] as number) < 0) spec['terminationGracePeriodSeconds'] = 1
}

function podSpec(value: ObjectFields): void {
  fill(value, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fillAbsent(value, { securityContext: {}, terminationGracePeriodSeconds: 30 })
  // `serviceAccount` is the deprecated alias of `serviceAccountName`: both always have the same value.
  const account = value['serviceAccountName'] || value['serviceAccount']
  if (account) Object.assign(value, { serviceAccountName: account, serviceAccount: account })
}

/** The singular field equals the first entry of the plural field. If they differ, the singular field takes precedence. */
function singularAndPlural(value: ObjectFields, one: string, many: string): void {
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
