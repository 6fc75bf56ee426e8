/**
 * Creates a service account that is a cluster admin, with a token and a kubeconfig.
 * Used by the benchmarks, to distinguish operators in the audit log, and by the tests of authentication.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type ApiTarget, callApi } from '../envtest/api.ts'

export interface TokenUser {
  /** The user name in the audit log. */
  readonly username: string
  readonly token: string
  /** The path of the kubeconfig. */
  readonly kubeconfig: string
}

export async function createTokenUser(admin: ApiTarget, name: string, folder: string): Promise<TokenUser> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  const group = 'rbac.authorization.k8s.io'
  await post(admin, accounts, { metadata: { name } })
  await post(admin, `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
  })
  const answer = await post(admin, `${accounts}/${name}/token`, { spec: { expirationSeconds: 86_400 } })
  const { token } = (answer as { status: { token: string } }).status
  const kubeconfig = join(folder, `${name}.kubeconfig`)
  await writeFile(kubeconfig, toKubeconfig(admin, token), { mode: 0o600 })
  return { username: `system:serviceaccount:default:${name}`, token, kubeconfig }
}

async function post(admin: ApiTarget, path: string, body: unknown): Promise<unknown> {
  const answer = await callApi(admin, { method: 'POST', path, body })
  if (answer.status !== 201) throw new Error(`Cannot create a user: POST ${path} returned ${answer.status}`)
  return answer.body
}

function toKubeconfig({ url, caPem }: ApiTarget, token: string): string {
  const ca = Buffer.from(caPem).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'kopf-test', cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name: 'token', user: { token } }],
    contexts: [{ name: 'token', context: { cluster: 'kopf-test', user: 'token', namespace: 'default' } }],
    'current-context': 'token',
  })
}
