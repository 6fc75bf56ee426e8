import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from 'kopf/testing'
import kopf, { EphemeralVolumeClaim } from './ephemeral.ts'

test('a claim is created, restored after a deletion, and deleted with its owner', async () => {
  await using cluster = await startCluster({
    resources: [EphemeralVolumeClaim],
    controllers: ['persistentvolumeclaims'],
  })
  await using _operator = await kopf.start(cluster)
  await cluster.create(EphemeralVolumeClaim, { name: 'my-claim', spec: { size: '1Gi' } })
  await cluster.until(EphemeralVolumeClaim, 'my-claim', ({ status }) => status?.size === '1Gi')
  const { metadata } = await cluster.get('persistentvolumeclaims', 'my-claim')
  await cluster.delete('persistentvolumeclaims', 'my-claim')
  await cluster.until('persistentvolumeclaims', 'my-claim', (claim) => claim.metadata.uid !== metadata.uid)
  await cluster.delete(EphemeralVolumeClaim, 'my-claim')
  await cluster.untilGone('persistentvolumeclaims', 'my-claim')
})

test('an object with a lifetime of an hour is deleted after an hour', async () => {
  await using cluster = await startCluster({ resources: [EphemeralVolumeClaim] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(EphemeralVolumeClaim, { name: 'my-claim', spec: { size: '1Gi', lifetimeSeconds: 3600 } })
  await cluster.clock.advance('59m')
  assert.equal((await cluster.get(EphemeralVolumeClaim, 'my-claim')).metadata.deletionTimestamp, undefined)
  await cluster.untilGone(EphemeralVolumeClaim, 'my-claim')
  await cluster.untilGone('persistentvolumeclaims', 'my-claim')
})
