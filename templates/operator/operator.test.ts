import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from 'kopf/testing'
import kopf, { Greeting } from './operator.ts'

test('a greeting gets a message, and a ConfigMap with it', async () => {
  await using cluster = await startCluster({ resources: [Greeting] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Greeting, { name: 'first', spec: { name: 'Ada' } })
  await cluster.until(Greeting, 'first', ({ status }) => status?.message === 'Hello, Ada!')
  const { data } = await cluster.until('configmaps', 'first', ({ data }) => data !== undefined)
  assert.deepEqual(data, { message: 'Hello, Ada!' })
})
