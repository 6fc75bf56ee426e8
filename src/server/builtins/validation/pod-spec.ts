/** Validation shared by pods and pod templates, in the order of the real server's ValidatePodSpec. */
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '../../field-errors.ts'
import { labelValueProblems, qualifiedNameProblems, subdomainNameProblems } from '../../names.ts'
import {
  checkLabel,
  checkLabelSelector,
  checkLabels,
  checkOneOf,
  checkSubdomain,
  problemsAt,
  rangeProblem,
} from '../checks.ts'
import { checkIp } from './addresses.ts'
import { checkContainers, checkInitContainers } from './containers.ts'
import type { PodSpec, PodTemplate, Toleration } from './shapes.ts'
import { checkVolumes } from './volumes.ts'

export function checkPodSpec(path: string, spec: Partial<PodSpec>, isPod: boolean): FieldError[] {
  const volumes = checkVolumes(`${path}.volumes`, spec.volumes ?? [])
  return [
    ...volumes.errors,
    ...checkContainers(`${path}.containers`, spec, volumes.names),
    ...checkInitContainers(`${path}.initContainers`, spec, volumes.names),
    ...checkHostNetwork(`${path}.containers`, spec, isPod),
    ...checkOneOf(`${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...checkOneOf(`${path}.dnsPolicy`, spec.dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']),
    ...checkLabels(`${path}.nodeSelector`, spec.nodeSelector),
    ...checkGates(path, spec),
    ...checkSpreading(`${path}.topologySpreadConstraints`, spec.topologySpreadConstraints ?? []),
    ...checkReferences(path, spec),
  ]
}

function checkHostNetwork(path: string, spec: Partial<PodSpec>, isPod: boolean): FieldError[] {
  if (!spec.hostNetwork) return []
  return (spec.containers ?? []).flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, containerPort }, number) => {
      if (hostPort === containerPort || (!isPod && hostPort === 0)) return []
      const at = `${path}[${index}].ports[${number}].hostPort`
      return [invalid(at, hostPort, 'must match `containerPort` when `hostNetwork` is true')]
    }),
  )
}

function checkGates(path: string, { readinessGates = [], schedulingGates = [] }: Partial<PodSpec>): FieldError[] {
  const seen = new Set<string>()
  return [
    ...readinessGates.flatMap(({ conditionType }, index) =>
      problemsAt(`${path}.readinessGates[${index}].conditionType`, conditionType, qualifiedNameProblems(conditionType)),
    ),
    ...schedulingGates.flatMap(({ name }, index) => {
      const at = `${path}.schedulingGates[${index}]`
      const errors = problemsAt(at, name, qualifiedNameProblems(name))
      if (seen.has(name)) errors.push(duplicate(at, name))
      seen.add(name)
      return errors
    }),
  ]
}

type Spreading = NonNullable<PodSpec['topologySpreadConstraints']>

function checkSpreading(path: string, constraints: Spreading): FieldError[] {
  return constraints.flatMap(({ maxSkew, topologyKey, whenUnsatisfiable, labelSelector }, index) => {
    const at = `${path}[${index}]`
    const errors = maxSkew <= 0 ? [invalid(`${at}.maxSkew`, maxSkew, 'must be greater than zero')] : []
    if (topologyKey === '') errors.push(required(`${at}.topologyKey`, 'can not be empty'))
    if (!['DoNotSchedule', 'ScheduleAnyway'].includes(whenUnsatisfiable)) {
      errors.push(notSupported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']))
    }
    const isRepeated = constraints
      .slice(0, index)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)
    if (isRepeated)
      errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`))
    return [...errors, ...checkLabelSelector(`${at}.labelSelector`, labelSelector)]
  })
}

/** Checks references to other objects and the scalar fields after them. */
function checkReferences(path: string, spec: Partial<PodSpec>): FieldError[] {
  const name = (field: string, value: string | undefined): FieldError[] =>
    value ? problemsAt(`${path}.${field}`, value, subdomainNameProblems(value, false)) : []
  const deadline = spec.activeDeadlineSeconds
  const isBadDeadline = deadline !== undefined && (deadline < 1 || deadline > 2 ** 31 - 1)
  return [
    ...name('serviceAccountName', spec.serviceAccountName),
    ...name('nodeName', spec.nodeName),
    ...(isBadDeadline ? [invalid(`${path}.activeDeadlineSeconds`, deadline, rangeProblem(1, 2 ** 31 - 1))] : []),
    ...(spec.hostname ? checkLabel(`${path}.hostname`, spec.hostname) : []),
    ...(spec.subdomain ? checkLabel(`${path}.subdomain`, spec.subdomain) : []),
    ...checkTolerations(`${path}.tolerations`, spec.tolerations ?? []),
    ...checkHostAliases(`${path}.hostAliases`, spec.hostAliases ?? []),
    ...name('priorityClassName', spec.priorityClassName),
    ...name('runtimeClassName', spec.runtimeClassName),
    ...checkOneOf(`${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']),
  ]
}

export const taintEffects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function checkTolerations(path: string, tolerations: readonly Toleration[]): FieldError[] {
  return tolerations.flatMap(({ key = '', operator = '', value = '', effect = '', tolerationSeconds }, index) => {
    const at = `${path}[${index}]`
    const errors = key === '' ? [] : problemsAt(`${at}.key`, key, qualifiedNameProblems(key))
    if (key === '' && operator !== 'Exists') {
      const rule = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      errors.push(invalid(`${at}.operator`, operator, rule))
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    }
    errors.push(...checkTolerationOperator(`${at}.operator`, operator, value))
    return effect === '' ? errors : [...errors, ...checkOneOf(`${at}.effect`, effect, taintEffects)]
  })
}

function checkTolerationOperator(path: string, operator: string, value: string): FieldError[] {
  if (operator === '' || operator === 'Equal') {
    const problems = labelValueProblems(value)
    return problems.length === 0 ? [] : [invalid(path, value, problems.join(';'))]
  }
  if (operator !== 'Exists') return [notSupported(path, operator, ['Equal', 'Exists'])]
  return value === '' ? [] : [invalid(path, value, "value must be empty when `operator` is 'Exists'")]
}

function checkHostAliases(path: string, aliases: NonNullable<PodSpec['hostAliases']>): FieldError[] {
  return aliases.flatMap(({ ip, hostnames = [] }, index) => [
    ...checkIp(`${path}[${index}].ip`, ip),
    ...hostnames.flatMap((name, number) => checkSubdomain(`${path}[${index}].hostnames[${number}]`, name)),
  ])
}

/** The real server reports `template.labels` instead of `template.metadata.labels`. */
export function checkPodTemplate(path: string, template: PodTemplate): FieldError[] {
  const spec: Partial<PodSpec> = template.spec ?? {}
  const errors = [
    ...checkLabels(`${path}.labels`, template.metadata?.labels),
    ...checkAnnotations(`${path}.annotations`, template.metadata?.annotations),
    ...checkPodSpec(`${path}.spec`, spec, false),
  ]
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'))
  }
  return errors
}

function checkAnnotations(path: string, annotations: Readonly<Record<string, string>> = {}): FieldError[] {
  return Object.keys(annotations).flatMap((key) => problemsAt(path, key, qualifiedNameProblems(key.toLowerCase())))
}
