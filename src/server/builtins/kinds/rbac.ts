/** Rules for Role, ClusterRole, RoleBinding and ClusterRoleBinding. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { RbacSubject, RoleRef } from '../../authorization/bindings.ts'
import { type FieldError, invalid, notSupported, required } from '../../field-errors.ts'
import { pathSegmentNameProblems, subdomainNameProblems } from '../../names.ts'
import { checkLabelSelector, checkOneOf, type LabelSelectorSpec, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { isEqual, part } from '../values.ts'

interface Rule {
  readonly verbs?: readonly string[] | null
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

const group = 'rbac.authorization.k8s.io'

function checkRule(path: string, rule: Rule, isNamespaced: boolean): FieldError[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const errors =
    (rule.verbs ?? []).length === 0 ? [required(`${path}.verbs`, 'verbs must contain at least one value')] : []
  if (nonResourceURLs.length > 0) {
    const at = `${path}.nonResourceURLs`
    if (isNamespaced) errors.push(invalid(at, nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'))
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      errors.push(invalid(at, nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs'))
    }
    return errors
  }
  if (apiGroups.length === 0)
    errors.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'))
  if (resources.length === 0)
    errors.push(required(`${path}.resources`, 'resource rules must supply at least one resource'))
  return errors
}

function checkRules(role: KubeObject, isNamespaced: boolean): FieldError[] {
  return ((role['rules'] ?? []) as readonly Rule[]).flatMap((rule, index) =>
    checkRule(`rules[${index}]`, rule, isNamespaced),
  )
}

function checkAggregation(role: KubeObject): FieldError[] {
  if (role['aggregationRule'] === undefined) return []
  const path = 'aggregationRule.clusterRoleSelectors'
  const selectors =
    part<{ clusterRoleSelectors: readonly LabelSelectorSpec[] }>(role, 'aggregationRule').clusterRoleSelectors ?? []
  if (selectors.length === 0)
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')]
  return selectors.flatMap((selector, index) => checkLabelSelector(`${path}[${index}]`, selector))
}

function checkSubject(path: string, subject: RbacSubject, isNamespaced: boolean): FieldError[] {
  const { kind, name, apiGroup = '' } = subject
  const errors = name === '' ? [required(`${path}.name`)] : []
  if (kind === 'User' || kind === 'Group') return [...errors, ...checkOneOf(`${path}.apiGroup`, apiGroup, [group])]
  if (kind !== 'ServiceAccount')
    return [...errors, notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group'])]
  if (name !== '') errors.push(...problemsAt(`${path}.name`, name, subdomainNameProblems(name, false)))
  errors.push(...checkOneOf(`${path}.apiGroup`, apiGroup, ['']))
  if (!isNamespaced && !subject.namespace) errors.push(required(`${path}.namespace`))
  return errors
}

function checkBinding(binding: KubeObject, roleKinds: readonly string[], isNamespaced: boolean): FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = part<RoleRef>(binding, 'roleRef')
  const naming =
    name === '' ? [required('roleRef.name')] : problemsAt('roleRef.name', name, pathSegmentNameProblems(name, false))
  return [
    ...checkOneOf('roleRef.apiGroup', apiGroup, [group]),
    ...checkOneOf('roleRef.kind', kind, roleKinds),
    ...naming,
    ...((binding['subjects'] ?? []) as readonly RbacSubject[]).flatMap((subject, index) =>
      checkSubject(`subjects[${index}]`, subject, isNamespaced),
    ),
  ]
}

function checkSameRole(binding: KubeObject, old: KubeObject): FieldError[] {
  if (isEqual(binding['roleRef'], old['roleRef'])) return []
  const { apiGroup = '', kind = '', name = '' } = part<RoleRef>(binding, 'roleRef')
  return [invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')]
}

const common = { nameProblems: pathSegmentNameProblems, extra: { allowsCreateOnUpdate: true } }

export const roleRules: KindRules = { ...common, validate: (role) => checkRules(role, true) }

export const clusterRoleRules: KindRules = {
  ...common,
  validate: (role) => [...checkRules(role, false), ...checkAggregation(role)],
}

function bindingRules(roleKinds: readonly string[], isNamespaced: boolean): KindRules {
  const validate = (binding: KubeObject): FieldError[] => checkBinding(binding, roleKinds, isNamespaced)
  return {
    ...common,
    validate,
    validateUpdate: (binding, old) => [...validate(binding), ...checkSameRole(binding, old)],
  }
}

export const roleBindingRules: KindRules = bindingRules(['Role', 'ClusterRole'], true)
export const clusterRoleBindingRules: KindRules = bindingRules(['ClusterRole'], false)
