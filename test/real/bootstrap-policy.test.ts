/** The roles and bindings that an embedded server with RBAC has from the start are those of the real one. */
import { ApiServer } from 'kopf/server'
import { expect, inject, test } from 'vitest'
import { callApi } from '../../tools/envtest/api.ts'
import { readBootstrapPolicy } from '../../tools/rbac/policy.ts'
import { eventually } from '../support/expectations.ts'
import { ask } from '../support/in-process.ts'

const { url, caPem, admin } = inject('realCluster')
const root = '/apis/rbac.authorization.k8s.io/v1'

async function onReal(path: string): Promise<Record<string, unknown>> {
  return (await callApi({ url, caPem, user: admin }, { path })).body as Record<string, unknown>
}

test('each with its rules, its labels and its subjects', async () => {
  const api = new ApiServer({ authorization: 'rbac' })
  const list = async (path: string) => (await ask(api, 'GET', path)).body['items'] as object[]
  const embedded = await readBootstrapPolicy(list)
  expect(embedded).toEqual(await readBootstrapPolicy(async (path) => (await onReal(path))['items'] as object[]))
  expect(embedded['clusterroles']!.length).toBeGreaterThan(50)
})

test('those that gather the rules of others have gathered the same', async () => {
  const api = new ApiServer({ authorization: 'rbac' })
  for (const name of ['admin', 'edit', 'view']) {
    const { body } = await ask(api, 'GET', `${root}/clusterroles/${name}`)
    await eventually(async () => expect(body['rules']).toEqual((await onReal(`${root}/clusterroles/${name}`))['rules']))
  }
})
