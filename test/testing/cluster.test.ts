/** The testing kit as its users have it: operators on a cluster of the test's own. */
import { defineResource, Operator, TemporaryError } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'

const Database = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Database',
  spec: z.object({
    engine: z.enum(['postgres', 'mysql']),
    size: z.number().int().min(1),
    users: z.array(z.string()).default([]),
  }),
  status: z.object({ phase: z.string(), url: z.string() }),
})

function createOperator(): Operator {
  const kopf = new Operator()
  kopf.on.create(Database, ({ name, spec, patch, retry }) => {
    if (retry < 3) throw new TemporaryError('The database is still booting', { delay: '10m' })
    patch.status.phase = 'Ready'
    patch.status.url = `${spec.engine}://${name}`
  })
  return kopf
}

test('a created database becomes ready', async () => {
  const kopf = createOperator()
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1, users: [] } })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  expect(status?.url).toBe('postgres://orders')
})
