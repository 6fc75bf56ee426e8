/** SubjectAccessReview, its local and self variants, and SelfSubjectRulesReview: answered by the authorizer. */
import type { AuthorizationAttributes } from '../authorization/attributes.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import type { PolicyRule } from '../authorization/policy-rules.ts'
import { type FieldError, invalid, required } from '../field-errors.ts'
import type { User } from '../identity/authentication.ts'
import { labelSelectorFromObject, parseFieldSelector, parseLabelSelector } from '../selectors.ts'
import { badRequest, invalidObject } from '../status.ts'
import { isGiven, type ReviewSpecFields, readFields, readText, readTexts } from './question.ts'
import type { ReviewEvaluation } from './reviews.ts'

type ReviewStatus = Record<string, unknown>

export function reviewSelf({ spec, asker, authorizer }: ReviewEvaluation): ReviewStatus {
  failIfInvalid(attributeErrors(spec))
  return verdict(authorizer, asker, spec)
}

export function reviewSubject({ spec, authorizer }: ReviewEvaluation): ReviewStatus {
  failIfInvalid(subjectErrors(spec))
  return verdict(authorizer, subjectOf(spec), spec)
}

export function reviewSubjectHere({ spec, metadata, authorizer }: ReviewEvaluation): ReviewStatus {
  const errors = subjectErrors(spec)
  const namespace = readText(resourceAttributes(spec), 'namespace')
  if (isGiven(spec, 'resourceAttributes') && namespace !== (metadata.namespace ?? '')) {
    errors.push(invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace'))
  }
  if (isGiven(spec, 'nonResourceAttributes')) {
    const why = 'disallowed on this kind of request'
    errors.push(invalid('spec.nonResourceAttributes', spec.values['nonResourceAttributes'], why))
  }
  failIfInvalid(errors)
  return verdict(authorizer, subjectOf(spec), spec)
}

export function reviewRules({ spec, asker, authorizer }: ReviewEvaluation): ReviewStatus {
  const namespace = readText(spec, 'namespace')
  if (namespace === '') throw badRequest('no namespace on request')
  const { rules, error } = authorizer.rulesFor(asker, namespace)
  return {
    resourceRules: rules.filter(({ resources = [] }) => resources.length > 0).map(toResourceRule),
    nonResourceRules: rules
      .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(error === '' ? {} : { evaluationError: error }),
  }
}

function toResourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule): object {
  const names = resourceNames?.length ? { resourceNames } : {}
  return { verbs, ...(apiGroups?.length ? { apiGroups } : {}), resources, ...names }
}

function verdict(authorizer: Authorizer, user: User, spec: ReviewSpecFields): ReviewStatus {
  const { isAllowed, reason } = authorizer.authorize(user, attemptOf(spec))
  const problems = ['field', 'label'].flatMap((kind) => selectorProblem(spec, kind as 'field' | 'label') ?? [])
  return {
    allowed: isAllowed,
    ...(reason === '' ? {} : { reason }),
    ...(problems.length === 0 ? {} : { evaluationError: problems.join('; ') }),
  }
}

function subjectOf(spec: ReviewSpecFields): User {
  return { username: readText(spec, 'user'), groups: readTexts(spec, 'groups') }
}

function resourceAttributes(spec: ReviewSpecFields): ReviewSpecFields {
  return readFields(spec, 'resourceAttributes', 'ResourceAttributes')
}

function attemptOf(spec: ReviewSpecFields): AuthorizationAttributes {
  if (!isGiven(spec, 'resourceAttributes')) {
    const fields = readFields(spec, 'nonResourceAttributes', 'NonResourceAttributes')
    return { verb: readText(fields, 'verb'), path: readText(fields, 'path') }
  }
  const fields = resourceAttributes(spec)
  return {
    verb: readText(fields, 'verb'),
    group: readText(fields, 'group'),
    resource: readText(fields, 'resource'),
    subresource: readText(fields, 'subresource'),
    namespace: readText(fields, 'namespace'),
    name: readText(fields, 'name'),
  }
}

function attributeErrors(spec: ReviewSpecFields): FieldError[] {
  const [isResource, isOther] = [isGiven(spec, 'resourceAttributes'), isGiven(spec, 'nonResourceAttributes')]
  if (isResource && isOther) {
    const why = 'cannot be specified in combination with resourceAttributes'
    return [invalid('spec.nonResourceAttributes', spec.values['nonResourceAttributes'], why)]
  }
  if (!isResource && !isOther) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    return [invalid('spec.resourceAttributes', null, why)]
  }
  return isResource ? [...selectorErrors(spec, 'field'), ...selectorErrors(spec, 'label')] : []
}

function selectorOf(spec: ReviewSpecFields, kind: 'field' | 'label'): ReviewSpecFields | undefined {
  const attributes = resourceAttributes(spec)
  const field = `${kind}Selector`
  if (!isGiven(attributes, field)) return undefined
  return readFields(attributes, field, kind === 'field' ? 'FieldSelectorAttributes' : 'LabelSelectorAttributes')
}

/** RBAC rules do not use selectors, but invalid ones are rejected. */
function selectorErrors(spec: ReviewSpecFields, kind: 'field' | 'label'): FieldError[] {
  const selector = selectorOf(spec, kind)
  if (selector === undefined) return []
  const raw = readText(selector, 'rawSelector')
  const hasRequirements = requirementsOf(selector).length > 0
  if (raw !== '' && hasRequirements) {
    return [invalid(`${selector.path}.rawSelector`, raw, 'may not specified at the same time as requirements')]
  }
  if (raw !== '' || hasRequirements) return []
  const why = `when ${selector.path} is specified, requirements or rawSelector is required`
  return [required(`${selector.path}.requirements`, why)]
}

function requirementsOf({ values }: ReviewSpecFields): readonly unknown[] {
  return Array.isArray(values['requirements']) ? values['requirements'] : []
}

function selectorProblem(spec: ReviewSpecFields, kind: 'field' | 'label'): string | undefined {
  const selector = isGiven(spec, 'resourceAttributes') ? selectorOf(spec, kind) : undefined
  if (selector === undefined) return undefined
  try {
    if (kind === 'field') parseFieldSelector(readText(selector, 'rawSelector'))
    else parseLabelSelector(readText(selector, 'rawSelector'))
    if (kind === 'label') labelSelectorFromObject({ matchExpressions: requirementsOf(selector) as never })
    return undefined
  } catch {
    return `${selector.path} ignored due to parse error`
  }
}

function subjectErrors(spec: ReviewSpecFields): FieldError[] {
  const errors = attributeErrors(spec)
  if (readText(spec, 'user') === '' && readTexts(spec, 'groups').length === 0) {
    errors.push(invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  return errors
}

function failIfInvalid(errors: readonly FieldError[]): void {
  // kube-apiserver omits the kind in these errors.
  if (errors.length > 0) throw invalidObject('authorization.k8s.io', '', '', errors)
}
