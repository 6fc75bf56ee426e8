/** When daemons are started and stopped. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { finalizer, settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { cutBy, gate, refusal } from '../support/recording.ts'
import { Stubborn } from './daemon-support.ts'

const lab = useCleanLab()

test('a daemon is started for each new and existing object, and stopped when the object is deleted', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'watch' }, async ({ name, stopped }) => {
    seen.push(`${name} starts`)
    while (!stopped.isSet()) await stopped.wait(10)
    seen.push(`${name} stops: ${stopped.reason}`)
  })
  await lab.create('before', { spec: {} })
  await lab.start(kopf)
  await lab.until(() => seen.length === 1)
  await lab.create('after', { spec: {} })
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual(['before starts', 'after starts'])
  expect((await lab.get('after')).metadata.finalizers).toEqual([finalizer])
  await lab.delete('before')
  await lab.untilGone('before')
  expect(seen).toEqual(['before starts', 'after starts', 'before stops: resource-deleted'])
  expect(await lab.exists('after')).toBe(true)
})

test('an object is released only after its daemon has ended', async () => {
  const kopf = new Operator()
  const ending = gate()
  let isEnding = false
  kopf.daemon(lab.widgets, async ({ stopped }) => {
    await stopped.wait()
    isEnding = true
    await ending.opened
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => (body.metadata.finalizers ?? []).length === 1)
  await settle(lab)
  await lab.delete('one')
  await lab.until(() => isEnding)
  await settle(lab)
  expect(await lab.exists('one')).toBe(true)
  ending.open()
  await lab.untilGone('one')
})

test('a daemon that ends by itself stores its result, loses the finalizer, and is not started again', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.daemon(lab.widgets, { id: 'once' }, () => {
    calls += 1
    return { done: true }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  const body = await lab.untilObject('one', ({ metadata, status }) => {
    return metadata.finalizers === undefined && (status as { once?: unknown } | undefined)?.once !== undefined
  })
  expect(body['status']).toEqual({ once: { done: true } })
  await lab.patch('one', { spec: { n: 2 } })
  await settle(lab)
  expect(calls).toBe(1)
})

test('a daemon is retried after the delay of a TemporaryError or the backoff, and not after a PermanentError', async () => {
  const kopf = new Operator()
  const retries: number[] = []
  kopf.daemon(lab.widgets, { id: 'tries', backoff: 0.2 }, ({ retry }) => {
    retries.push(retry)
    if (retry === 0) throw new TemporaryError('Not yet', { delay: 0.1 })
    if (retry === 1) throw new Error('Whatever')
    throw new PermanentError('Never')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged("Daemon 'tries' failed permanently: Never")
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  await lab.patch('one', { spec: { n: 2 } })
  await settle(lab)
  expect(retries).toEqual([0, 1, 2])
})

test('the arguments of a daemon show the latest state of the object, even when destructured', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.daemon(lab.widgets, async ({ spec, labels, body, stopped }) => {
    while (!stopped.isSet()) {
      const now = `${spec['n']} ${labels['l']} ${body.metadata.generation}`
      if (now !== seen.at(-1)) seen.push(now)
      await stopped.wait(0.05)
    }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  await lab.patch('one', { spec: { n: 2 }, metadata: { labels: { l: 'x' } } })
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual(['1 undefined 1', '2 x 2'])
})

test('a daemon is started and stopped by its filters, and the object has the finalizer while it runs', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { labels: { on: 'yes' } }, async ({ stopped }) => {
    seen.push('starts')
    await stopped.wait()
    seen.push(`stops: ${stopped.reason}`)
  })
  kopf.on.event(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await settle(lab)
  expect(seen).toEqual([])
  expect((await lab.get('one')).metadata.finalizers).toBeUndefined()
  await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
  await lab.until(() => seen.length === 1)
  expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
  await lab.patch('one', { metadata: { labels: { on: 'no' } } })
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  expect(seen).toEqual(['starts', 'stops: filters-mismatch'])
  await lab.patch('one', { metadata: { labels: { on: 'yes' } } })
  await lab.until(() => seen.length === 3)
})

test('a daemon with finalizer false is stopped after its object was deleted', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { finalizer: false }, async ({ stopped }) => {
    seen.push('starts')
    await stopped.wait()
    seen.push(`stops: ${stopped.reason}`)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 1)
  expect((await lab.get('one')).metadata.finalizers).toBeUndefined()
  await lab.delete('one')
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual(['starts', 'stops: resource-deleted'])
})

test('a daemon is stopped when the operator stops, and its result is written', async () => {
  const kopf = new Operator()
  let isRunning = false
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
    isRunning = true
    await stopped.wait()
    return { reason: stopped.reason }
  })
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => isRunning)
  await lab.stop(running)
  const { status, metadata } = await lab.get('one')
  expect(status).toEqual({ d: { reason: 'operator-exiting' } })
  expect(metadata.finalizers).toEqual([finalizer])
})

describe('recreated objects', () => {
  test.each([true, false])(
    'a recreated object gets a new daemon, and the old one is stopped (finalizer: %s)',
    async (finalizing) => {
      const kopf = new Operator()
      const seen: string[] = []
      kopf.daemon(lab.widgets, { id: 'd', finalizer: finalizing }, async ({ uid, stopped }) => {
        seen.push(`${uid} starts`)
        await stopped.wait()
        seen.push(`${uid} stops: ${stopped.reason}`)
      })
      await lab.start(kopf)
      const first = (await lab.create('one', { spec: {} })).metadata.uid
      await lab.until(() => seen.length === 1)
      await lab.delete('one')
      await lab.untilGone('one')
      const second = (await lab.create('one', { spec: {} })).metadata.uid
      await lab.until(() => seen.length === 3)
      expect(new Set(seen)).toEqual(
        new Set([`${first} starts`, `${first} stops: resource-deleted`, `${second} starts`]),
      )
    },
  )

  test('a recreated object neither waits for the daemon of the old one nor gets its patch', async () => {
    const kopf = new Operator()
    const ending = gate()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'd', finalizer: false }, async ({ uid, stopped, spec, patch }) => {
      seen.push(`${uid} ${spec['n']}`)
      await stopped.wait()
      await ending.opened
      patch.spec['n'] = 'from the old one'
      return { uid }
    })
    await lab.start(kopf)
    const first = (await lab.create('one', { spec: { n: 1 } })).metadata.uid
    await lab.until(() => seen.length === 1)
    await lab.delete('one')
    const second = (await lab.create('one', { spec: { n: 2 } })).metadata.uid
    await lab.until(() => seen.length === 2)
    ending.open()
    await lab.untilLogged("Daemon 'd' has exited on request")
    await settle(lab)
    expect(seen).toEqual([`${first} 1`, `${second} 2`])
    const { spec, status } = await lab.get('one')
    expect({ spec, status }).toEqual({ spec: { n: 2 }, status: undefined })
  })

  test('an object that was recreated while the watch was down gets a new daemon', async () => {
    const kopf = new Operator()
    const seen: string[] = []
    kopf.daemon(lab.widgets, { id: 'd', finalizer: false }, async ({ uid, stopped }) => {
      seen.push(`${uid} starts`)
      await stopped.wait()
      seen.push(`${uid} stops: ${stopped.reason}`)
    })
    const wire = lab.record()
    const cut = gate()
    const goOn = gate()
    let isFirst = true
    wire.meddle = async ({ path, query }, send) => {
      if (path !== lab.path() || query.get('watch') !== 'true') return send()
      if (!isFirst) {
        await goOn.opened
        return query.get('sendInitialEvents') === 'true' ? send() : refusal(410)
      }
      isFirst = false
      const answer = await send()
      return { ...answer, body: cutBy(answer.body, cut.opened) }
    }
    await lab.start(kopf, { transport: wire })
    const first = (await lab.create('one', { spec: {} })).metadata.uid
    await lab.until(() => seen.length === 1)
    cut.open()
    await lab.elapse(0.1)
    await lab.delete('one')
    const second = (await lab.create('one', { spec: {} })).metadata.uid
    goOn.open()
    await lab.until(() => seen.length === 3)
    await settle(lab)
    expect(seen.toSorted()).toEqual(
      [`${first} starts`, `${first} stops: resource-deleted`, `${second} starts`].toSorted(),
    )
  })
})

test('an object whose finalizers are removed by force stops its daemon, and gets no more writes', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
    seen.push('starts')
    await stopped.wait()
    seen.push(`stops: ${stopped.reason}`)
    return { last: 'words' }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => seen.length === 1)
  await lab.delete('one')
  await lab.patch('one', { metadata: { finalizers: null } }).catch(() => {})
  await lab.untilGone('one')
  await lab.until(() => seen.length === 2)
  await settle(lab)
  expect(seen).toEqual(['starts', 'stops: resource-deleted'])
  expect(lab.logs.filter((line) => /error|Throttling/i.test(line))).toEqual([])
})

test('a finalizer that another client removes is added again while the daemon runs', async () => {
  const kopf = new Operator()
  const daemon = new Stubborn(lab)
  kopf.daemon(lab.widgets, { id: 'd' }, daemon.fn)
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => daemon.isRunning)
  await settle(lab)
  await lab.patch('one', { metadata: { finalizers: null } })
  await lab.untilObject('one', ({ metadata }) => metadata.finalizers?.length === 1)
  await settle(lab)
  expect(daemon).toMatchObject({ calls: 1, running: 1, reason: undefined })
  daemon.letGo()
})

test('the daemons of an object are independent, and the object is released after all of them', async () => {
  const kopf = new Operator()
  const slow = new Stubborn(lab)
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'slow' }, slow.fn)
  kopf.daemon(lab.widgets, { id: 'fast' }, async ({ stopped }) => {
    seen.push('fast starts')
    await stopped.wait()
    seen.push('fast stops')
  })
  kopf.daemon(lab.widgets, { id: 'once' }, () => void seen.push('once'))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => slow.isRunning && seen.length === 2)
  await settle(lab)
  expect((await lab.get('one')).metadata.finalizers).toEqual([finalizer])
  await lab.delete('one')
  await lab.until(() => seen.length === 3)
  await settle(lab)
  expect(await lab.exists('one')).toBe(true)
  slow.letGo()
  await lab.untilGone('one')
  expect(seen).toEqual(['fast starts', 'once', 'fast stops'])
  expect(slow.calls).toBe(1)
})

test('cluster-scoped objects have daemons', async () => {
  await lab.install({ kind: 'Continent', scope: 'Cluster' })
  const path = `/apis/${lab.group}/v1/continents`
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.daemon([lab.group, 'v1', 'continents'], { id: 'd' }, async ({ name, namespace, stopped }) => {
    seen.push([name, namespace])
    await stopped.wait()
    return { seen: true }
  })
  await lab.start(kopf)
  await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind: 'Continent', metadata: { name: 'europe' } })
  await lab.until(() => seen.length === 1)
  expect(seen).toEqual([['europe', undefined]])
  await lab.call('DELETE', `${path}/europe`)
  await lab.until(async () => (await lab.call('GET', `${path}/europe`)).status === 404)
})

test('a daemon shares the memo with the handlers of its object only', async () => {
  const kopf = new Operator({ memo: () => ({ words: [] as string[] }) })
  const seen: string[] = []
  kopf.daemon(lab.widgets, { id: 'd', initialDelay: 0.1 }, async ({ memo, name, stopped }) => {
    memo.words.push(`daemon of ${name}`)
    await stopped.wait()
  })
  kopf.on.create(lab.widgets, { id: 'c' }, ({ memo, name }) => {
    // The memo is copied shallowly for each object: without this line all copies share one list.
    memo.words = [`created ${name}`]
  })
  kopf.on.update(lab.widgets, { id: 'u' }, ({ memo }) => void seen.push(memo.words.join(', ')))
  await lab.start(kopf)
  for (const name of ['one', 'two']) await lab.create(name, { spec: { n: 1 } })
  for (const name of ['one', 'two']) await untilHandled(lab, name)
  await lab.elapse(0.5)
  for (const name of ['one', 'two']) await lab.patch(name, { spec: { n: 2 } })
  await lab.until(() => seen.length === 2)
  expect(seen.toSorted()).toEqual(['created one, daemon of one', 'created two, daemon of two'])
})

test('event handlers get one DELETED event, even if the daemon of the object ends later', async () => {
  const kopf = new Operator()
  const daemon = new Stubborn(lab)
  const ends: string[] = []
  kopf.daemon(lab.widgets, { id: 'd', finalizer: false, cancellationTimeout: 0.1 }, daemon.fn)
  kopf.on.event(lab.widgets, { id: 'spy' }, ({ event, name }) => {
    if (event.type === 'DELETED') ends.push(name)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => daemon.isRunning)
  await lab.delete('one')
  await lab.until(() => ends.length > 0)
  await lab.untilLogged("Daemon 'd' did not exit in time.")
  await settle(lab)
  daemon.letGo()
  await lab.untilLogged("Daemon 'd' has exited on request")
  await settle(lab)
  expect(ends).toEqual(['one'])
})

test('the memory of deleted objects is released', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kopf = new Operator()
  const memos: WeakRef<object>[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ memo, body, stopped, signal, spec }) => {
    memos.push(new WeakRef(memo))
    while (!(await stopped.wait(0.1))) Object.assign(memo, { body, spec, signal, last: new Uint8Array(1000) })
    return { seen: true }
  })
  kopf.daemon(lab.widgets, { id: 'delayed', initialDelay: 1000 }, () => {})
  kopf.daemon(lab.widgets, { id: 'retried' }, () => {
    throw new TemporaryError('Later', { delay: 1000 })
  })
  await lab.start(kopf)
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
  for (const name of names) await lab.create(name, { spec: {} })
  await lab.until(() => memos.length === names.length)
  await settle(lab)
  for (const name of names) await lab.delete(name)
  for (const name of names) await lab.untilGone(name)
  await lab.create('another', { spec: {} })
  await lab.until(() => memos.length === names.length + 1)
  await settle(lab)
  collect()
  // The last memo is in use, and a few earlier ones may still be referenced from a stack.
  expect(memos.filter((memo) => memo.deref() !== undefined).length).toBeLessThan(5)
})
