import { expect, test } from 'vitest'
import { ObjectInformer } from '../../src/watching/object-informer.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { type Answer, configMaps, quickly, ScriptedSession } from './watching-support.ts'

type Change = string | null

/** Runs an informer of the ConfigMap "one" against scripted responses. `changes` are the resource versions; null if the object does not exist. */
async function informerOf(answers: readonly Answer[]) {
  const changes: Change[] = []
  const errors: string[] = []
  const end = new AbortController()
  const clock = new ManualClock()
  const session = new ScriptedSession(answers)
  const informer = new ObjectInformer({
    session,
    clock,
    random: () => 1,
    watching: { ...quickly, initialStreaming: false },
    resource: configMaps,
    namespace: 'default',
    name: 'one',
    onChange: (object) => changes.push(object === null ? null : object.metadata.resourceVersion!),
    onWatchError: (error) => errors.push((error as Error).message),
  })
  const done = informer.run(end.signal)
  await settle()
  const stop = async () => {
    end.abort()
    await done
  }
  return { informer, session, clock, changes, errors, [Symbol.asyncDispose]: stop }
}

const stateOf = (resourceVersion: string, uid: string = 'a') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', namespace: 'default', uid, resourceVersion },
})
const listOf = (resourceVersion: string, ...items: object[]): Answer => ({
  page: { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion }, items },
})
const streamOf = (...events: ReadonlyArray<readonly [type: string, object: object]>): Answer => ({
  chunks: events.map(([type, object]) => `${JSON.stringify({ type, object })}\n`),
  ending: 'hang',
})
const expired = ['ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }] as const

test('an informer selects its object by name', async () => {
  await using one = await informerOf([listOf('5')])
  expect(one.session.queries[0]).toContain('fieldSelector=metadata.name=one')
})

test('an informer has the newest state of its object', async () => {
  await using one = await informerOf([listOf('5', stateOf('3')), streamOf(['MODIFIED', stateOf('6')])])
  expect(one.changes).toEqual(['3', '6'])
  expect(one.informer.object).toMatchObject({ metadata: { resourceVersion: '6' } })
})

test('an informer reports an object that does not exist, and one that is deleted', async () => {
  await using one = await informerOf([listOf('5'), streamOf(['ADDED', stateOf('6')], ['DELETED', stateOf('7')])])
  expect(one.changes).toEqual([null, '6', null])
  expect(one.informer.object).toBe(null)
})

test('an informer accepts the response to a write, but no older state after it', async () => {
  await using one = await informerOf([listOf('5', stateOf('3')), streamOf()])
  expect(one.informer.accept(stateOf('8'))).toBe(true)
  expect(one.informer.accept(stateOf('7'))).toBe(false)
  expect(one.informer.object).toMatchObject({ metadata: { resourceVersion: '8' } })
  expect(one.changes).toEqual(['3'])
})

test('an informer ignores a watch event that is older than the response to a write', async () => {
  await using one = await informerOf([
    listOf('5', stateOf('3')),
    { chunks: [], ending: 'end' },
    streamOf(['MODIFIED', stateOf('7')]),
  ])
  one.informer.accept(stateOf('8'))
  await one.clock.advance(10_000)
  expect(one.informer.object).toMatchObject({ metadata: { resourceVersion: '8' } })
  expect(one.changes).toEqual(['3'])
})

test('an informer believes a list of a restored cluster, although its state is older', async () => {
  await using one = await informerOf([
    listOf('50', stateOf('30')),
    streamOf(expired),
    listOf('20', stateOf('10')),
    streamOf(),
  ])
  await one.clock.advance(60_000)
  expect(one.changes).toEqual(['30', '10'])
})

test('an informer counts the lists without its object', async () => {
  await using one = await informerOf([listOf('5', stateOf('3')), streamOf(expired), listOf('9'), streamOf()])
  const { absences } = one.informer
  await one.clock.advance(60_000)
  expect(one.informer.object).toBe(null)
  expect(one.informer.absences).toBeGreaterThan(absences)
})

test('an informer has no state while the object cannot be listed', async () => {
  await using one = await informerOf([{ error: new Error('no connection') }])
  expect(one.informer.object).toBe(undefined)
  expect(one.errors[0]).toContain('no connection')
})

test('an informer takes the state of a read, also if the object does not exist', async () => {
  await using one = await informerOf([listOf('5', stateOf('3')), streamOf()])
  one.informer.replace(null)
  one.informer.replace(stateOf('2', 'b'))
  expect(one.changes).toEqual(['3', null, '2'])
})
