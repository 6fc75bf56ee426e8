/** Validation of resource amounts: requests and limits of containers, capacities of nodes and volumes. */

import { nanosOf } from '../../../kube/quantities.ts'
import { type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { qualifiedNameProblems } from '../../names.ts'
import { problemsAt } from '../checks.ts'
import type { Resources } from './shapes.ts'

const counted = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]
const containerNames = ['cpu', 'memory', 'ephemeral-storage']
const standardNames = [
  ...containerNames,
  ...containerNames.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  ...counted,
  'requests.storage',
  'storage',
]

const isHugePages = (name: string): boolean => name.startsWith('hugepages-')
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/')
const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedNameProblems(`requests.${name}`).length === 0
const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePages(name)

export function checkAmount(path: string, name: string, amount: string): FieldError[] {
  const errors = nanosOf(amount) < 0n ? [invalid(path, amount, 'must be greater than or equal to 0')] : []
  const isWhole = nanosOf(amount) % 1_000_000_000n === 0n
  if ((counted.includes(name) || isExtended(name)) && !isWhole) errors.push(invalid(path, amount, 'must be an integer'))
  return errors
}

function checkContainerResourceName(path: string, name: string): FieldError[] {
  const errors = problemsAt(path, name, qualifiedNameProblems(name))
  const isPlain = !name.includes('/')
  if (
    errors.length === 0 &&
    isPlain &&
    !standardNames.includes(name) &&
    !isHugePages(name) &&
    !isHugePages(name.replace('requests.', ''))
  ) {
    errors.push(invalid(path, name, 'must be a standard resource type or fully qualified'))
  }
  if (isPlain) {
    if (!containerNames.includes(name) && !isHugePages(name))
      errors.push(invalid(path, name, 'must be a standard resource for containers'))
  } else if (!isNative(name) && !isExtended(name))
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"))
  return errors
}

export function checkResources(path: string, { limits = {}, requests = {} }: Resources): FieldError[] {
  const errors: FieldError[] = []
  for (const [name, amount] of Object.entries(limits)) errors.push(...checkOne(`${path}.limits[${name}]`, name, amount))
  for (const [name, amount] of Object.entries(requests)) {
    errors.push(...checkOne(`${path}.requests[${name}]`, name, amount))
    errors.push(...checkRequest(path, name, amount, Object.hasOwn(limits, name) ? limits[name] : undefined))
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  const hasCompute = names.includes('cpu') || names.includes('memory')
  if (!hasCompute && names.some(isHugePages)) errors.push(forbidden(path, 'HugePages require cpu or memory'))
  return errors
}

function checkOne(path: string, name: string, amount: string): FieldError[] {
  return [...checkContainerResourceName(path, name), ...checkAmount(path, name, amount)]
}

function checkRequest(path: string, name: string, amount: string, limit: string | undefined): FieldError[] {
  if (limit === undefined) {
    return mayOvercommit(name) ? [] : [required(`${path}.limits`, 'Limit must be set for non overcommitable resources')]
  }
  const difference = nanosOf(amount) - nanosOf(limit)
  if (difference !== 0n && !mayOvercommit(name)) {
    return [invalid(`${path}.requests`, amount, `must be equal to ${name} limit of ${limit}`)]
  }
  if (difference <= 0n) return []
  return [invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`)]
}
