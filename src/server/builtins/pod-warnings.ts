/** Warnings about pods and pod templates that are valid but probably not intended, with the real server's texts. */

import { parseQuantity } from '../../kube/quantities.ts'
import { quote } from '../field-errors.ts'

interface WarnedPort {
  readonly name?: string
  readonly containerPort?: number
  readonly protocol?: string
  readonly hostPort?: number
  readonly hostIP?: string
}

interface WarnedContainer {
  readonly name?: string
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string; readonly valueFrom?: object }>
  readonly ports?: readonly WarnedPort[]
  readonly resources?: { readonly [part: string]: Readonly<Record<string, string>> | undefined }
}

interface AffinityTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<{ readonly labelSelector?: object }>
  readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<{
    readonly podAffinityTerm?: { readonly labelSelector?: object }
  }>
}

export interface WarnedPod {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: {
    readonly initContainers?: readonly WarnedContainer[]
    readonly containers?: readonly WarnedContainer[]
    readonly volumes?: ReadonlyArray<Readonly<Record<string, unknown>>>
    readonly hostAliases?: ReadonlyArray<{ readonly ip: string }>
    readonly imagePullSecrets?: ReadonlyArray<{ readonly name?: string }>
    readonly terminationGracePeriodSeconds?: number
    readonly topologySpreadConstraints?: ReadonlyArray<{ readonly labelSelector?: object }>
    readonly affinity?: { readonly podAffinity?: AffinityTerms; readonly podAntiAffinity?: AffinityTerms }
  }
}

type Placed<T> = readonly [path: string, value: T]

/** `path` is the path of the template; '' for a pod. */
export function podWarnings(path: string, { metadata, spec = {} }: WarnedPod): string[] {
  const base = path === '' ? 'spec' : `${path}.spec`
  const containers = (['initContainers', 'containers'] as const).flatMap((field) =>
    (spec[field] ?? []).map((one, index): Placed<WarnedContainer> => [`${base}.${field}[${index}]`, one]),
  )
  return [
    ...unmatched(`${base}.topologySpreadConstraints`, spec.topologySpreadConstraints ?? []),
    ...annotationWarnings(path === '' ? 'metadata' : `${path}.metadata`, metadata?.annotations ?? {}),
    ...volumeWarnings(`${base}.volumes`, spec.volumes ?? []),
    ...repeated(spec.hostAliases ?? [], 'ip', `${base}.hostAliases`),
    ...repeated(spec.imagePullSecrets ?? [], 'name', `${base}.imagePullSecrets`),
    ...nameless(`${base}.imagePullSecrets`, spec.imagePullSecrets ?? []),
    ...containers.flatMap(([place, one]) => [...fractions(`${place}.resources`, one), ...hiddenVariables(place, one)]),
    ...portWarnings(containers),
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0
      ? [`${base}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...affinityWarnings(`${base}.affinity.podAffinity`, spec.affinity?.podAffinity),
    ...affinityWarnings(`${base}.affinity.podAntiAffinity`, spec.affinity?.podAntiAffinity),
  ]
}

const noPod = 'a null labelSelector results in matching no pod'

function unmatched(path: string, terms: ReadonlyArray<{ readonly labelSelector?: object }>, inner = ''): string[] {
  return terms.flatMap(({ labelSelector }, index) =>
    labelSelector === undefined ? [`${path}[${index}]${inner}.labelSelector: ${noPod}`] : [],
  )
}

function affinityWarnings(path: string, terms: AffinityTerms | undefined): string[] {
  const preferred = terms?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return [
    ...unmatched(
      `${path}.requiredDuringSchedulingIgnoredDuringExecution`,
      terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [],
    ),
    ...unmatched(
      `${path}.preferredDuringSchedulingIgnoredDuringExecution`,
      preferred.map(({ podAffinityTerm = {} }) => podAffinityTerm),
      '.podAffinityTerm',
    ),
  ]
}

const deprecatedAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
}

function annotationWarnings(path: string, annotations: Readonly<Record<string, string>>): string[] {
  return Object.entries(deprecatedAnnotations)
    .filter(([key]) => Object.hasOwn(annotations, key))
    .map(([key, why]) => `${path}.annotations[${key}]: ${why}`)
}

const goneVolumes: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}

function volumeWarnings(path: string, volumes: ReadonlyArray<Readonly<Record<string, unknown>>>): string[] {
  return volumes.flatMap((volume, index) =>
    Object.entries(goneVolumes)
      .filter(([name]) => volume[name] !== undefined)
      .map(([name, why]) => `${path}[${index}].${name === 'storageos' ? 'storageOS' : name}: ${why}`),
  )
}

function repeated(list: readonly object[], field: 'ip' | 'name', path: string): string[] {
  const seen = new Set<string>()
  return list.flatMap((element, index) => {
    const value = (element as Record<string, string>)[field] ?? ''
    if (seen.has(value)) return [`${path}[${index}].${field}: duplicate ${field} ${quote(value)}`]
    seen.add(value)
    return []
  })
}

function nameless(path: string, secrets: ReadonlyArray<{ readonly name?: string }>): string[] {
  return secrets.flatMap(({ name }, index) => (name ? [] : [`${path}[${index}].name: invalid empty name ""`]))
}

function fractions(path: string, { resources = {} }: WarnedContainer): string[] {
  return ['memory', 'ephemeral-storage'].flatMap((name) =>
    ['limits', 'requests'].flatMap((part) => {
      const text = resources[part]?.[name]
      const quantity = text === undefined ? undefined : parseQuantity(text)
      if (quantity === undefined || typeof quantity === 'string' || quantity.nanos % 1_000_000_000n === 0n) return []
      return [`${path}.${part}[${name}]: fractional byte value ${quote(quantity.text)} is invalid, must be an integer`]
    }),
  )
}

/** Warns about a repeated variable name, unless the new value extends the earlier one by `$(NAME)`. */
function hiddenVariables(path: string, { env = [] }: WarnedContainer): string[] {
  const seen = new Set<string>()
  return env.flatMap(({ name, value = '', valueFrom }, index) => {
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const reference = `$(${name})`
    if (valueFrom === undefined && value !== reference && value.includes(reference)) return []
    const what = `hides previous definition of ${quote(name)}, which may be dropped when using apply`
    return [`${path}.env[${index}]: ${what}`]
  })
}

function portWarnings(containers: ReadonlyArray<Placed<WarnedContainer>>): string[] {
  const ports = containers.flatMap(([path, { ports: list = [] }]) =>
    list.map((port, index): Placed<WarnedPort> => [`${path}.ports[${index}]`, port]),
  )
  const clashes = ports.flatMap(([path, port], index) =>
    ports.slice(0, index).flatMap(([otherPath, other]) => {
      const how = clashOf(port, other)
      return how === undefined ? [] : [`${path}: ${how} port definition with ${otherPath}`]
    }),
  )
  return [...clashes, ...sharedNames(ports)]
}

function clashOf(port: WarnedPort, other: WarnedPort): string | undefined {
  if (port.containerPort !== other.containerPort || port.protocol !== other.protocol) return undefined
  const [hostPort, otherHostPort] = [port.hostPort ?? 0, other.hostPort ?? 0]
  const [hostIp, otherHostIp] = [port.hostIP ?? '', other.hostIP ?? '']
  if (hostIp === otherHostIp && hostPort === otherHostPort) return 'duplicate'
  if (hostPort === 0 || otherHostPort === 0) return 'overlapping'
  return hostPort === otherHostPort && (hostIp === '') !== (otherHostIp === '') ? 'dangerously ambiguous' : undefined
}

function sharedNames(ports: ReadonlyArray<Placed<WarnedPort>>): string[] {
  const first = new Map<string, string>()
  return ports.flatMap(([path, { name }]) => {
    if (!name) return []
    const other = first.get(name)
    if (other === undefined) {
      first.set(name, path)
      return []
    }
    const effect = `services and probes that select ports by name will use ${other}`
    return [`${path}: duplicate port name ${quote(name)} with ${other}, ${effect}`]
  })
}
