/**
 * The status of a CRD as the real server's controllers write it, in one step where they take several: whether its names are
 * free, and whether it is served. Pure; whoever keeps the CRDs calls it after every change of any of them.
 */

import { isDeepEqual } from '../../util/equality.ts'
import { quote } from '../field-errors.ts'
import { type Approval, approvalOf, isProtectedGroup } from './approval.ts'
import type { CrdCondition, CrdNames, CrdStatus, CustomResourceDefinition } from './definition.ts'
import { caBundleProblem } from './validate-conversion.ts'

type Verdict = Omit<CrdCondition, 'lastTransitionTime'>

/** The same object as `crd.status` where nothing changes. `others` may have the CRD itself in it. */
export function crdStatus(
  crd: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: Date,
): CrdStatus {
  let status = crd.status
  // A CRD that has the names it wants is not judged again, whatever the others want.
  if (!isDeepEqual(crd.spec.names, status.acceptedNames)) {
    const { accepted, verdict } = judgeNames(crd, others)
    status = withCondition({ ...status, acceptedNames: accepted }, verdict, now)
    const established = establishedSoFar(crd)
    if (established) status = withCondition(status, established, now)
  }
  const isAccepted = hasCondition(status, 'NamesAccepted', 'True')
  if (isAccepted && !hasCondition(status, 'Established', 'True')) status = withCondition(status, establish(crd), now)
  if (isProtectedGroup(crd.spec.group)) status = withCondition(status, conformance(crd), now)
  return isDeepEqual(status, crd.status) ? crd.status : status
}

/** On deletion: from here on nothing can be created, until the last object is gone. */
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

/** The time of a condition is that of its last change of status, whatever else changed in it since. */
function withCondition(status: CrdStatus, verdict: Verdict, now: Date): CrdStatus {
  const conditions = status.conditions ?? []
  const old = conditions.find(({ type }) => type === verdict.type)
  const isSame = old?.status === verdict.status && old.lastTransitionTime !== null
  const time = isSame ? old.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`
  const { type, status: state, ...words } = verdict
  const condition: CrdCondition = { type, status: state, lastTransitionTime: time, ...words }
  return {
    ...status,
    conditions: old ? conditions.map((one) => (one === old ? condition : one)) : [...conditions, condition],
  }
}

function hasCondition(status: CrdStatus, type: string, value: CrdCondition['status']): boolean {
  return status.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false
}

/** Names are looked at one by one: those that are free are taken, even if others are not. */
function judgeNames(
  { spec, status, metadata }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { accepted: CrdNames; verdict: Verdict } {
  const wanted = spec.names
  const had = status.acceptedNames
  const rivals = [
    had,
    ...others.filter((other) => isRival(other, spec.group, metadata.name)).map((other) => other.status.acceptedNames),
  ]
  const resources = new Set(
    rivals.flatMap((names) => [names.plural, names.singular ?? '', ...(names.shortNames ?? [])]),
  )
  const kinds = new Set(rivals.flatMap((names) => [names.kind, names.listKind ?? '']))
  let verdict: Verdict = { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<string>): string => {
    const name = wanted[field] ?? ''
    if (name === had[field] || !used.has(name)) return name
    const reason = `${field[0]!.toUpperCase()}${field.slice(1)}Conflict`
    verdict = { type: 'NamesAccepted', status: 'False', reason, message: `${quote(name)} is already in use` }
    return had[field] ?? ''
  }
  const plural = take('plural', resources)
  const singular = take('singular', resources)
  const short = takeShortNames(wanted, had, resources)
  if (short.message !== undefined) {
    verdict = { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: short.message }
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
  return { accepted, verdict }
}

function isRival(other: CustomResourceDefinition, group: string, name: string | undefined): boolean {
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

/** What was said before the names were judged stays, and a CRD that was established once remains so. */
function establishedSoFar({ status }: CustomResourceDefinition): Verdict | undefined {
  if (status.conditions?.some(({ type }) => type === 'Established')) return undefined
  return { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
}

function establish({ spec }: CustomResourceDefinition): Verdict {
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

function conformance(crd: CustomResourceDefinition): Verdict {
  const { state, reason: message } = approvalOf(crd)
  const status = state === 'approved' ? 'True' : 'False'
  return { type: 'KubernetesAPIApprovalPolicyConformant', status, reason: approvalReasons[state], message }
}

/** While its objects are being deleted, and when the last one is gone. */
export function instancesStatus(status: CrdStatus, isEmpty: boolean, now: Date): CrdStatus {
  const verdict: Verdict = isEmpty
    ? { type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' }
    : {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      }
  return withCondition(status, verdict, now)
}
