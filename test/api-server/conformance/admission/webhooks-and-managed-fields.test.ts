/** Fields that webhooks add have no manager, since managed fields are recorded before webhooks are called. */
import { beforeAll, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus, warningsOf } from '../../../support/expectations.ts'
import { apply, entriesOf, ownersOf } from '../../../support/managed-fields.ts'
import { configMap } from '../../../support/objects.ts'
import { patching, reviewed } from '../../../support/webhook-server.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const configMaps = () => cluster.core('configmaps')

beforeAll(async () => {
  webhooks.server.on('/mutate', allow)
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }]
  await webhooks.install('Mutating', 'owners', webhooks.hook('mutate', '/mutate', { rules }))
})

test('a field that a webhook adds has no manager', async () => {
  const data = { op: 'add', path: '/data/hooked', value: 'yes' }
  webhooks.server.on('/mutate', ({ review }) => reviewed(review, { allowed: true, ...patching(data) }))
  const query = { fieldManager: 'me' }
  const created = await cluster.api.post(configMaps(), configMap('one', { data: { a: '1' } }), { query })
  expect(expectStatus(created, 201)['data']).toEqual({ a: '1', hooked: 'yes' })
  expect(ownersOf(created)).toEqual({ 'me Update': { 'f:data': { '.': {}, 'f:a': {} } } })
  const applied = await apply(cluster.api, `${configMaps()}/one`, configMap('one', { data: { b: '1' } }))
  expect(ownersOf(applied)).toEqual({
    'applier Apply': { 'f:data': { 'f:b': {} } },
    'me Update': { 'f:data': { '.': {}, 'f:a': {} } },
  })
})

test('an applied field keeps its manager when a webhook changes its value', async () => {
  webhooks.server.on('/mutate', ({ review }) =>
    reviewed(review, { allowed: true, ...patching({ op: 'add', path: '/data/a', value: '2' }) }),
  )
  const created = await apply(cluster.api, `${configMaps()}/two`, configMap('two', { data: { a: '1' } }))
  expect(expectStatus(created, 201)['data']).toEqual({ a: '2' })
  expect(ownersOf(created)).toEqual({ 'applier Apply': { 'f:data': { 'f:a': {} } } })
})

test('invalid managedFields from a webhook are ignored with a warning', async () => {
  const nonsense = { op: 'add', path: '/metadata/managedFields', value: [{ manager: 'x', operation: 'Guess' }] }
  webhooks.server.on('/mutate', ({ review }) => reviewed(review, { allowed: true, ...patching(nonsense) }))
  const created = await cluster.api.post(configMaps(), configMap('three', { data: { a: '1' } }))
  expect(entriesOf(created).map(({ operation }) => operation)).toEqual(['Update'])
  expect(warningsOf(created)).toEqual([
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`',
  ])
})
