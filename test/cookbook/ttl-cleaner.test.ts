/** The cookbook project "ttl-cleaner" on both clusters. Times are short on a real cluster, where they really pass. */
import { expect, test } from 'vitest'
import { createCleaner } from '../../cookbook/ttl-cleaner/cleaner.ts'
import { readConfig } from '../../cookbook/ttl-cleaner/config.ts'
import { isReal } from '../support/real-access.ts'
import { useProject } from './cookbook-support.ts'

const project = useProject(
  createCleaner(readConfig({ TTL_KINDS: 'configmaps,secrets', TTL_PROTECTED_NAMESPACES: '' })),
  {},
)
const ttl = (value: string) => ({ annotations: { 'example.com/ttl': value } })
const short = isReal ? '2s' : '30m'

test('objects are deleted when their time is over, and others stay', async () => {
  const { cluster } = project
  await project.start()
  await cluster.create('configmaps', { name: 'report', ...ttl(short) })
  const annotations = { 'example.com/expires-at': new Date(cluster.clock.now() + 2000).toISOString() }
  await cluster.create('secrets', { name: 'campaign', annotations })
  await cluster.create('configmaps', { name: 'long', ...ttl('90d') })
  await cluster.create('configmaps', { name: 'plain' })
  await cluster.untilGone('configmaps', 'report')
  await cluster.untilGone('secrets', 'campaign')
  for (const name of ['long', 'plain']) {
    expect((await cluster.get('configmaps', name)).metadata.deletionTimestamp).toBeUndefined()
  }
})

test('an object with a malformed value stays and has an Event', async () => {
  const { cluster } = project
  await project.start()
  const mistake = await cluster.create('configmaps', { name: 'mistake', ...ttl('tomorrow') })
  const event = await cluster.until(async () => (await cluster.events(mistake))[0])
  expect(event).toMatchObject({ type: 'Warning', reason: 'InvalidTTL' })
  expect((await cluster.get('configmaps', 'mistake')).metadata.deletionTimestamp).toBeUndefined()
})

test('an expired object is deleted at the start of the operator, unless its namespace is protected or it is a dry run', async () => {
  const { cluster } = project
  const { namespace } = cluster
  const annotations = { 'example.com/expires-at': '2020-01-01T00:00:00Z' }
  const expired = await cluster.create('configmaps', { name: 'expired', annotations })
  for (const changes of [
    { TTL_PROTECTED_NAMESPACES: namespace },
    { TTL_DRY_RUN: 'true', TTL_PROTECTED_NAMESPACES: '' },
  ]) {
    const cleaner = createCleaner(readConfig({ TTL_KINDS: 'configmaps', ...changes }))
    await using _operator = await cleaner.start(cluster)
    const reason = 'TTL_DRY_RUN' in changes ? 'WouldDelete' : 'NotDeleted'
    await cluster.until(async () => (await cluster.events(expired)).some((event) => event.reason === reason))
    expect((await cluster.get('configmaps', 'expired')).metadata.deletionTimestamp).toBeUndefined()
  }
  await using _operator = await createCleaner(readConfig({ TTL_PROTECTED_NAMESPACES: '' })).start(cluster)
  await cluster.untilGone('configmaps', 'expired')
})
