/** The clock of the embedded test cluster: when time is skipped, and when not. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type HandlerClock, Operator, TemporaryError } from 'kopf'
import { type Cluster, startCluster } from 'kopf/testing'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../../src/util/async/clock.ts'

const name = 'settings'

test('time in a test cluster is skipped only while the test waits for an object', async () => {
  const kopf = new Operator()
  kopf.timer('configmaps', { interval: '1h' }, ({ body, patch }) => {
    patch.data.ticks = String(Number(body['data']?.ticks ?? 0) + 1)
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  const beganMs = cluster.clock.now()
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, ({ data }) => data?.ticks === '10', { timeout: '12h' })
  const tookMs = cluster.clock.now() - beganMs
  expect(tookMs).toBeGreaterThanOrEqual(9 * 3_600_000)
  expect(tookMs).toBeLessThan(9 * 3_600_000 + 120_000)
  await systemClock.sleep(100)
  expect((await cluster.get('configmaps', name)).data).toEqual({ ticks: '10' })
})

test('time in a test cluster passes in real time while the test does not wait', async () => {
  const kopf = new Operator()
  const ticks = { count: 0 }
  kopf.timer('configmaps', { interval: '50ms' }, () => {
    ticks.count += 1
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await vi.waitFor(() => expect(ticks.count).toBeGreaterThanOrEqual(3), 10_000)
  expect(ticks.count).toBeLessThan(10)
})

test('a wait in a test cluster can be for a condition that does not depend on the object', async () => {
  const kopf = new Operator()
  let ticks = 0
  kopf.timer('configmaps', { interval: '1m' }, () => {
    ticks += 1
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, () => ticks === 3)
})

test('a test can let a given time pass in its cluster', async () => {
  const kopf = new Operator()
  let ticks = 0
  kopf.timer('configmaps', { interval: '1m' }, () => {
    ticks += 1
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled()
  expect(ticks).toBe(1)
  await cluster.clock.advance('10m')
  expect(ticks).toBe(11)
})

test('the argument now of handlers follows the clock of the cluster', async () => {
  const kopf = new Operator()
  const times: Date[] = []
  kopf.on.startup(({ now }) => void times.push(now()))
  kopf.timer('configmaps', { interval: '1h' }, ({ now }) => void times.push(now()))
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled()
  await cluster.clock.advance('2h')
  const [startup, first, second, third] = times.map((time) => time.getTime())
  expect(startup).toBeLessThanOrEqual(first!)
  expect([second! - first!, third! - second!]).toEqual([3_600_000, 3_600_000])
})

test('an operator that never settles is reported soon, with advice', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', () => {
    throw new TemporaryError('Not yet', { delay: '2s' })
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled({ quiet: '1s' })
  await expect(cluster.settled()).rejects.toThrow(
    "Cannot wait any longer, after 300 seconds of the cluster's time: the cluster is never quiet for " +
      "5 seconds; wait for a state with `until`, or for a shorter time with `settled({ quiet: '1s' })`",
  )
})

/** Operators that each set the same field to their own name, at once. */
function createFighters(): readonly Operator[] {
  return ['red', 'blue'].map((color) => {
    const kopf = new Operator({ name: color })
    kopf.on.event('configmaps', ({ body, patch }) => {
      if (body['data']?.color !== color) patch.data.color = color
    })
    return kopf
  })
}

test.each<[string, (cluster: Cluster) => Promise<unknown>, string]>([
  ['settled', (cluster) => cluster.settled(), ': the cluster is never quiet for 5 seconds'],
  ['until', (cluster) => cluster.until('configmaps', name, { data: { color: 'green' } }), 'has not reached'],
  ['advance', (cluster) => cluster.clock.advance('1h'), 'Cannot let time pass'],
])(
  'operators that answer each other with writes without end fail %s instead of freezing the test',
  async (_, wait, problem) => {
    await using cluster = await startCluster()
    const [red, blue] = createFighters()
    await using _red = await red!.start(cluster)
    await using _blue = await blue!.start(cluster)
    await cluster.create('configmaps', { name, data: { color: 'white' } })
    const error = await wait(cluster).catch((error: Error) => error)
    expect(error).toMatchObject({ code: 'KOPF_CLUSTER_WAIT', message: expect.stringContaining(problem) })
    expect((error as Error).message).toContain(
      `after 2000 writes of /api/v1/namespaces/default/configmaps/${name} while no time passed`,
    )
  },
)

test('a wait finds a state although operators go on to write without end', async () => {
  await using cluster = await startCluster()
  const [red, blue] = createFighters()
  await using _red = await red!.start(cluster)
  await using _blue = await blue!.start(cluster)
  await cluster.create('configmaps', { name, data: { color: 'white' } })
  await cluster.until('configmaps', name, { data: { color: 'blue' } })
})

test('a startup handler that fails repeatedly fails the start instead of being awaited', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.on.startup(() => {
    calls += 1
    throw new TypeError('There is no such setting')
  })
  await using cluster = await startCluster()
  const error = await kopf.start(cluster).then(
    () => undefined,
    (reason: Error) => reason,
  )
  expect(error?.message).toMatch(
    /^Cannot wait any longer, after \d+.* seconds of the cluster's time: an operator does not start\n/,
  )
  expect(error?.message).toContain("Activity 'startup' failed with an exception")
  expect(error?.message).toContain('There is no such setting')
  expect(calls).toBeGreaterThan(10)
  expect(cluster.clock.occupied('run')).toBe(0)
})

test('a startup handler that succeeds after some attempts is awaited', async () => {
  const kopf = new Operator()
  kopf.on.startup(({ retry }) => {
    if (retry < 20) throw new TemporaryError('There is no database yet', { delay: '1m' })
  })
  await using cluster = await startCluster()
  await using operator = await kopf.start(cluster)
  await operator.ready
})

test('a handler that waits for real I/O is awaited', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.on.create('configmaps', async ({ patch }) => {
    await sleep(300)
    await promisify(execFile)(process.execPath, ['--version'])
    patch.data.done = 'yes'
  })
  kopf.timer('configmaps', { interval: '1m' }, () => void seen.push('tick'))
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, ({ data }) => data?.done === 'yes')
  expect(seen.length).toBeLessThanOrEqual(1)
  expect(cluster.logs.join('\n')).not.toContain('has not returned')
})

test('retried startup handlers and daemons that do not stop take no real time in a test cluster', async () => {
  const kopf = new Operator()
  kopf.on.startup(({ retry }) => {
    if (retry < 5) throw new TemporaryError('Not yet', { delay: '10m' })
  })
  kopf.daemon('configmaps', { cancellationTimeout: '10m' }, () => new Promise(() => {}))
  const beganMs = Date.now()
  await using cluster = await startCluster()
  const running = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled()
  await running.stop()
  expect(Date.now() - beganMs).toBeLessThan(10_000)
})

test('a silent watch and a failing API server take no real time in a test cluster', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', async ({ client, patch }) => {
    await client.create('secrets', { metadata: { name } })
    patch.data.done = 'yes'
  })
  await using cluster = await startCluster()
  cluster.faults.add({ on: { resource: 'configmaps', verb: 'list' }, effect: { type: 'error', status: 503 }, times: 2 })
  await using running = await kopf.start(cluster)
  await running.ready
  const silence = cluster.faults.add({
    on: { resource: 'configmaps', verb: 'watch' },
    effect: { type: 'silence' },
    times: 1,
  })
  const refusal = cluster.faults.add({ on: { resource: 'secrets' }, effect: { type: 'error', status: 503 }, times: 3 })
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, ({ data }) => data?.done === 'yes')
  expect([silence.hits, refusal.hits]).toEqual([1, 3])
})

test('faults of a test cluster apply to operators, not to the test itself', async () => {
  await using cluster = await startCluster()
  cluster.faults.add({ effect: { type: 'error', status: 500 } })
  await cluster.create('configmaps', { name })
  const { metadata } = await cluster.get('configmaps', name)
  expect(metadata.name).toBe(name)
  cluster.faults.clear()
})

test('the requests of operators in a test cluster are recorded without those of the test', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', () => {})
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled()
  const { 'patch configmaps': patches, 'create configmaps': creations } = cluster.requests.counts()
  expect([patches, creations]).toEqual([1, undefined])
  expect(cluster.requests.last({ verb: 'patch' })).toMatchObject([{ name, namespace: 'default', status: 200 }])
  cluster.requests.clear()
  expect(cluster.requests.last()).toEqual([])
})

test('a wait for a condition sees every moment at which nothing more can happen', async () => {
  const kopf = new Operator()
  let ticks = 0
  kopf.timer('configmaps', { interval: '1m' }, () => {
    ticks += 1
  })
  await using cluster = await startCluster({ clock: 'deterministic' })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  const seen = new Set<number>()
  await cluster.until(async () => {
    await cluster.get('configmaps', name)
    seen.add(ticks)
    return ticks === 5
  })
  expect([...seen]).toEqual([0, 1, 2, 3, 4, 5])
})

test('time in a deterministic test cluster stands still while the test does not wait', async () => {
  const kopf = new Operator()
  kopf.timer('configmaps', { interval: '10ms' }, () => {})
  await using cluster = await startCluster({ clock: 'deterministic' })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  const beganMs = cluster.clock.now()
  await systemClock.sleep(100)
  expect(cluster.clock.now()).toBe(beganMs)
})

test('a deterministic test cluster skips time beside a handler that waits for the test', async () => {
  const kopf = new Operator()
  const { promise, resolve } = withResolvers()
  kopf.on.create('configmaps', () => promise)
  await using cluster = await startCluster({ clock: 'deterministic' })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  const startedMs = cluster.clock.now()
  const beganMs = Date.now()
  for (let minutes = 0; minutes < 60; minutes += 1) await cluster.clock.advance('1m')
  expect(cluster.clock.now() - startedMs).toBe(3_600_000)
  expect(Date.now() - beganMs).toBeLessThan(10_000)
  resolve()
  await cluster.settled()
})

test('startup retries and daemons that do not stop need no wait of the test in a deterministic test cluster', async () => {
  const kopf = new Operator()
  kopf.on.startup(({ retry }) => {
    if (retry < 3) throw new TemporaryError('Not yet', { delay: '10m' })
  })
  kopf.daemon('configmaps', { cancellationTimeout: '10m' }, () => new Promise(() => {}))
  await using cluster = await startCluster({ clock: 'deterministic' })
  const running = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.settled()
  await running.stop()
  expect(cluster.clock.occupied('run')).toBe(0)
})

test.each(['skipping', 'deterministic'] as const)('no time is skipped while the clock is held (%s)', async (clock) => {
  const kopf = new Operator()
  let ticks = 0
  kopf.timer('configmaps', { interval: '1h' }, () => {
    ticks += 1
  })
  await using cluster = await startCluster({ clock })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.until(() => ticks === 1)
  const held = cluster.clock.hold(sleep(200).then(() => ticks))
  await cluster.until(() => ticks === 2)
  expect(await held).toBe(1)
})

test('a condition that does not become true is reported with its source', async () => {
  await using cluster = await startCluster()
  await expect(cluster.until(() => false, { timeout: '1s' })).rejects.toThrow(
    "Cannot wait any longer, after 1 seconds of the cluster's time: the condition has not become true: () => false",
  )
  await expect(cluster.until(() => Promise.reject(new TypeError('no number')))).rejects.toThrow('no number')
})

test('no time is skipped in a test cluster with the real clock', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', ({ patch, retry }) => {
    if (retry < 2) throw new TemporaryError('Not yet', { delay: '100ms' })
    patch.data.done = 'yes'
  })
  await using cluster = await startCluster({ clock: 'real' })
  await using _operator = await kopf.start(cluster)
  const beganMs = Date.now()
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, ({ data }) => data?.done === 'yes')
  expect(Date.now() - beganMs).toBeGreaterThanOrEqual(200)
  await cluster.clock.advance('10ms')
})

test('a handler that never returns is awaited only as long as the patience', async () => {
  const kopf = new Operator()
  const { promise, resolve } = withResolvers()
  kopf.on.create('configmaps', () => promise)
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  const waiting = cluster.until('configmaps', name, ({ data }) => data?.done === 'yes', { patience: '600ms' })
  await expect(waiting).rejects.toThrow('seconds of real time (raise `patience` if handlers wait for something real)')
  resolve()
})

test('many short calls of handlers do not use up the patience for one call', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', async ({ patch, retry }) => {
    await sleep(25)
    if (retry < 10) throw new TemporaryError('Not yet', { delay: '1m' })
    patch.data.done = 'yes'
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  // 11 calls take at least 275 ms: longer than the limit of one call, shorter than five times that limit.
  await cluster.until('configmaps', name, ({ data }) => data?.done === 'yes', { patience: '200ms' })
})

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

test('the patience of a wait is limited in real time, and reported separately from the timeout', async () => {
  await using cluster = await startCluster()
  const waiting = cluster.until('configmaps', name, () => true, { patience: '50ms' })
  await expect(waiting).rejects.toThrow(
    /^Cannot wait any longer, after [\d.]+ seconds of (real time \(raise `patience`|the cluster's time)/,
  )
  await expect(cluster.until('configmaps', name, () => true, { timeout: '1s' })).rejects.toThrow(
    "Cannot wait any longer, after 1 seconds of the cluster's time",
  )
  await expect(cluster.until('configmaps', name, () => true, { timeout: '1s' })).rejects.toThrow(
    'No operator has logged anything: is one started on this cluster?',
  )
})

test('handlers use the clock of the test cluster, and sleep by it without real time', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', async ({ clock, patch, signal }) => {
    const beganMs = clock.now()
    for (let polls = 0; polls < 720; polls += 1) await clock.sleep('5s', { signal })
    patch.data.tookMs = String(clock.now() - beganMs)
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  const beganMs = Date.now()
  await cluster.create('configmaps', { name })
  const { data } = await cluster.until('configmaps', name, ({ data }) => data?.tookMs, { timeout: '2h' })
  expect(Number(data?.['tookMs'])).toBeGreaterThanOrEqual(3_600_000)
  expect(Number(data?.['tookMs'])).toBeLessThan(3_660_000)
  expect(Date.now() - beganMs).toBeLessThan(3000)
})

test('a handler that sleeps by its clock beside real I/O gets a moment for the I/O', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', async ({ clock, patch }) => {
    const answered = sleep(1).then(() => 'answered')
    const late = clock.sleep('1h').then(() => 'late')
    patch.data.outcome = await Promise.race([answered, late])
  })
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, { data: { outcome: 'answered' } })
})

test('every type of handler has the clock of the test cluster, and sleeping daemons block nothing', async () => {
  const kopf = new Operator()
  const years = new Set<string>()
  const note = (who: string, { clock }: { clock: HandlerClock }) =>
    void years.add(`${who} ${new Date(clock.now()).getFullYear() >= 2000}`)
  kopf.on.startup(async (args) => {
    await args.clock.sleep('10m')
    note('startup', args)
  })
  kopf.on.event('configmaps', (args) => note('event', args))
  kopf.on.create('configmaps', { when: ({ clock }) => clock.now() > 0 }, (args) => note('create', args))
  kopf.timer('configmaps', { interval: '1m' }, (args) => note('timer', args))
  kopf.index('configmaps', (args) => note('index', args))
  kopf.daemon('configmaps', async (args) => {
    for (;;) {
      await args.clock.sleep('1h', { signal: args.stopped.signal })
      note('daemon', args)
    }
  })
  const beganMs = Date.now()
  await using cluster = await startCluster()
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name })
  await cluster.until('configmaps', name, () => years.size === 6, { timeout: '3h' })
  expect([...years].sort()).toEqual(
    ['create', 'daemon', 'event', 'index', 'startup', 'timer'].map((who) => `${who} true`),
  )
  expect(Date.now() - beganMs).toBeLessThan(5000)
})
