/** Review kinds (access, rules, token, self): computed immediately, never stored. */
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import type { Clock } from '../../util/async/clock.ts'
import type { Authorizer } from '../authorization/authorizer.ts'
import { type Credentials, type User, userOfToken } from '../identity/authentication.ts'
import type { ApiResource, Strategy } from '../resource.ts'
import { badRequest } from '../status.ts'
import { timestamp } from '../verbs/write.ts'
import { reviewRules, reviewSelf, reviewSubject, reviewSubjectHere } from './access.ts'
import { type ReviewSpecFields, readSpec, readText, readTexts } from './question.ts'

/** The services that compute reviews. */
interface Answerers {
  readonly credentials: Credentials
  readonly authorizer: Authorizer
  readonly clock: Clock
}

/** A review to compute. */
export interface ReviewEvaluation extends Answerers {
  readonly spec: ReviewSpecFields
  readonly metadata: ObjectMeta
  readonly asker: User
}

interface Kind {
  readonly group: string
  readonly kind: string
  readonly namespaced?: boolean
  /** Which parts of the request the response omits. Default: none. */
  readonly repeats?: 'nothing' | 'no-spec'
  readonly evaluate: (asked: ReviewEvaluation) => Record<string, unknown>
}

const authorization = 'authorization.k8s.io'
const authentication = 'authentication.k8s.io'

const kinds: readonly Kind[] = [
  {
    group: authentication,
    kind: 'SelfSubjectReview',
    repeats: 'nothing',
    evaluate: ({ asker }) => ({ userInfo: asker }),
  },
  { group: authentication, kind: 'TokenReview', evaluate: reviewToken },
  { group: authorization, kind: 'LocalSubjectAccessReview', namespaced: true, evaluate: reviewSubjectHere },
  { group: authorization, kind: 'SelfSubjectAccessReview', evaluate: reviewSelf },
  { group: authorization, kind: 'SelfSubjectRulesReview', repeats: 'no-spec', evaluate: reviewRules },
  { group: authorization, kind: 'SubjectAccessReview', evaluate: reviewSubject },
]

export function reviewResources(answerers: Answerers): ApiResource[] {
  return kinds.map((entry) => ({
    group: entry.group,
    version: 'v1',
    plural: `${entry.kind.toLowerCase()}s`,
    singular: entry.kind.toLowerCase(),
    kind: entry.kind,
    listKind: `${entry.kind}List`,
    shortNames: [],
    categories: [],
    namespaced: entry.namespaced ?? false,
    verbs: ['create'],
    subresources: [],
    collection: '',
    strategy: questionStrategy,
    columns: [],
    evaluate: (question, asker) => answer(entry, question, { ...answerers, asker }),
  }))
}

function answer({ kind, repeats, evaluate }: Kind, question: KubeObject, by: Answerers & { asker: User }): KubeObject {
  const spec = readSpec(kind, question['spec'])
  const { apiVersion, metadata } = question
  const status = evaluate({ ...by, spec, metadata })
  if (repeats === 'nothing') {
    return { kind, apiVersion, metadata: { creationTimestamp: timestamp(by) }, status }
  }
  return { kind, apiVersion, metadata, spec: repeats === 'no-spec' ? {} : spec.values, status } as KubeObject
}

const nothing = (): never[] => []

/** Reviews are neither validated, defaulted nor stored. */
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

function reviewToken({ spec, credentials }: ReviewEvaluation): Record<string, unknown> {
  const token = readText(spec, 'token')
  if (token === '') throw badRequest('token is required for TokenReview in authentication')
  const audiences = readTexts(spec, 'audiences')
  const verdict = userOfToken(credentials, token, audiences.length === 0 ? undefined : audiences)
  if (verdict.user === undefined) return { user: {}, error: verdict.error }
  return { authenticated: true, user: verdict.user, audiences: verdict.audiences }
}
