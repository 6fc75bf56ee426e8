/** Creates roles and bindings for the suites about RBAC, and waits until they are in effect. */
import { expect } from 'vitest'
import type { Tree } from './answers.ts'
import type { Cluster } from './cluster.ts'
import { eventually, expectStatus } from './expectations.ts'

export const rbacGroup: string = 'rbac.authorization.k8s.io'
const root = `/apis/${rbacGroup}/v1`

/** A subject of a binding: `user:alice`, `group:devs`, or `account:name` for a service account in the namespace of the suite. */
export type SubjectName = `${'user' | 'group' | 'account'}:${string}`

export interface Grant {
  readonly to: readonly SubjectName[]
  readonly rules: readonly Tree[]
  /** The namespace of the role. Default: a ClusterRole. */
  readonly namespace?: string
}

let count = 0

/** Creates a role and its binding, which are deleted at the end of the suite. Returns their name. */
export async function grant(cluster: Cluster, { to, rules, namespace }: Grant): Promise<string> {
  const name = `${cluster.namespace}-${count++}`
  const [kind, place] = namespace === undefined ? ['ClusterRole', root] : ['Role', `${root}/namespaces/${namespace}`]
  await create(cluster, `${place}/${kind.toLowerCase()}s`, { metadata: { name }, rules })
  await bind(cluster, { to, role: { kind, name }, ...(namespace === undefined ? {} : { namespace }) })
  return name
}

export async function bind(
  cluster: Cluster,
  { to, role, namespace }: { to: readonly SubjectName[]; role: { kind: string; name: string }; namespace?: string },
): Promise<string> {
  const name = `${cluster.namespace}-${count++}`
  const place = namespace === undefined ? `${root}/clusterrolebindings` : `${root}/namespaces/${namespace}/rolebindings`
  const subjects = to.map((one) => toSubject(cluster, one))
  await create(cluster, place, { metadata: { name }, roleRef: { apiGroup: rbacGroup, ...role }, subjects })
  return name
}

export async function create(cluster: Cluster, path: string, body: Tree): Promise<void> {
  const { metadata } = expectStatus(await cluster.api.post(path, body), 201)
  cluster.defer(() => cluster.api.delete(`${path}/${metadata.name}`))
}

function toSubject({ namespace }: Cluster, subject: SubjectName): Tree {
  const [kind, name] = [subject.slice(0, subject.indexOf(':')), subject.slice(subject.indexOf(':') + 1)]
  if (kind === 'account') return { kind: 'ServiceAccount', name, namespace }
  return { kind: kind === 'user' ? 'User' : 'Group', name, apiGroup: rbacGroup }
}

export interface Question {
  readonly user: string
  readonly groups?: readonly string[]
  readonly resourceAttributes?: Tree
  readonly nonResourceAttributes?: Tree
}

export async function mayDo(cluster: Cluster, question: Question): Promise<Tree> {
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  return expectStatus(await cluster.api.post(path, { spec: question }), 201).status
}

/** API servers read roles from a watch, so they take effect after a delay. */
export async function untilAllowed(cluster: Cluster, question: Question): Promise<void> {
  await eventually(async () => expect(await mayDo(cluster, question)).toMatchObject({ allowed: true }))
}
