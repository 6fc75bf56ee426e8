/**
 * A user whose permissions a test grants and revokes. On the real control plane it is a service account with roles; on the embedded
 * server, where RBAC is off, the transport refuses requests. Both answer SelfSubjectRulesReviews.
 */
import { ConnectionInfo } from 'kopf'
import { inject } from 'vitest'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { type AccessRule, isAllowed } from '../../src/kube/rbac-rules.ts'
import type { TransportResponse } from '../../src/util/transport.ts'
import type { Lab } from './lab.ts'
import { type Recorded, Recording } from './recording.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'

export interface Permissions {
  readonly cluster?: readonly AccessRule[]
  /** By namespace. */
  readonly namespaces?: Readonly<Record<string, readonly AccessRule[]>>
}

export function rule(group: string, resources: readonly string[], verbs: readonly string[]): AccessRule {
  return { apiGroups: [group], resources, verbs }
}

export const watching: readonly string[] = ['list', 'watch']

export class RestrictedUser {
  readonly #lab: Lab
  readonly #name: string
  #permissions: Permissions = {}
  #transport: HttpsTransport | undefined
  readonly #created: string[] = []

  constructor(lab: Lab, name: string) {
    this.#lab = lab
    this.#name = name
  }

  /** The transport for an operator of this user: `start(operator, { transport })`. */
  async connect(): Promise<Recording> {
    if (this.#lab.isReal) {
      this.#transport ??= createHttpsTransport(await this.#createAccount())
      return new Recording(this.#transport)
    }
    const recording = this.#lab.record()
    recording.meddle = async (request, send) => this.#authorize(request) ?? send()
    return recording
  }

  /** Replaces the permissions of the user. Resolves when the server applies them. */
  async grant(permissions: Permissions): Promise<void> {
    this.#permissions = permissions
    if (!this.#lab.isReal) return
    const all: Array<readonly [string | undefined, readonly AccessRule[]]> = [
      [undefined, permissions.cluster ?? []],
      ...Object.entries(permissions.namespaces ?? {}),
    ]
    for (const [namespace, rules] of all) await this.#bind(namespace, rules)
    await this.#lab.until(() => this.#isEffective(all))
  }

  async close(): Promise<void> {
    for (const path of this.#created) await this.#lab.call('DELETE', path)
    await this.#transport?.close()
  }

  async #createAccount(): Promise<ConnectionInfo> {
    const { url, caPem } = inject('realCluster')
    const accounts = `/api/v1/namespaces/${this.#lab.namespace}/serviceaccounts`
    await this.#lab.call('POST', accounts, { metadata: { name: this.#name } })
    const { body } = await this.#lab.call('POST', `${accounts}/${this.#name}/token`, { spec: {} })
    return new ConnectionInfo({ server: url, caData: caPem, token: String(body.status['token']) })
  }

  async #bind(namespace: string | undefined, rules: readonly AccessRule[]): Promise<void> {
    const name = `${this.#lab.namespace}-${this.#name}`
    const [kind, root] = namespace === undefined ? ['ClusterRole', rbac] : ['Role', `${rbac}/namespaces/${namespace}`]
    const roles = `${root}/${kind.toLowerCase()}s`
    const { status } = await this.#lab.call('PUT', `${roles}/${name}`, { metadata: { name }, rules })
    if (status === 200) return
    await this.#lab.call('POST', roles, { metadata: { name }, rules })
    await this.#lab.call('POST', `${root}/${kind.toLowerCase()}bindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind, name },
      subjects: [{ kind: 'ServiceAccount', name: this.#name, namespace: this.#lab.namespace }],
    })
    this.#created.push(`${roles}/${name}`, `${root}/${kind.toLowerCase()}bindings/${name}`)
  }

  /** API servers read roles from a watch, so they take effect after a delay. */
  async #isEffective(all: ReadonlyArray<readonly [string | undefined, readonly AccessRule[]]>): Promise<boolean> {
    for (const [namespace, rules] of all) {
      const user = `system:serviceaccount:${this.#lab.namespace}:${this.#name}`
      for (const { group, resource, verb } of this.#known) {
        const expected = isAllowed(
          [...(this.#permissions.cluster ?? []), ...rules],
          { group, resource, verbs: [] },
          verb,
        )
        const resourceAttributes = { group, resource, verb, ...(namespace === undefined ? {} : { namespace }) }
        const { body } = await this.#lab.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
          spec: { user, groups: ['system:serviceaccounts', 'system:authenticated'], resourceAttributes },
        })
        if (body.status['allowed'] !== expected) return false
      }
    }
    return true
  }

  /** The requests that are reviewed to find out whether the roles are in effect. */
  get #known(): ReadonlyArray<{ group: string; resource: string; verb: string }> {
    const { group } = this.#lab
    return ['list', 'watch', 'patch'].map((verb) => ({ group, resource: 'widgets', verb }))
  }

  #authorize(request: Recorded): TransportResponse | undefined {
    if (request.path.endsWith('/selfsubjectrulesreviews')) return this.#reviewRules(request)
    const asked = parse(request)
    if (asked === undefined) return undefined
    const { namespace, verb, ...what } = asked
    if (isAllowed(this.#rulesIn(namespace), { ...what, verbs: [] }, verb)) return undefined
    const message = `${what.resource}${what.group && `.${what.group}`} is forbidden: User "${this.#name}" cannot ${verb}`
    return answer(403, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message })
  }

  #rulesIn(namespace: string | undefined): readonly AccessRule[] {
    const { cluster = [], namespaces = {} } = this.#permissions
    return [...cluster, ...(namespace === undefined ? [] : (namespaces[namespace] ?? []))]
  }

  #reviewRules({ body }: Recorded): TransportResponse {
    const { namespace } = body!['spec'] as { namespace: string }
    return answer(201, { ...body, status: { resourceRules: this.#rulesIn(namespace), incomplete: false } })
  }
}

/** Undefined for non-resource requests, such as discovery, which every user may send. */
function parse({ method, path, query }: Recorded) {
  const [, core, group = '', rest = ''] = /^\/(?:(api)\/v1|apis\/([^/]+)\/[^/]+)\/(.+)$/.exec(path) ?? []
  if (core === undefined && group === '') return undefined
  const parts = rest.split('/')
  const isInNamespace = parts[0] === 'namespaces' && parts.length > 2
  const [resource = '', name] = isInNamespace ? parts.slice(2) : parts
  const reading = query.get('watch') === 'true' ? 'watch' : name === undefined ? 'list' : 'get'
  const verbs: Readonly<Record<string, string>> = { GET: reading, POST: 'create', PATCH: 'patch', PUT: 'update' }
  return { group, resource, verb: verbs[method] ?? 'delete', namespace: isInNamespace ? parts[1] : undefined }
}

function answer(status: number, document: object): TransportResponse {
  const body = (async function* () {
    yield Buffer.from(JSON.stringify(document))
  })()
  return { status, headers: { 'content-type': 'application/json' }, body }
}
