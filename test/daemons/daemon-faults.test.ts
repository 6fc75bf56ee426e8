/** Writes of daemons that fail: none is lost, none is repeated after a success, and retries are spaced out. */
import { Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Transport, TransportResponse } from '../../src/util/transport.ts'
import { settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { type Recorded, type Recording, refusal } from '../support/recording.ts'

const lab = useCleanLab()

/** Disables the retries of requests and shortens the pauses, so that the retries of the framework remain. */
const impatient = { networking: { errorBackoffs: [] }, queueing: { errorDelays: [0.1] } }

const isPatch = ({ method, path }: Recorded): boolean => method === 'PATCH' && path.startsWith(lab.path('one'))
const isRelease = ({ text }: Recorded): boolean => /"op":"remove","path":"\/metadata\/finalizers/.test(text)

/** Fails this number of matching requests, and counts all matching ones. */
function failing(
  wire: Recording,
  times: number,
  failure: Failure,
  fits: (request: Recorded) => boolean = isPatch,
): { readonly count: number } {
  const counted = { count: 0 }
  wire.meddle = async (request, send) => {
    if (!fits(request)) return send()
    counted.count += 1
    return counted.count <= times ? failure(send) : send()
  }
  return counted
}

type Failure = (send: () => Promise<TransportResponse>) => Promise<TransportResponse>

const hangUp = (): never => {
  throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
}

/** Name, number of failures in a row, failure. A few conflicts are normal: another client was faster. */
const failures: ReadonlyArray<readonly [string, number, Failure]> = [
  ['a 500 response', 4, async () => refusal(500)],
  ['a 503 response', 4, async () => refusal(503)],
  ['a 429 response', 4, async () => refusal(429)],
  ['a 409 response', 4, async () => refusal(409)],
  ['many 409 responses', 20, async () => refusal(409)],
  ['a broken connection', 4, async () => hangUp()],
  [
    'a lost response',
    4,
    async (send) => {
      await send()
      return hangUp()
    },
  ],
]

describe('retried writes', () => {
  test.each(failures)('the patch of a daemon is written after %s, %i times in a row', async (_, times, failure) => {
    const kopf = new Operator({ settings: impatient })
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ patch, stopped }) => {
      calls += 1
      failing(wire, times, failure)
      patch.metadata.labels['written'] = 'yes'
      patch.spec['n'] = 2
      patch.fns.push((body) => {
        const list = (body as { list?: string[] }).list ?? []
        if (!list.includes('new')) Object.assign(body, { list: [...list, 'new'] })
      })
      if (stopped.isSet()) return undefined
      return { calls }
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: { n: 1 }, list: ['old'] })
    // The finalizers are also missing before the daemon is called, and a stale response may show that state.
    const isDone = ({ metadata }: Body) => metadata.labels !== undefined && metadata.finalizers === undefined
    const body = await lab.untilObject('one', isDone)
    expect(body.metadata.labels).toEqual({ written: 'yes' })
    expect(body['spec']).toEqual({ n: 2 })
    expect(body['list']).toEqual(['old', 'new'])
    expect(body['status']).toEqual({ d: { calls: 1 } })
    await settle(lab)
    expect(calls).toBe(1)
  })

  test('the result of a daemon is written after requests that were never answered', async () => {
    const kopf = new Operator({ settings: { ...impatient, networking: { errorBackoffs: [], requestTimeout: 0.2 } } })
    let unanswered = 0
    kopf.daemon(lab.widgets, { id: 'd' }, () => {
      unanswered = 3
      return { done: true }
    })
    const wire = lab.record()
    const transport: Transport = {
      send: (request, signal) => {
        if (request.method !== 'PATCH' || unanswered === 0) return wire.send(request, signal)
        unanswered -= 1
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      },
    }
    await lab.start(kopf, { transport })
    await lab.create('one', { spec: {} })
    const { status } = await lab.untilObject('one', (body) => body['status'] !== undefined)
    expect(status).toEqual({ d: { done: true } })
    expect(unanswered).toBe(0)
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  })

  test('the patches of failed attempts of a daemon are written', async () => {
    const kopf = new Operator({ settings: impatient })
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd', backoff: 0.2 }, async ({ patch, retry, stopped }) => {
      calls += 1
      patch.status[`attempt${retry}`] = 'made'
      if (retry === 0) throw new Error('Any')
      if (retry === 1) throw new TemporaryError('Again', { delay: 0.2 })
      await stopped.wait()
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    failing(
      wire,
      3,
      async () => refusal(500),
      ({ path }) => path.endsWith('/one/status'),
    )
    await lab.create('one', { spec: {} })
    const { status } = await lab.untilObject('one', (body) => Object.keys(body['status'] ?? {}).length === 2)
    expect(status).toEqual({ attempt0: 'made', attempt1: 'made' })
    await lab.until(() => calls === 3)
  })

  test('the result of a daemon is written before the deleted object is released', async () => {
    const kopf = new Operator({ settings: impatient })
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
      return { last: 'words' }
    })
    kopf.on.delete(lab.widgets, { id: 'cleanup' }, async () => {
      // Long enough that the write of the daemon fails while this handler runs.
      await lab.clock.sleep(200)
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: {} })
    await lab.until(() => isRunning)
    await settle(lab)
    wire.requests.length = 0
    const statuses = failing(
      wire,
      3,
      async () => refusal(500),
      ({ path }) => path.endsWith('/one/status'),
    )
    await lab.delete('one')
    await lab.untilGone('one')
    expect(statuses.count).toBe(4)
    const writes = wire.writes().filter((request) => isRelease(request) || request.path.endsWith('/status'))
    expect(writes.map((request) => (isRelease(request) ? 'release' : 'status')).join(' ')).toMatch(/status release$/)
  })

  test('the result of a daemon is written before an object outside of the selector is released', async () => {
    const kopf = new Operator({ settings: impatient })
    let isRunning = false
    kopf.daemon(lab.widgets, { id: 'd', labels: { on: 'yes' } }, async ({ stopped }) => {
      isRunning = true
      await stopped.wait()
      return { last: stopped.reason }
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { metadata: { labels: { on: 'yes' } } })
    await lab.until(() => isRunning)
    await settle(lab)
    failing(
      wire,
      3,
      async () => refusal(500),
      ({ path }) => path.endsWith('/one/status'),
    )
    await lab.patch('one', { metadata: { labels: { on: 'no' } } })
    const { status } = await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    expect(status).toEqual({ d: { last: 'filters-mismatch' } })
  })

  test('the result of a daemon is written once while change handlers write as well', async () => {
    const kopf = new Operator({ settings: impatient })
    const seen: unknown[] = []
    kopf.daemon(lab.widgets, { id: 'd', initialDelay: 0.1 }, () => ({ done: true }))
    kopf.on.create(lab.widgets, { id: 'c' }, () => ({ done: true }))
    kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => {
      seen.push(spec['n'])
      return { n: spec['n'] }
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: { n: 1 } })
    await lab.untilObject('one', ({ status }) => (status as { c?: object } | undefined)?.c !== undefined)
    failing(wire, 3, async () => refusal(503))
    await lab.elapse(0.1)
    await lab.patch('one', { spec: { n: 2 } })
    const { status } = await lab.untilObject('one', (body) => Object.keys(body['status'] ?? {}).length === 3)
    expect(status).toEqual({ c: { done: true }, d: { done: true }, u: { n: 2 } })
    expect(seen).toEqual([2])
  })
})

describe('rejected writes', () => {
  const poisons: ReadonlyArray<readonly [string, (patch: PatchLike) => void, RegExp]> = [
    ['an invalid value', (patch) => Object.assign(patch.metadata.labels, { a: 'no label!' }), /422 Invalid/],
    ['a changed name', (patch) => Object.assign(patch.metadata, { name: 'other' }), /400|422/],
    [
      'a function that throws',
      (patch) => {
        patch.fns.push(() => {
          throw new Error('Cannot edit this')
        })
      },
      /Cannot edit this/,
    ],
  ]

  interface PatchLike {
    readonly metadata: { readonly labels: object }
    readonly fns: Array<() => void>
  }

  test.each(poisons)('a patch of a daemon with %s is logged once and dropped', async (_, spoil, words) => {
    const kopf = new Operator({ settings: impatient })
    const handled: unknown[] = []
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ patch, stopped }) => {
      calls += 1
      spoil(patch as unknown as PatchLike)
      if (calls === 1) throw new TemporaryError('Once more', { delay: 0.1 })
      await stopped.wait()
    })
    kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => void handled.push(spec['n']))
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: { n: 1 } })
    await lab.until(() => calls === 2)
    await settle(lab)
    const told = lab.logs.filter((line) => line.includes("Daemon 'd': its patch could not be written: "))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(words)
    expect(wire.requests.filter(isPatch).length).toBeLessThan(8)
    await lab.patch('one', { spec: { n: 2 } })
    await lab.until(() => handled.length === 1)
    await lab.delete('one')
    await lab.untilGone('one')
    expect(lab.logs.filter((line) => line.includes('Throttling'))).toEqual([])
  })

  test('a rejected patch of one daemon does not drop the patch of another', async () => {
    const kopf = new Operator({ settings: impatient })
    kopf.daemon(lab.widgets, { id: 'bad' }, ({ patch }) => {
      Object.assign(patch.metadata.labels, { a: 'no label!' })
    })
    kopf.daemon(lab.widgets, { id: 'good' }, () => ({ done: true }))
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    // Only the write of the finalizer succeeds, so that the patches of both daemons are pending together.
    const wanted = failing(
      wire,
      4,
      async () => refusal(503),
      (one) => isPatch(one) && !one.text.includes('finalizers'),
    )
    await lab.create('one', { spec: {} })
    const { status } = await lab.untilObject(
      'one',
      ({ metadata }) => wanted.count > 4 && metadata.finalizers === undefined,
    )
    expect(status).toEqual({ good: { done: true } })
  })
})

test('patches of several daemons and handlers of one object are written one after the other', async () => {
  const kopf = new Operator()
  const ids = ['a', 'b', 'c']
  for (const id of ids) {
    kopf.daemon(lab.widgets, { id, initialDelay: 0.2 }, ({ patch }) => {
      patch.metadata.labels[id] = 'yes'
      return { done: true }
    })
  }
  kopf.on.create(lab.widgets, { id: 'handler' }, async () => {
    await lab.clock.sleep(200)
    return { done: true }
  })
  const wire = lab.record()
  let underWay = 0
  let most = 0
  wire.meddle = async (request, send) => {
    if (!isPatch(request)) return send()
    underWay += 1
    most = Math.max(most, underWay)
    await lab.clock.sleep(20)
    const answer = await send()
    underWay -= 1
    return answer
  }
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  const { status, metadata } = await lab.untilObject('one', (body) => Object.keys(body['status'] ?? {}).length === 4)
  expect(Object.keys(status as object).toSorted()).toEqual(['a', 'b', 'c', 'handler'])
  expect(metadata.labels).toEqual({ a: 'yes', b: 'yes', c: 'yes' })
  expect(most).toBe(1)
})

test('a newer patch of a daemon is never undone by an older one', async () => {
  const kopf = new Operator({ settings: impatient })
  let calls = 0
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ patch, stopped }) => {
    calls += 1
    patch.spec['n'] = calls
    patch.spec[`n${calls}`] = true
    if (calls < 5) throw new TemporaryError('Again', { delay: 0.03 })
    await stopped.wait()
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  let patches = 0
  wire.meddle = async ({ text }, send) => {
    if (!text.includes('"n1"') && !text.includes('"n2"')) return send()
    // Slow and failing: the later patches arrive while this write is under way.
    patches += 1
    if (patches > 3) return send()
    await lab.clock.sleep(100)
    return refusal(503)
  }
  await lab.create('one', { spec: {} })
  const { spec } = await lab.untilObject('one', (body) => (body['spec'] as { n?: number }).n === 4)
  await settle(lab)
  expect((await lab.get('one'))['spec']).toEqual(spec)
  expect(spec).toEqual({ n: 4, n1: true, n2: true, n3: true, n4: true })
  expect(calls).toBe(5)
})

test.skipIf(lab.isReal)('a server that is down for an hour gets writes of a daemon at growing intervals', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.daemon(lab.widgets, { id: 'd' }, () => {
    calls += 1
    isAway = true
    return { done: true }
  })
  let isAway = false
  const wire = lab.record()
  wire.meddle = async (request, send) => (isAway && isPatch(request) ? refusal(503) : send())
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await lab.until(() => calls === 1)
  wire.requests.length = 0
  await lab.elapse(3600)
  expect(wire.requests.filter(isPatch).length).toBeLessThan(200)
  isAway = false
  const { status } = await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
  expect(status).toEqual({ d: { done: true } })
  expect(calls).toBe(1)
})

test('the patch of a daemon is dropped silently if the object was deleted meanwhile', async () => {
  const kopf = new Operator({ settings: impatient })
  let isRunning = false
  kopf.daemon(lab.widgets, { id: 'd', finalizer: false }, async ({ stopped, patch }) => {
    isRunning = true
    patch.metadata.labels['a'] = 'b'
    await stopped.wait()
    return { last: 'words' }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => isRunning)
  await lab.delete('one')
  await lab.untilLogged("Daemon 'd' has exited on request")
  await settle(lab)
  expect(await lab.exists('one')).toBe(false)
  expect(lab.logs.filter((line) => /could not|Throttling/.test(line))).toEqual([])
})
