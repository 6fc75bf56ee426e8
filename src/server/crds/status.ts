/**
 * Computes the status of a CRD in one step: whether its names are accepted, and whether it is established. The real server's
 * controllers take several steps. Pure; the CRD controller calls it after every change of a CRD.
 */

import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { quote } from '../field-errors.ts'
import { type Approval, approvalOf, isProtectedGroup } from './approval.ts'
import type { CrdCondition, CrdNames, CrdStatus, CustomResourceDefinition } from './definition.ts'
import { caBundleProblem } from './validate-conversion.ts'

type NewCondition = Omit<CrdCondition, 'lastTransitionTime'>

/** Returns `crd.status` itself if nothing changes. `others` may include the CRD. */
export function crdStatus(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: Date,
): CrdStatus {
  let status = crd.status
  // A CRD with all its names accepted is not checked again, even if other CRDs request the same names.
  if (!isDeepEqual(crd.spec.names, status.acceptedNames)) {
    const { accepted, condition } = resolveNames(crd, others)
    status = withCondition({ ...status, acceptedNames: accepted }, condition, now)
    const established = establishedSoFar(crd)
    if (established) status = withCondition(status, established, now)
  }
  const isAccepted = hasCondition(status, 'NamesAccepted', 'True')
  if (isAccepted && !hasCondition(status, 'Established', 'True')) status = withCondition(status, establish(crd), now)
  if (isProtectedGroup(crd.spec.group)) status = withCondition(status, conformance(crd), now)
  return isDeepEqual(status, crd.status) ? crd.status : status
}

/** On deletion: no objects can be created until the last one is deleted. */
export function terminatingStatus(status: CrdStatus, now: Date): CrdStatus {
  return withCondition(
    status,
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
    now,
  )
}

/** lastTransitionTime changes with the status only. */
function withCondition(status: CrdStatus, given: NewCondition, now: Date): CrdStatus {
  const conditions = status.conditions ?? []
  const old = conditions.find(({ type }) => type === given.type)
  const isSame = old?.status === given.status && old.lastTransitionTime !== null
  const time = isSame ? old.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`
  const { type, status: state, ...words } = given
  const condition: CrdCondition = { type, status: state, lastTransitionTime: time, ...words }
  return {
    ...status,
    conditions: old ? conditions.map((one) => (one === old ? condition : one)) : [...conditions, condition],
  }
}

function hasCondition(status: CrdStatus, type: string, value: CrdCondition['status']): boolean {
  return status.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false
}

/** Checks each name separately: free names are accepted even if others conflict. */
function resolveNames(
  { spec, status, metadata }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { accepted: CrdNames; condition: NewCondition } {
  const wanted = spec.names
  const had = status.acceptedNames
  const takenNames = [
    had,
    ...others
      .filter((other) => isOtherInGroup(other, spec.group, metadata.name))
      .map((other) => other.status.acceptedNames),
  ]
  const resources = new Set(
    takenNames.flatMap((names) => [names.plural, names.singular ?? '', ...(names.shortNames ?? [])]),
  )
  const kinds = new Set(takenNames.flatMap((names) => [names.kind, names.listKind ?? '']))
  let condition: NewCondition = {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  }
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<string>): string => {
    const name = wanted[field] ?? ''
    if (name === had[field] || !used.has(name)) return name
    const reason = `${field[0]!.toUpperCase()}${field.slice(1)}Conflict`
    condition = { type: 'NamesAccepted', status: 'False', reason, message: `${quote(name)} is already in use` }
    return had[field] ?? ''
  }
  const plural = take('plural', resources)
  const singular = take('singular', resources)
  const short = takeShortNames(wanted, had, resources)
  if (short.message !== undefined) {
    condition = { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: short.message }
  }
  const kind = take('kind', kinds)
  const listKind = take('listKind', kinds)
  const accepted = {
    plural,
    ...(singular === '' ? {} : { singular }),
    ...(short.names?.length ? { shortNames: [...short.names] } : {}),
    kind,
    ...(listKind === '' ? {} : { listKind }),
    ...(wanted.categories ? { categories: wanted.categories } : {}),
  }
  return { accepted, condition }
}

function isOtherInGroup(other: CustomResourceDefinition, group: string, name: string | undefined): boolean {
  return other.spec.group === group && other.metadata.name !== name
}

function takeShortNames(
  wanted: CrdNames,
  had: CrdNames,
  used: ReadonlySet<string>,
): { names: readonly string[] | undefined; message?: string } {
  const taken = (wanted.shortNames ?? []).filter((name) => used.has(name) && !had.shortNames?.includes(name))
  if (taken.length === 0) return { names: wanted.shortNames }
  const messages = [...new Set(taken.map((name) => `${quote(name)} is already in use`))]
  return { names: had.shortNames, message: messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]` }
}

/** The Established condition is only added if there is none yet: a CRD that was established stays established. */
function establishedSoFar({ status }: CustomResourceDefinition): NewCondition | undefined {
  if (status.conditions?.some(({ type }) => type === 'Established')) return undefined
  return { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
}

function establish({ spec }: CustomResourceDefinition): NewCondition {
  const caBundle = spec.conversion?.webhook?.clientConfig?.caBundle ?? ''
  if (caBundle !== '' && caBundleProblem(caBundle) !== undefined) {
    const message = 'The conversion webhook CABundle is invalid'
    return { type: 'Established', status: 'False', reason: 'InvalidCABundle', message }
  }
  const message = 'the initial names have been accepted'
  return { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message }
}

const approvalReasons: Readonly<Record<Approval['state'], string>> = {
  invalid: 'InvalidAnnotation',
  missing: 'MissingAnnotation',
  approved: 'ApprovedAnnotation',
  bypassed: 'UnapprovedAnnotation',
}

function conformance(crd: CustomResourceDefinition): NewCondition {
  const { state, reason: message } = approvalOf(crd)
  const status = state === 'approved' ? 'True' : 'False'
  return { type: 'KubernetesAPIApprovalPolicyConformant', status, reason: approvalReasons[state], message }
}

/** The Terminating condition while objects are being deleted, and after the last one is deleted. */
export function instancesStatus(status: CrdStatus, isEmpty: boolean, now: Date): CrdStatus {
  const condition: NewCondition = isEmpty
    ? { type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' }
    : {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      }
  return withCondition(status, condition, now)
}
