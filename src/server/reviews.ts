/** Kinds that are questions: may I, may they, who is this. Answered at once; nothing is kept of them. */
import type { JsonObject, KubeObject, ObjectMeta } from '../kube/objects.ts'
import { type Credentials, isAllowed, type User, userOfToken } from './authentication.ts'
import { type FieldError, invalid } from './field-errors.ts'
import type { ServedResource, Strategy } from './resource.ts'
import { badRequest, invalidObject } from './status.ts'

interface Question {
  readonly kind: string
  readonly spec: JsonObject
  readonly metadata: ObjectMeta
  readonly asker: User
  readonly credentials: Credentials
}

type Evaluate = (question: Question) => Record<string, unknown>

const authorization = 'authorization.k8s.io'
const authenticationGroup = 'authentication.k8s.io'

const kinds: ReadonlyArray<{ group: string; kind: string; namespaced?: boolean; evaluate: Evaluate }> = [
  { group: authenticationGroup, kind: 'SelfSubjectReview', evaluate: ({ asker }) => ({ userInfo: asker }) },
  { group: authenticationGroup, kind: 'TokenReview', evaluate: reviewToken },
  { group: authorization, kind: 'LocalSubjectAccessReview', namespaced: true, evaluate: reviewSubjectHere },
  { group: authorization, kind: 'SelfSubjectAccessReview', evaluate: reviewSelf },
  { group: authorization, kind: 'SelfSubjectRulesReview', evaluate: reviewRules },
  { group: authorization, kind: 'SubjectAccessReview', evaluate: reviewSubject },
]

export function reviewResources(credentials: Credentials): ServedResource[] {
  return kinds.map(({ group, kind, namespaced = false, evaluate }) => ({
    group,
    version: 'v1',
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    shortNames: [],
    categories: [],
    namespaced,
    verbs: ['create'],
    subresources: [],
    collection: '',
    strategy: questionStrategy,
    columns: [],
    evaluate(question, asker) {
      const spec = readSpec(kind, question['spec'])
      const { apiVersion, metadata } = question
      const status = evaluate({ kind, spec, metadata, asker, credentials })
      return { kind, apiVersion, metadata, spec, status } as KubeObject
    },
  }))
}

const nothing = (): never[] => []

/** Questions are read as they come: nothing of them is stored, checked or defaulted. */
const questionStrategy: Strategy = {
  decode: (object) => ({ object, problems: [] }),
  nameProblems: nothing,
  prepareForCreate() {},
  prepareForUpdate() {},
  prepareForStatusUpdate() {},
  validate: nothing,
  validateUpdate: nothing,
  validateStatusUpdate: nothing,
}

function readSpec(kind: string, spec: unknown): JsonObject {
  if (spec === undefined || spec === null) return {}
  if (typeof spec === 'object' && !Array.isArray(spec)) return spec as JsonObject
  throw mismatch(kind, spec, `${kind}.spec of type v1.${specOf(kind)}`)
}

function readText({ kind, spec }: Question, field: string): string {
  const value = spec[field] ?? ''
  if (typeof value === 'string') return value
  throw mismatch(kind, value, `${specOf(kind)}.spec.${field} of type string`)
}

function readTexts({ kind, spec }: Question, field: string): string[] {
  const values = spec[field] ?? []
  if (!Array.isArray(values)) throw mismatch(kind, values, `${specOf(kind)}.spec.${field} of type []string`)
  const stranger = values.find((value) => typeof value !== 'string')
  if (stranger === undefined) return values as string[]
  throw mismatch(kind, stranger, `${specOf(kind)}.spec.${field} of type string`)
}

/** The local kind shares the spec of the other. */
function specOf(kind: string): string {
  return `${kind.replace(/^Local/, '')}Spec`
}

function mismatch(kind: string, value: unknown, field: string): Error {
  const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  const why = `json: cannot unmarshal ${type} into Go struct field ${field}`
  return badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`)
}

/** As long as there are no rules to evaluate: whoever the server lets in may do everything. */
function verdict(user: User): Record<string, unknown> {
  return { allowed: isAllowed(user) }
}

function reviewSelf(question: Question): Record<string, unknown> {
  failIfInvalid(attributeErrors(question))
  return verdict(question.asker)
}

function reviewSubject(question: Question): Record<string, unknown> {
  failIfInvalid(subjectErrors(question))
  return verdict({ username: readText(question, 'user'), groups: readTexts(question, 'groups') })
}

function reviewSubjectHere(question: Question): Record<string, unknown> {
  const { spec, metadata } = question
  const { namespace = '' } = (spec['resourceAttributes'] ?? {}) as { namespace?: unknown }
  const errors = subjectErrors(question)
  if (isGiven(spec, 'resourceAttributes') && namespace !== (metadata.namespace ?? '')) {
    errors.push(invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace'))
  }
  if (isGiven(spec, 'nonResourceAttributes')) {
    errors.push(
      invalid('spec.nonResourceAttributes', spec['nonResourceAttributes'], 'disallowed on this kind of request'),
    )
  }
  failIfInvalid(errors)
  return verdict({ username: readText(question, 'user'), groups: readTexts(question, 'groups') })
}

function isGiven(spec: JsonObject, field: string): boolean {
  return spec[field] !== undefined && spec[field] !== null
}

function attributeErrors({ spec }: Question): FieldError[] {
  const [isResource, isOther] = [isGiven(spec, 'resourceAttributes'), isGiven(spec, 'nonResourceAttributes')]
  if (isResource !== isOther) return []
  if (!isResource) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    return [invalid('spec.resourceAttributes', null, why)]
  }
  const why = 'cannot be specified in combination with resourceAttributes'
  return [invalid('spec.nonResourceAttributes', spec['nonResourceAttributes'], why)]
}

function subjectErrors(question: Question): FieldError[] {
  const errors = attributeErrors(question)
  if (readText(question, 'user') === '' && readTexts(question, 'groups').length === 0) {
    errors.push(invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  return errors
}

function failIfInvalid(errors: readonly FieldError[]): void {
  // The real server does not know the name of the kind any more where it looks at these.
  if (errors.length > 0) throw invalidObject(authorization, '', '', errors)
}

function reviewRules(question: Question): Record<string, unknown> {
  if (readText(question, 'namespace') === '') throw badRequest('no namespace on request')
  const isSomebody = isAllowed(question.asker)
  return {
    resourceRules: isSomebody ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : [],
    nonResourceRules: isSomebody ? [{ verbs: ['*'], nonResourceURLs: ['*'] }] : [],
    incomplete: false,
  }
}

function reviewToken(question: Question): Record<string, unknown> {
  const token = readText(question, 'token')
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const user = userOfToken(question.credentials, token)
  return user === undefined ? { user: {}, error: 'invalid bearer token' } : { authenticated: true, user }
}
