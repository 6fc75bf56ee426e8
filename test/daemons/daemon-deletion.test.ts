/** Daemons and delete handlers of one object: both run at the same time, and the object is released after both. */
import { Operator, StatusProgressStorage, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { annotationsOf, finalizer, progressOf, settle, useCleanLab } from '../support/handled.ts'
import type { Recording } from '../support/recording.ts'
import { Stubborn } from './daemon-support.ts'

const lab = useCleanLab()

async function untilStarted(daemon: Stubborn): Promise<void> {
  await lab.until(() => daemon.isRunning)
  await settle(lab)
}

describe('delete handlers beside daemons', () => {
  test('a delete handler is called once while the daemon ends, and the object is released after both', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    let cleanups = 0
    kopf.daemon(lab.widgets, { id: 'd' }, daemon.fn)
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, () => {
      cleanups += 1
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilStarted(daemon)
    await lab.delete('one')
    const held = await lab.untilObject('one', (body) => progressOf(body, 'cleanup')?.['success'] === true)
    expect(held.metadata.finalizers).toEqual([finalizer])
    await lab.patch('one', { spec: { n: 2 } })
    await settle(lab)
    await lab.patch('one', { metadata: { labels: { a: 'b' } } })
    await settle(lab)
    expect(daemon.isRunning).toBe(true)
    expect(cleanups).toBe(1)
    expect(lab.logs.filter((line) => line.includes('Deletion is processed: 1 succeeded; 0 failed.'))).toHaveLength(1)
    daemon.letGo()
    await lab.untilGone('one')
    expect(cleanups).toBe(1)
  })

  test('a delete handler that is retried longer than the daemon takes keeps the object', async () => {
    const kopf = new Operator()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      seen.push('runs')
      await stopped.wait()
      seen.push('ends')
    })
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, ({ retry }) => {
      seen.push(`cleanup ${retry}`)
      if (retry < 2) throw new TemporaryError('Not yet', { delay: 0.2 })
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => seen.length === 1)
    await lab.delete('one')
    await lab.untilGone('one')
    expect(seen).toEqual(['runs', 'ends', 'cleanup 0', 'cleanup 1', 'cleanup 2'])
  })

  test('a delete handler is called beside a daemon that never ends, and not again by the next process', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    let cleanups = 0
    kopf.daemon(lab.widgets, { id: 'd', cancellationTimeout: 0.1, labels: { app: 'a' } }, daemon.fn)
    kopf.daemon(lab.widgets, { id: 'other', labels: { app: 'a' } }, async ({ stopped }) => void (await stopped.wait()))
    kopf.on.delete(lab.widgets, { id: 'cleanup', labels: { app: 'a' } }, () => {
      cleanups += 1
    })
    const endless = new Operator()
    endless.use(kopf)
    endless.daemon(lab.widgets, { id: 'endless', labels: { app: 'a' } }, async ({ stopped }) => {
      await stopped.wait()
      while (stopped.reason === 'resource-deleted') await lab.clock.sleep(50)
    })
    const running = await lab.start(endless)
    await lab.create('one', { metadata: { labels: { app: 'a' } } })
    await untilStarted(daemon)
    await lab.delete('one')
    await lab.untilObject('one', (body) => progressOf(body, 'cleanup')?.['success'] === true)
    await lab.stop(running)
    expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
    await lab.start(endless)
    await lab.untilGone('one')
    expect(cleanups).toBe(1)
    expect(daemon.calls).toBe(1)
    daemon.letGo()
  })

  test('a delete handler is not called again if the object does not keep its progress', async () => {
    const properties = { spec: { type: 'object' }, status: { type: 'object' } }
    await lab.install({ kind: 'Forgetful', schema: { type: 'object', properties }, subresources: { status: {} } })
    const path = `${lab.path('', 'forgetfuls')}`
    const kopf = new Operator({ settings: { persistence: { progressStorage: new StatusProgressStorage() } } })
    const daemon = new Stubborn(lab)
    let cleanups = 0
    kopf.daemon([lab.group, 'v1', 'forgetfuls'], { id: 'd' }, daemon.fn)
    kopf.on.delete([lab.group, 'v1', 'forgetfuls'], { id: 'cleanup' }, () => {
      cleanups += 1
    })
    await lab.start(kopf)
    const body = { apiVersion: `${lab.group}/v1`, kind: 'Forgetful', metadata: { name: 'one' } }
    await lab.call('POST', path, body)
    await untilStarted(daemon)
    await lab.call('DELETE', `${path}/one`)
    await lab.until(() => cleanups > 0)
    await settle(lab)
    expect(cleanups).toBe(1)
    await lab.call('PATCH', `${path}/one`, { metadata: { labels: { a: 'b' } } }, 'application/merge-patch+json')
    await settle(lab)
    expect(cleanups).toBe(1)
    daemon.letGo()
    await lab.until(async () => (await lab.call('GET', `${path}/one`)).status === 404)
    expect(cleanups).toBe(1)
  })
})

test('optional delete handlers are called only for objects that have the finalizer for a daemon', async () => {
  const kopf = new Operator()
  const cleanups: string[] = []
  let isRunning = false
  kopf.daemon(lab.widgets, { id: 'd', annotations: { daemon: 'yes' } }, async ({ stopped }) => {
    isRunning = true
    await stopped.wait()
  })
  kopf.on.delete(lab.widgets, { id: 'cleanup', optional: true }, ({ name }) => void cleanups.push(name))
  kopf.on.event(lab.widgets, ({ event, name }) => {
    if (event.type === 'DELETED') cleanups.push(`${name} is gone`)
  })
  await lab.start(kopf)
  await lab.create('with', { metadata: { annotations: { daemon: 'yes' } } })
  await lab.create('without', { metadata: { annotations: { daemon: 'no' } } })
  await lab.until(() => isRunning)
  await settle(lab)
  await lab.delete('with')
  await lab.until(() => cleanups.length === 2)
  await lab.delete('without')
  await lab.until(() => cleanups.length === 3)
  expect(cleanups).toEqual(['with', 'with is gone', 'without is gone'])
})

describe('writes', () => {
  /** The number of writes to objects since the last call. */
  async function count(wire: Recording): Promise<number> {
    do {
      await settle(lab)
    } while (wire.unanswered > 0)
    const { length } = wire.writes()
    wire.requests.length = 0
    return length
  }

  async function measure(kopf: Operator, isReady: () => boolean): Promise<{ creation: number; deletion: number }> {
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: {} })
    await lab.until(isReady)
    const creation = await count(wire)
    await lab.delete('one')
    await lab.untilGone('one')
    return { creation, deletion: await count(wire) }
  }

  test('a daemon costs one write for its finalizer and one for its removal', async () => {
    const kopf = new Operator()
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped, annotations }) => {
      isRunning = Object.keys(annotations).length === 0
      await stopped.wait()
    })
    expect(await measure(kopf, () => isRunning)).toEqual({ creation: 1, deletion: 1 })
  })

  test('a daemon without a finalizer costs no write', async () => {
    const kopf = new Operator()
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd', finalizer: false }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
    })
    expect(await measure(kopf, () => isRunning)).toEqual({ creation: 0, deletion: 0 })
  })

  test('a daemon that ends at once costs no write beyond those of a delete handler', async () => {
    const kopf = new Operator()
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
    })
    kopf.on.create(lab.widgets, { id: 'create' }, () => {})
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, () => {})
    expect(await measure(kopf, () => isRunning)).toEqual({ creation: 2, deletion: 1 })
  })

  test('a daemon that ends slowly costs one write for the progress of the delete handlers and one for the release', async () => {
    const kopf = new Operator()
    const daemon = new Stubborn(lab)
    kopf.daemon(lab.widgets, { id: 'd', cancellationTimeout: 0.3 }, daemon.fn)
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, () => {})
    expect(await measure(kopf, () => daemon.isRunning)).toMatchObject({ deletion: 2 })
    daemon.letGo()
  })

  test('a daemon that ends by itself costs writes for its finalizer, its result, and the release', async () => {
    const kopf = new Operator()
    let isDone = false
    kopf.daemon(lab.widgets, { id: 'd' }, () => {
      isDone = true
      return { done: true }
    })
    expect(await measure(kopf, () => isDone)).toEqual({ creation: 3, deletion: 0 })
  })

  test('an object whose daemon no longer matches keeps nothing of it', async () => {
    const kopf = new Operator()
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd', annotations: { on: 'yes' } }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
      isRunning = false
    })
    await lab.start(kopf)
    await lab.create('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.until(() => isRunning)
    await lab.patch('one', { metadata: { annotations: { on: null } } })
    const body = await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    expect(annotationsOf(body)).toEqual({})
    expect(isRunning).toBe(false)
  })
})
