/**
 * Runs each example as its README says, and compares the output with the README: on the embedded server in this process, and on
 * the real control plane with the actual programs.
 */
import { expect, test } from 'vitest'
import { findFreePorts } from '../../tools/envtest/ports.ts'
import { follow, Story, useStories } from './story.ts'

useStories()

const objects = '/apis/example.com/v1/namespaces/default'

/** Examples whose README needs no further checks. */
const plain = [
  '01-minimal',
  '02-children',
  '03-exceptions',
  '04-events',
  '05-handlers',
  '07-subhandlers',
  '10-builtins',
  '13-hooks',
  '14-daemons',
  '15-timers',
  '16-indexing',
  '18-reconcile',
  '22-conditions',
  '23-memos',
  '25-heavy',
  '26-typed-with-zod',
]

// On the real control plane, half a minute is not skipped.
const patience = { timeout: 120_000 }

test.each(plain)('the example %s prints what its README shows', patience, async (folder) => {
  const story = await follow(folder)
  story.end()
})

test('the example 06-peering pauses one of two operators until the other has ended', patience, async () => {
  const story = await Story.open('06-peering')
  const deployed = await story.run()
  await story.follow(deployed, 1)
  const developed = await story.run('--dev')
  await story.follow(deployed, 1)
  await story.follow(developed, 2)
  await story.follow(deployed, 1)
  story.end()
})

test('the example 08-raw-events prints what its README shows, and does not change the pods', patience, async () => {
  const story = await Story.open('08-raw-events')
  const run = await story.run()
  await story.follow(run, 3)
  const { body } = await story.stage.call('GET', '/api/v1/namespaces/default/pods/web-1')
  expect(Object.keys(body.metadata.annotations ?? {}).filter((key) => key.includes('kopf'))).toEqual([])
  expect(body.metadata.finalizers).toBeUndefined()
  await story.follow(run)
  story.end()
  expect(run.terminal.lines.filter((line) => line.includes('default/other'))).toEqual([])
})

test('the example 11-filtering-handlers calls no handler beyond the threshold', patience, async () => {
  const story = await Story.open('11-filtering-handlers')
  const run = await story.run()
  await story.follow(run)
  story.end()
  const small = `${objects}/datasets/small`
  const versionOf = async () =>
    JSON.parse((await story.stage.call('GET', small)).body.metadata.annotations?.[handled] ?? '{}')
  await story.stage.call('PATCH', small, { spec: { size: 30 } })
  await story.stage.until(async () => (await versionOf()).spec?.size === 30)
  expect(run.terminal.lines.filter((line) => line.endsWith('Has grown large'))).toHaveLength(1)
})

const handled = 'kopf.zalando.org/last-handled-configuration'

test('the example 17-admission mutates, warns and refuses', patience, async () => {
  const story = await Story.open('17-admission')
  const run = await story.run()
  await story.follow(run, 1)
  // A real API server needs a moment to load the webhook configuration.
  const attempt = () => story.stage.call('PATCH', `${objects}/draws/sunday?dryRun=All`, { spec: { numbers: [101] } })
  await story.stage.until(async () => (await attempt()).status === 422)
  await story.follow(run)
  story.end()
})

test('the example 19-steps stores results of steps only while it waits', patience, async () => {
  const story = await follow('19-steps')
  story.end()
  const { body } = await story.stage.call('GET', `${objects}/backupplans/orders`)
  expect(Object.keys(body.metadata.annotations ?? {}).filter((key) => key.includes('backups'))).toEqual([])
})

test('the example 20-conversion serves an object in both versions', patience, async () => {
  const story = await follow('20-conversion')
  story.end()
})

test('the example 21-leader-election has one leader of two replicas, and the other takes over', patience, async () => {
  const story = await Story.open('21-leader-election')
  const first = await story.run()
  await story.follow(first, 1)
  const second = await story.run()
  await story.follow(first, 2)
  await story.follow(second)
  story.end()
  expect(second.terminal.lines.filter((line) => line.includes('Hello'))).toEqual([])
})

test('the example 24-health serves its health endpoint', patience, async () => {
  const [port] = await findFreePorts(1)
  const story = await Story.open('24-health', { '8080': String(port) })
  await story.follow(await story.run())
  story.end()
})
