/** Validation of a container's environment. Used by containers.ts. */
import { type FieldError, invalid, notSupported, required } from '../../field-errors.ts'
import { qualifiedNameProblems, subdomainNameProblems } from '../../names.ts'
import { problemsAt } from '../checks.ts'
import { configKeyProblems } from './keys.ts'
import type { Container, EnvSource } from './shapes.ts'

const fieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
/** Valid field paths that environment variables cannot use. */
const otherFieldPaths = [
  'metadata.annotations',
  'metadata.labels',
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'status.nominatedNodeName',
  'spec.hostNetwork',
  'status.podIP',
  'spec.host',
]
const resourceNames = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

function variableProblems(name: string): string[] {
  if (name === '') return ['environment variable name must be non-empty']
  if (/^[\x20-\x3c\x3e-\x7e]+$/.test(name)) return []
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

export function checkEnv(path: string, variables: NonNullable<Container['env']>): FieldError[] {
  return variables.flatMap(({ name, value = '', valueFrom }, index) => {
    const at = `${path}[${index}]`
    const errors = name === '' ? [required(`${at}.name`)] : problemsAt(`${at}.name`, name, variableProblems(name))
    return valueFrom ? [...errors, ...checkSource(`${at}.valueFrom`, valueFrom, value)] : errors
  })
}

function checkSource(path: string, source: EnvSource, value: string): FieldError[] {
  const errors: FieldError[] = []
  if (source.fieldRef) errors.push(...checkFieldRef(`${path}.fieldRef`, source.fieldRef.fieldPath ?? ''))
  if (source.resourceFieldRef)
    errors.push(...checkResourceRef(`${path}.resourceFieldRef`, source.resourceFieldRef.resource ?? ''))
  if (source.configMapKeyRef) errors.push(...checkKeyRef(`${path}.configMapKeyRef`, source.configMapKeyRef))
  if (source.secretKeyRef) errors.push(...checkKeyRef(`${path}.secretKeyRef`, source.secretKeyRef))
  const count = Object.keys(source).length
  const names = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'
  if (count === 0) errors.push(invalid(path, '', `must specify one of: ${names}`))
  else if (value !== '') errors.push(invalid(path, '', 'may not be specified when `value` is not empty'))
  else if (count > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
  return errors
}

/** Splits `metadata.labels['app']` into the field and `app`, like Go's SplitMaybeSubscriptedPath. */
function splitSubscript(path: string): { readonly field: string; readonly subscript?: string } {
  const open = path.indexOf("['")
  if (open <= 0 || open + 2 > path.length - 2 || !path.endsWith("']")) return { field: path }
  return { field: path.slice(0, open), subscript: path.slice(open + 2, -2) }
}

function checkFieldRef(path: string, fieldPath: string): FieldError[] {
  if (fieldPath === '') return [required(`${path}.fieldPath`)]
  const { field, subscript } = splitSubscript(fieldPath)
  if (!fieldPaths.includes(field) && !otherFieldPaths.includes(field)) {
    return [
      invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`),
    ]
  }
  if (subscript === undefined)
    return fieldPaths.includes(field) ? [] : [notSupported(`${path}.fieldPath`, field, fieldPaths)]
  if (field === 'metadata.labels') return problemsAt(path, subscript, qualifiedNameProblems(subscript))
  if (field === 'metadata.annotations')
    return problemsAt(path, subscript.toLowerCase(), qualifiedNameProblems(subscript.toLowerCase()))
  return [invalid(path, field, 'does not support subscript')]
}

function checkResourceRef(path: string, resource: string): FieldError[] {
  if (resource === '') return [required(`${path}.resource`)]
  if (resourceNames.includes(resource) || /^(?:limits|requests)\.hugepages-/.test(resource)) return []
  return [notSupported(`${path}.resource`, resource, resourceNames)]
}

function checkKeyRef(
  path: string,
  { name = '', key = '' }: { readonly name?: string; readonly key?: string },
): FieldError[] {
  const errors = problemsAt(`${path}.name`, name, subdomainNameProblems(name, false))
  return [
    ...errors,
    ...(key === '' ? [required(`${path}.key`)] : problemsAt(`${path}.key`, key, configKeyProblems(key))),
  ]
}

export function checkEnvFrom(path: string, sources: NonNullable<Container['envFrom']>): FieldError[] {
  return sources.flatMap(({ prefix, configMapRef, secretRef }, index) => {
    const at = `${path}[${index}]`
    const errors = prefix ? problemsAt(`${at}.prefix`, prefix, variableProblems(prefix)) : []
    if (configMapRef) errors.push(...checkReference(`${at}.configMapRef.name`, configMapRef.name ?? ''))
    if (secretRef) errors.push(...checkReference(`${at}.secretRef.name`, secretRef.name ?? ''))
    // The real server reports these two errors for the whole list.
    if (!configMapRef && !secretRef)
      errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    if (configMapRef && secretRef)
      errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
    return errors
  })
}

function checkReference(path: string, name: string): FieldError[] {
  return name === '' ? [required(path)] : problemsAt(path, name, subdomainNameProblems(name, true))
}
