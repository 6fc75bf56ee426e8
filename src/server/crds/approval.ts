/** CRDs in the Kubernetes project's own API groups need an approval annotation. Called by validate.ts. */
import { type FieldError, invalid, quote, required } from '../field-errors.ts'
import { parseGoUrl } from '../schema/go-url.ts'
import type { CustomResourceDefinition } from './definition.ts'

const annotation = 'api-approved.kubernetes.io'
const field = `metadata.annotations[${annotation}]`
const link = 'https://github.com/kubernetes/enhancements/pull/1111'

export function isProtectedGroup(group: string): boolean {
  return /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)
}

export interface Approval {
  readonly state: 'invalid' | 'approved' | 'bypassed' | 'missing'
  readonly reason: string
}

export function approvalOf({ metadata }: CustomResourceDefinition): Approval {
  const value = metadata.annotations?.[annotation] ?? ''
  const words = `protected groups must have approval annotation ${quote(annotation)}`
  if (value === '') return { state: 'missing', reason: `${words}, see ${link}` }
  if (value.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${quote(value)}` }
  const parsed = parseGoUrl(value, { forRequest: true })
  if ('url' in parsed && parsed.url.host !== '' && parsed.url.scheme !== '') {
    return { state: 'approved', reason: `approved in ${value}` }
  }
  return { state: 'invalid', reason: `${words} with either a URL or a reason starting with "unapproved", see ${link}` }
}

export function validateApproval(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (!isProtectedGroup(crd.spec.group)) return []
  const { state, reason } = approvalOf(crd)
  if (old && approvalOf(old).state === state) return []
  if (state === 'missing') return [required(field, reason)]
  return state === 'invalid' ? [invalid(field, crd.metadata.annotations?.[annotation], reason)] : []
}
