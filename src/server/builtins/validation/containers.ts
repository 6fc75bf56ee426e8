/** Validation of containers: names, images, ports, mounts, resources. Environment and probes are in env.ts and probes.ts. */
import { duplicate, type FieldError, forbidden, invalid, notFound, required } from '../../field-errors.ts'
import { checkLabel, checkOneOf, portNameProblems, portProblems, problemsAt } from '../checks.ts'
import { checkResources } from './amounts.ts'
import { checkEnv, checkEnvFrom } from './env.ts'
import { checkLifecycle, checkProbes } from './probes.ts'
import type { Container, ContainerPort, PodSpec } from './shapes.ts'
import { checkRelativePath } from './volumes.ts'

export const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP']

export function checkContainers(path: string, spec: Partial<PodSpec>, volumes: ReadonlySet<string>): FieldError[] {
  const containers = spec.containers ?? []
  if (containers.length === 0) return [required(path)]
  const names = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, container] of containers.entries()) {
    const at = `${path}[${index}]`
    errors.push(...checkContainer(at, container, volumes))
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name))
    names.add(container.name)
    errors.push(...checkLifecycle(`${at}.lifecycle`, container, spec.terminationGracePeriodSeconds))
    errors.push(...checkProbes(at, container))
  }
  return [...errors, ...checkHostPorts(path, containers)]
}

export function checkInitContainers(path: string, spec: Partial<PodSpec>, volumes: ReadonlySet<string>): FieldError[] {
  const names = new Set((spec.containers ?? []).map(({ name }) => name))
  const errors: FieldError[] = []
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const at = `${path}[${index}]`
    errors.push(...checkContainer(at, container, volumes))
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name))
    else if (container.name !== '') names.add(container.name)
    errors.push(...checkHostPorts(path, [container]))
    if (container.restartPolicy === 'Always') {
      errors.push(...checkLifecycle(`${at}.lifecycle`, container, spec.terminationGracePeriodSeconds))
      errors.push(...checkProbes(at, container))
    } else errors.push(...forbidForInit(at, container))
  }
  return errors
}

function forbidForInit(path: string, container: Container): FieldError[] {
  const fields = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const
  return fields
    .filter((field) => container[field] !== undefined)
    .map((field) => forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always'))
}

function checkContainer(path: string, container: Container, volumes: ReadonlySet<string>): FieldError[] {
  return [
    ...(container.name === '' ? [required(`${path}.name`)] : checkLabel(`${path}.name`, container.name)),
    ...(container.image ? [] : [required(`${path}.image`)]),
    ...checkOneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...checkPorts(`${path}.ports`, container.ports ?? []),
    ...checkEnv(`${path}.env`, container.env ?? []),
    ...checkEnvFrom(`${path}.envFrom`, container.envFrom ?? []),
    ...checkMounts(`${path}.volumeMounts`, container, volumes),
    ...checkOneOf(`${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']),
    ...checkResources(`${path}.resources`, container.resources ?? {}),
  ]
}

function checkPorts(path: string, ports: readonly ContainerPort[]): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const at = `${path}[${index}]`
    const errors = port.name ? checkPortName(`${at}.name`, port.name, names) : []
    if (port.containerPort === 0) errors.push(required(`${at}.containerPort`))
    else errors.push(...problemsAt(`${at}.containerPort`, port.containerPort, portProblems(port.containerPort)))
    if (port.hostPort) errors.push(...problemsAt(`${at}.hostPort`, port.hostPort, portProblems(port.hostPort)))
    return [...errors, ...checkOneOf(`${at}.protocol`, port.protocol, protocols)]
  })
}

function checkPortName(path: string, name: string, names: Set<string>): FieldError[] {
  const errors = problemsAt(path, name, portNameProblems(name))
  if (errors.length > 0) return errors
  if (names.has(name)) return [duplicate(path, name)]
  names.add(name)
  return []
}

/** Two containers cannot use the same host port. */
function checkHostPorts(path: string, containers: readonly Container[]): FieldError[] {
  const taken = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [number, { hostPort, hostIP = '', protocol = '' }] of ports.entries()) {
      if (!hostPort) continue
      const key = `${protocol}/${hostIP}/${hostPort}`
      if (taken.has(key)) errors.push(duplicate(`${path}[${index}].ports[${number}].hostPort`, key))
      taken.add(key)
    }
  }
  return errors
}

function checkMounts(path: string, container: Container, volumes: ReadonlySet<string>): FieldError[] {
  const devices = container.volumeDevices ?? []
  const paths = new Set<string>()
  return (container.volumeMounts ?? []).flatMap((mount, index) => {
    const at = `${path}[${index}]`
    const errors: FieldError[] = []
    if (mount.name === '') errors.push(required(`${at}.name`))
    if (!volumes.has(mount.name)) errors.push(notFound(`${at}.name`, mount.name))
    if (mount.mountPath === '') errors.push(required(`${at}.mountPath`))
    if (paths.has(mount.mountPath)) errors.push(invalid(`${at}.mountPath`, mount.mountPath, 'must be unique'))
    paths.add(mount.mountPath)
    if (devices.some(({ name }) => name === mount.name))
      errors.push(invalid(`${at}.name`, mount.name, 'must not already exist in volumeDevices'))
    if (devices.some(({ devicePath }) => devicePath === mount.mountPath)) {
      errors.push(invalid(`${at}.mountPath`, mount.mountPath, 'must not already exist as a path in volumeDevices'))
    }
    return [...errors, ...checkSubPaths(path, at, mount), ...checkPropagation(path, mount.mountPropagation, container)]
  })
}

type Mount = NonNullable<Container['volumeMounts']>[number]

/** The real server omits the list position from these paths. */
function checkSubPaths(path: string, at: string, { subPath, subPathExpr }: Mount): FieldError[] {
  const errors = subPath ? checkRelativePath(`${path}.subPath`, subPath) : []
  if (!subPathExpr) return errors
  if (subPath) errors.push(invalid(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'))
  return [...errors, ...checkRelativePath(`${path}.subPathExpr`, subPathExpr)]
}

function checkPropagation(path: string, mode: string | undefined, container: Container): FieldError[] {
  const at = `${path}.mountPropagation`
  const errors = checkOneOf(at, mode, ['Bidirectional', 'HostToContainer', 'None'])
  if (mode !== 'Bidirectional' || container.securityContext?.privileged) return errors
  return [...errors, forbidden(at, 'Bidirectional mount propagation is available only to privileged containers')]
}
