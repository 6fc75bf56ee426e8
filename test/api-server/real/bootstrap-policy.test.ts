/** The default roles and bindings of an embedded server with RBAC, compared with the real API server. */
import { ApiServer } from 'kopf/server'
import { expect, inject, test } from 'vitest'
import { callApi } from '../../../tools/envtest/api.ts'
import { readBootstrapPolicy } from '../../../tools/rbac/policy.ts'
import { eventually } from '../../support/expectations.ts'
import { ask } from '../../support/in-process.ts'

const { url, caPem, admin } = inject('realCluster')
const root = '/apis/rbac.authorization.k8s.io/v1'

async function onReal(path: string): Promise<Record<string, unknown>> {
  return (await callApi({ url, caPem, user: admin }, { path })).body as Record<string, unknown>
}

test('the embedded server has the default roles and bindings of the real API server', async () => {
  const api = new ApiServer({ authorization: 'rbac' })
  const list = async (path: string) => (await ask(api, 'GET', path)).body['items'] as object[]
  const embedded = await readBootstrapPolicy(list)
  expect(embedded).toEqual(await readBootstrapPolicy(async (path) => (await onReal(path))['items'] as object[]))
  expect(embedded['clusterroles']!.length).toBeGreaterThan(50)
})

test('the aggregated default ClusterRoles have the same rules on both servers', async () => {
  const api = new ApiServer({ authorization: 'rbac' })
  for (const name of ['admin', 'edit', 'view']) {
    const { body } = await ask(api, 'GET', `${root}/clusterroles/${name}`)
    await eventually(async () => expect(body['rules']).toEqual((await onReal(`${root}/clusterroles/${name}`))['rules']))
  }
})
