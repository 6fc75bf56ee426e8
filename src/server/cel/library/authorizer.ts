/**
 * `authorizer` in the conditions of webhooks: may the one who asks do this, too. It is for whoever evaluates to say so; the
 * functions only gather the question.
 */
import { fail } from '../failures.ts'
import { type Library, member } from '../functions.ts'
import { boolType, type CelType, stringType, struct } from '../types.ts'
import { type CelValue, Opaque } from '../values.ts'

/** What is asked: a path, or a verb on a resource. */
export interface AccessQuestion {
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** In the name of a service account, rather than of the one who asks. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
}

export interface AccessDecision {
  readonly allowed: boolean
  readonly reason: string
}

export type Authorize = (question: AccessQuestion) => AccessDecision

export const authorizerType: CelType = struct('kubernetes.authorization.Authorizer')
const pathType = struct('kubernetes.authorization.PathCheck')
const groupType = struct('kubernetes.authorization.GroupCheck')
export const resourceType: CelType = struct('kubernetes.authorization.ResourceCheck')
const decisionType = struct('kubernetes.authorization.Decision')

/** A question that is not complete yet; its type says what may come next. */
class Check extends Opaque {
  readonly typeName: string
  readonly authorize: Authorize
  readonly question: Partial<AccessQuestion>

  constructor(typeName: string, authorize: Authorize, question: Partial<AccessQuestion> = {}) {
    super()
    this.typeName = typeName
    this.authorize = authorize
    this.question = question
  }

  equals(other: Opaque): boolean {
    return JSON.stringify((other as Check).question) === JSON.stringify(this.question)
  }

  with(type: { readonly name: string }, more: Partial<AccessQuestion>): Check {
    return new Check(type.name, this.authorize, { ...this.question, ...more })
  }
}

class Decision extends Opaque {
  readonly typeName = 'kubernetes.authorization.Decision'
  readonly decision: AccessDecision

  constructor(decision: AccessDecision) {
    super()
    this.decision = decision
  }

  equals(other: Opaque): boolean {
    const { allowed, reason } = (other as Decision).decision
    return allowed === this.decision.allowed && reason === this.decision.reason
  }
}

/** The values of the variables `authorizer` and `authorizer.requestResource`. */
export function authorizerValue(authorize: Authorize): CelValue {
  return new Check(authorizerType.name, authorize)
}

export function requestResourceValue(authorize: Authorize, question: Partial<AccessQuestion>): CelValue {
  return new Check(resourceType.name, authorize, question)
}

const text = (value: CelValue | undefined): string => value as string
const check = (value: CelValue | undefined): Check => value as Check
const decide = ([own, verb]: readonly CelValue[]): Decision =>
  new Decision(check(own).authorize({ ...check(own).question, verb: text(verb) }))

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

function asServiceAccount([own, namespace, name]: readonly CelValue[]): Check {
  if (!dnsLabel.test(text(namespace))) return fail(`invalid service account namespace ${text(namespace)}`)
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text(name))) return fail(`Invalid service account name ${text(name)}`)
  return check(own).with(authorizerType, { serviceAccount: { namespace: text(namespace), name: text(name) } })
}

const about = (id: string, field: 'subresource' | 'namespace' | 'name') =>
  member(id, [resourceType, stringType], resourceType, ([own, value]) =>
    check(own).with(resourceType, { [field]: text(value) }),
  )

/** Selectors narrow what is asked; who may do it without them may do it with them. */
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
  allowed: [member('decision_allowed', [decisionType], boolType, ([own]) => (own as Decision).decision.allowed)],
  reason: [member('decision_reason', [decisionType], stringType, ([own]) => (own as Decision).decision.reason)],
  errored: [member('decision_errored', [decisionType], boolType, () => false)],
  error: [member('decision_error', [decisionType], stringType, () => '')],
}
