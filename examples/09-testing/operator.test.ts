import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHandler, startCluster } from 'kopf/testing'
import kopf, { Database } from './operator.ts'

const spec = { engine: 'postgres', size: 2 } as const

test('a created database becomes ready', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  assert.equal(status?.url, 'postgres://orders')
})

test('a database is checked once an hour', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', ({ status }) => status?.checks === 1)
  await cluster.clock.advance('24h')
  assert.equal((await cluster.get(Database, 'orders')).status?.checks, 25)
})

test('a booting database is retried', async () => {
  const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', name: 'orders', spec })
  assert.ok(outcome.type === 'retry')
  assert.equal(outcome.delay, 1)
})

test('a database survives an outage', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  cluster.faults.add({ on: { verb: 'patch' }, effect: { type: 'refuse' }, times: 5 })
  await cluster.create(Database, { name: 'orders', spec })
  await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
})
