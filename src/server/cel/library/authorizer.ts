/**
 * The `authorizer` variable of match conditions: permission checks for the requesting user. The functions build the query; the
 * caller of the engine supplies the decision.
 */
import { fail } from '../failures.ts'
import { type Library, member } from '../functions.ts'
import { boolType, type CelType, stringType, struct } from '../types.ts'
import { type CelValue, Opaque } from '../values.ts'

/** The query: a non-resource path, or a verb on a resource. */
export interface AccessQuery {
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** Checks this service account instead of the requesting user. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

export interface AccessDecision {
  readonly allowed: boolean
  readonly reason: string
}

export type Authorize = (query: AccessQuery) => AccessDecision

export const authorizerType: CelType = struct('kubernetes.authorization.Authorizer')
const pathType = struct('kubernetes.authorization.PathCheck')
const groupType = struct('kubernetes.authorization.GroupCheck')
export const resourceType: CelType = struct('kubernetes.authorization.ResourceCheck')
const decisionType = struct('kubernetes.authorization.Decision')

/** An incomplete query. Its type determines which functions can be called next. */
class AuthorizerCheck extends Opaque {
  readonly typeName: string
  readonly authorize: Authorize
  readonly query: Partial<AccessQuery>

  constructor(typeName: string, authorize: Authorize, query: Partial<AccessQuery> = {}) {
    super()
    this.typeName = typeName
    this.authorize = authorize
    this.query = query
  }

  equals(other: Opaque): boolean {
    return JSON.stringify((other as AuthorizerCheck).query) === JSON.stringify(this.query)
  }

  with(type: { readonly name: string }, more: Partial<AccessQuery>): AuthorizerCheck {
    return new AuthorizerCheck(type.name, this.authorize, { ...this.query, ...more })
  }
}

class AuthorizerDecision extends Opaque {
  readonly typeName = 'kubernetes.authorization.Decision'
  readonly decision: AccessDecision

  constructor(decision: AccessDecision) {
    super()
    this.decision = decision
  }

  equals(other: Opaque): boolean {
    const { allowed, reason } = (other as AuthorizerDecision).decision
    return allowed === this.decision.allowed && reason === this.decision.reason
  }
}

/** Values of the variables `authorizer` and `authorizer.requestResource`. */
export function authorizerValue(authorize: Authorize): CelValue {
  return new AuthorizerCheck(authorizerType.name, authorize)
}

export function requestResourceValue(authorize: Authorize, query: Partial<AccessQuery>): CelValue {
  return new AuthorizerCheck(resourceType.name, authorize, query)
}

const text = (value: CelValue | undefined): string => value as string
const check = (value: CelValue | undefined): AuthorizerCheck => value as AuthorizerCheck
const decide = ([own, verb]: readonly CelValue[]): AuthorizerDecision =>
  new AuthorizerDecision(check(own).authorize({ ...check(own).query, verb: text(verb) }))

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

function asServiceAccount([own, namespace, name]: readonly CelValue[]): AuthorizerCheck {
  if (!dnsLabel.test(text(namespace))) return fail(`invalid service account namespace ${text(namespace)}`)
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text(name))) return fail(`Invalid service account name ${text(name)}`)
  return check(own).with(authorizerType, { serviceAccount: { namespace: text(namespace), name: text(name) } })
}

const about = (id: string, field: 'subresource' | 'namespace' | 'name') =>
  member(id, [resourceType, stringType], resourceType, ([own, value]) =>
    check(own).with(resourceType, { [field]: text(value) }),
  )

/** Selectors narrow the query and are ignored: a permission without selectors includes the narrower request. */
const narrowed = (id: string) => member(id, [resourceType, stringType], resourceType, ([own]) => own!)

export const authorizer: Library = {
  path: [
    member('authorizer_path', [authorizerType, stringType], pathType, ([own, path]) => {
      return text(path) === '' ? fail('path must not be empty') : check(own).with(pathType, { path: text(path) })
    }),
  ],
  group: [
    member('authorizer_group', [authorizerType, stringType], groupType, ([own, group]) =>
      check(own).with(groupType, { group: text(group) }),
    ),
  ],
  serviceAccount: [
    member('authorizer_serviceaccount', [authorizerType, stringType, stringType], authorizerType, asServiceAccount),
  ],
  resource: [
    member('groupcheck_resource', [groupType, stringType], resourceType, ([own, resource]) =>
      check(own).with(resourceType, { resource: text(resource) }),
    ),
  ],
  subresource: [about('resourcecheck_subresource', 'subresource')],
  namespace: [about('resourcecheck_namespace', 'namespace')],
  name: [about('resourcecheck_name', 'name')],
  fieldSelector: [narrowed('authorizer_fieldselector')],
  labelSelector: [narrowed('authorizer_labelselector')],
  check: [
    member('pathcheck_check', [pathType, stringType], decisionType, decide),
    member('resourcecheck_check', [resourceType, stringType], decisionType, decide),
  ],
  allowed: [
    member('decision_allowed', [decisionType], boolType, ([own]) => (own as AuthorizerDecision).decision.allowed),
  ],
  reason: [
    member('decision_reason', [decisionType], stringType, ([own]) => (own as AuthorizerDecision).decision.reason),
  ],
  errored: [member('decision_errored', [decisionType], boolType, () => false)],
  error: [member('decision_error', [decisionType], stringType, () => '')],
}
