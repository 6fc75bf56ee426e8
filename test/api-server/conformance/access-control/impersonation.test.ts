/** Requests with impersonation headers: the resulting user, and the permissions that impersonation needs. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import type { Api } from '../../../support/api.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'
import { grant, untilAllowed } from '../../../support/roles.ts'

const cluster = useCluster({ authorization: 'rbac' })
const { namespace } = cluster
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

interface Wanted {
  readonly user?: string
  readonly groups?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** Repeated headers are given as a list. The headers type of the suite only allows text, hence the cast. */
function headersOf({ user, groups = [], headers = {} }: Wanted): Record<string, string> {
  return {
    ...(user === undefined ? {} : { 'impersonate-user': user }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': [...groups] as unknown as string }),
    ...headers,
  }
}

async function identity(wanted: Wanted): Promise<unknown> {
  const answer = await cluster.api.post(whoami, {}, { headers: headersOf(wanted) })
  return expectStatus(answer, 201).status['userInfo']
}

describe('impersonated users', () => {
  test.each<[string, Wanted, Tree]>([
    ['a user', { user: 'joe' }, { username: 'joe', groups: ['system:authenticated'] }],
    [
      'a user with groups, one of them with a comma',
      { user: 'joe', groups: ['a', 'b, c'] },
      { username: 'joe', groups: ['a', 'b, c', 'system:authenticated'] },
    ],
    [
      'a service account',
      { user: `system:serviceaccount:${namespace}:x` },
      {
        username: `system:serviceaccount:${namespace}:x`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
      },
    ],
    [
      'a service account with other groups',
      { user: `system:serviceaccount:${namespace}:x`, groups: ['a'] },
      { username: `system:serviceaccount:${namespace}:x`, groups: ['a', 'system:authenticated'] },
    ],
    [
      'a member of system:masters',
      { user: 'joe', groups: ['system:masters'] },
      { username: 'joe', groups: ['system:masters', 'system:authenticated'] },
    ],
    [
      'a user with a uid and extra fields',
      { user: 'joe', headers: { 'impersonate-uid': 'u1', 'impersonate-extra-acme.com%2fproject': 'p1' } },
      {
        username: 'joe',
        uid: 'u1',
        groups: ['system:authenticated'],
        extra: { 'acme.com/project': ['p1'] },
      },
    ],
  ])('impersonation headers make the request one of %s', async (_, wanted, expected) => {
    expect(await identity(wanted)).toEqual(expected)
  })

  test('an impersonated system:anonymous is forbidden what the anonymous user may not do', async () => {
    const answer = await cluster.api.post(whoami, {}, { headers: headersOf({ user: 'system:anonymous' }) })
    const why =
      'User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope'
    const details = { group: 'authentication.k8s.io', kind: 'selfsubjectreviews' }
    expectFailure(answer, 403, 'Forbidden', `selfsubjectreviews.authentication.k8s.io is forbidden: ${why}`, details)
  })

  test.each<[Wanted, string]>([
    [{ groups: ['a', 'b'] }, 'Name:"", UID:"", Groups:[]string{"a", "b"}, Extra:map[string][]string(nil)'],
    [{ headers: { 'impersonate-uid': 'u' } }, 'Name:"", UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)'],
    [
      { headers: { 'impersonate-extra-scopes': 'x' } },
      'Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"scopes":[]string{"x"}}',
    ],
  ])('impersonation without a user name is a bad request: %j', async (wanted, printed) => {
    const answer = await cluster.api.post(whoami, {}, { headers: headersOf(wanted) })
    const message = `requested &user.DefaultInfo{${printed}} without impersonating a user name`
    expectFailure(answer, 400, 'BadRequest', message)
  })
})

describe('impersonating users', () => {
  let count = 0

  /** Creates a service account with these rules, and a client with its token. */
  async function somebody(...rules: Tree[]): Promise<{ api: Api; username: string }> {
    const name = `impersonator-${count++}`
    const path = cluster.core('serviceaccounts')
    expectStatus(await cluster.api.post(path, { metadata: { name } }), 201)
    const { status } = expectStatus(await cluster.api.post(`${path}/${name}/token`, {}), 201)
    const username = `system:serviceaccount:${namespace}:${name}`
    if (rules.length > 0) {
      const marker = { apiGroups: ['marker'], resources: ['markers'], verbs: ['mark'] }
      await grant(cluster, { to: [`account:${name}`], rules: [...rules, marker] })
      const resourceAttributes = { verb: 'mark', group: 'marker', resource: 'markers' }
      await untilAllowed(cluster, { user: username, resourceAttributes })
    }
    return { api: cluster.asUser({ token: String(status['token']) }), username }
  }

  const pods = cluster.core('pods')

  function get(api: Api, wanted: Wanted, path: string = pods): Promise<Answer> {
    return api.get(path, {}, { headers: headersOf(wanted) })
  }

  function messageOf({ body }: Answer): unknown {
    return body['message']
  }

  test('impersonation without permission is forbidden, and the message names the constrained verb', async () => {
    const { api, username } = await somebody()
    const refused = (verb: string) =>
      `pods is forbidden: User "${username}" cannot ${verb} resource "pods" in API group "" in the namespace "${namespace}"`
    expect(messageOf(await get(api, { user: 'joe' }))).toBe(refused('impersonate-on:user-info:list'))
    const account = `system:serviceaccount:${namespace}:x`
    expect(messageOf(await get(api, { user: account }))).toBe(refused('impersonate-on:serviceaccount:list'))
    expect(messageOf(await get(api, { user: 'system:node:n1' }, '/version'))).toBe(
      `forbidden: User "${username}" cannot impersonate-on:arbitrary-node:get path "/version"`,
    )
    expect(messageOf(await get(api, { user: account, groups: ['a'] }))).toBe(
      `serviceaccounts "x" is forbidden: User "${username}" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "${namespace}"`,
    )
  })

  test('impersonation needs permission for each user, group, uid and extra field', async () => {
    const rule = { apiGroups: [''], resources: ['users'], resourceNames: ['joe'], verbs: ['impersonate'] }
    const { api, username } = await somebody(rule)
    const joe = `pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace "${namespace}"`
    expect(messageOf(await get(api, { user: 'joe' }))).toBe(joe)
    const refused = (what: string, subject: string, group = '') =>
      `${subject} is forbidden: User "${username}" cannot impersonate resource "${what}" in API group "${group}" at the cluster scope`
    const authentication = 'authentication.k8s.io'
    expect(messageOf(await get(api, { user: 'ann' }))).toBe(refused('users', 'users "ann"'))
    expect(messageOf(await get(api, { user: 'joe', groups: ['a'] }))).toBe(refused('groups', 'groups "a"'))
    const withUid = { user: 'joe', headers: { 'impersonate-uid': 'u' } }
    expect(messageOf(await get(api, withUid))).toBe(refused('uids', `uids.${authentication} "u"`, authentication))
    const withMore = { user: 'joe', headers: { 'impersonate-extra-scopes': 's' } }
    expect(messageOf(await get(api, withMore))).toBe(
      refused('userextras/scopes', `userextras.${authentication} "s"`, authentication),
    )
  })

  test('a user with impersonate-on:user-info:list may impersonate for lists only', async () => {
    const { api } = await somebody(
      { apiGroups: [''], resources: ['pods'], verbs: ['impersonate-on:user-info:list'] },
      { apiGroups: ['authentication.k8s.io'], resources: ['users'], verbs: ['impersonate:user-info'] },
    )
    expect(messageOf(await get(api, { user: 'joe' }))).toMatch('User "joe" cannot list resource "pods"')
    expect(messageOf(await get(api, { user: 'joe' }, `${pods}/x`))).toMatch('cannot impersonate-on:user-info:get')
  })
})
