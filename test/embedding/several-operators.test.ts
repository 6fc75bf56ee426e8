/** Several operators in one process, on one cluster and on two: they are independent of each other. */
import { AnnotationsDiffBaseStorage, AnnotationsProgressStorage, defineResource, Operator, PermanentError } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import type { Transport } from '../../src/util/transport.ts'
import { realOrNot } from '../testing/real-or-embedded.ts'

const Widget = defineResource({ group: 'embedding.example.com', version: 'v1', kind: 'Widget' })
const real = realOrNot()

/** An operator with its own annotation prefix and finalizer, so that two can handle one object. */
function createOperator(prefix: string, factor: number): Operator<{ factor: number; calls: number }> {
  const kopf = new Operator({
    memo: () => ({ factor, calls: 0 }),
    settings: {
      persistence: {
        finalizer: `${prefix}/finalizer`,
        progressStorage: new AnnotationsProgressStorage({ prefix }),
        diffbaseStorage: new AnnotationsDiffBaseStorage({ prefix }),
      },
    },
  })
  kopf.on.create(Widget, { id: 'size' }, ({ spec, memo, patch }) => {
    memo.calls += 1
    patch.metadata.annotations[`${prefix}/result`] = `${spec.size * memo.factor} after ${memo.calls}`
  })
  kopf.on.delete(Widget, { id: 'size-gone' }, () => {})
  return kopf
}

test('two operators with the same handler ids can handle one object, each with its own settings and memo', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  await using one = await createOperator('one.example.com', 2).start(cluster)
  await using other = await createOperator('other.example.com', 3).start(cluster)
  await Promise.all([one.ready, other.ready])
  await cluster.create(Widget, { name: 'w', spec: { size: 7 } })
  const { metadata } = await cluster.until(Widget, 'w', ({ metadata: { annotations = {} } }) => {
    return 'one.example.com/result' in annotations && 'other.example.com/result' in annotations
  })
  expect(metadata.annotations).toMatchObject({
    'one.example.com/result': '14 after 1',
    'other.example.com/result': '21 after 1',
  })
  expect(metadata.finalizers?.toSorted()).toEqual(['one.example.com/finalizer', 'other.example.com/finalizer'])
  await cluster.delete(Widget, 'w')
  await cluster.untilGone(Widget, 'w')
})

test('two equal operators on two clusters are independent', async () => {
  await using here = await startCluster({ resources: [Widget], real })
  await using there = await startCluster({ resources: [Widget], real })
  const create = () => {
    const kopf = new Operator()
    const names = kopf.index(Widget, ({ name }) => [['all', name]])
    kopf.on.create(Widget, ({ patch }) => {
      patch.status.indexed = names.get('all')
    })
    return kopf
  }
  await using _here = await create().start(here)
  await using _there = await create().start(there)
  await here.create(Widget, { name: 'a', spec: {} })
  await there.create(Widget, { name: 'b', spec: {} })
  expect((await here.until(Widget, 'a', ({ status }) => status)).status).toMatchObject({ indexed: ['a'] })
  expect((await there.until(Widget, 'b', ({ status }) => status)).status).toMatchObject({ indexed: ['b'] })
})

test('one operator on two clusters shares handlers, settings and indices, but not memos', async () => {
  await using here = await startCluster({ resources: [Widget], real })
  await using there = await startCluster({ resources: [Widget], real })
  const kopf = new Operator({ memo: () => ({ lives: 0 }) })
  const names = kopf.index(Widget, ({ name }) => [['all', name]])
  kopf.on.startup(({ memo }) => {
    memo.lives += 1
  })
  kopf.on.create(Widget, ({ memo, patch }) => {
    patch.status.lives = memo.lives
  })
  await using _here = await kopf.start(here)
  await using _there = await kopf.start(there)
  await here.create(Widget, { name: 'a', spec: {} })
  await there.create(Widget, { name: 'b', spec: {} })
  expect((await here.until(Widget, 'a', ({ status }) => status)).status).toMatchObject({ lives: 1 })
  expect((await there.until(Widget, 'b', ({ status }) => status)).status).toMatchObject({ lives: 1 })
  expect(names.get('all').toSorted()).toEqual(['a', 'b'])
})

test('an operator that fails does not affect other operators', async () => {
  await using cluster = await startCluster({ resources: [Widget], real })
  const healthy = new Operator()
  healthy.on.create(Widget, ({ patch }) => {
    patch.status.seen = true
  })
  const broken = new Operator()
  broken.on.startup(() => {
    throw new PermanentError('Cannot start today')
  })
  await using running = await healthy.start(cluster)
  await expect(broken.start(cluster)).rejects.toThrow('Cannot start today')
  const locked = new Operator()
  locked.on.event(Widget, () => {})
  const failing = await locked.start({ ...cluster, transport: forbidding })
  await expect(failing.done).rejects.toThrow('403')
  await cluster.create(Widget, { name: 'w', spec: {} })
  await cluster.until(Widget, 'w', ({ status }) => status?.['seen'])
  expect(running.stopping.aborted).toBe(false)
})

/** A cluster that answers 403 to each request. */
const forbidding: Transport = {
  send: async () => ({ status: 403, headers: { 'content-type': 'application/json' }, body: forbidden() }),
}

async function* forbidden(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, reason: 'Forbidden' }),
  )
}
