/** The values of an index after an index function fails, and when the function is called again. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'
import { cutWatches } from './index-support.ts'

const lab = useCleanLab()

/** Seconds; short, since a real cluster cannot skip time. */
const delay = 0.4

interface Setup {
  readonly options?: object
  /** Called by the index function with `spec.n` before it returns; may throw. */
  readonly act: (n: unknown, retry: number) => void
}

/** Starts an operator that indexes `spec.n` and records the calls. */
async function startWith({ options = {}, act }: Setup) {
  const calls: unknown[] = []
  const attempts: { retry: number; started: Date; runtime: number }[] = []
  const kopf = new Operator()
  const found = kopf.index(lab.widgets, { id: 'found', ...options }, ({ spec, retry, started, runtime }) => {
    calls.push(spec['n'])
    attempts.push({ retry, started, runtime })
    act(spec['n'], retry)
    return [['n', spec['n']]]
  })
  const others = kopf.index(lab.widgets, { id: 'others' }, ({ spec }) => [['n', spec['n']]])
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => others.get('n')[0] === 1)
  /** Changes the object and waits until all index functions have run. */
  const change = async (n: number) => {
    await lab.patch('one', { spec: { n } })
    await lab.until(() => others.get('n')[0] === n)
  }
  return { calls, attempts, change, values: () => [...found.get('n')] }
}

const failAt = (at: unknown, error: () => Error) => (n: unknown) => {
  if (n === at) throw error()
}

describe('ignored errors of index functions', () => {
  test.each<[string, object]>([
    ['by default', {}],
    ['with errors ignored', { errors: 'ignored' }],
  ])('an error of an index function keeps the values and is ignored %s', async (_, options) => {
    const { calls, change, values } = await startWith({ options, act: failAt(2, () => new Error('oops')) })
    expect(values()).toEqual([1])
    await change(2)
    expect(values()).toEqual([1])
    await lab.untilLogged("Indexer 'found' failed with an exception and will ignore it: oops")
    // Unexpected errors are logged with their stack.
    await lab.untilLogged('errors.test.ts')
    await change(3)
    expect([values(), calls]).toEqual([[3], [1, 2, 3]])
  })

  test('a failing filter of an index keeps the values', async () => {
    const when = ({ spec }: { spec: Record<string, unknown> }) => {
      if (spec['n'] === 2) throw new Error('no idea')
      return true
    }
    const { change, values } = await startWith({ options: { when }, act: () => {} })
    await change(2)
    expect(values()).toEqual([1])
    await lab.untilLogged('its "when" filter failed: no idea')
    await change(3)
    expect(values()).toEqual([3])
  })

  test('an invalid key of an index keeps the values', async () => {
    const kopf = new Operator()
    const found = kopf.index(lab.widgets, ({ spec }) => [[spec['n'] === 2 ? new Map() : 'n', spec['n']]])
    await lab.start(kopf)
    await lab.create('one', { spec: { n: 1 } })
    await lab.until(() => found.size === 1)
    await lab.patch('one', { spec: { n: 2 } })
    await lab.untilLogged('Cannot use this as the key of an index: a Map is not compared by value')
    expect([...found]).toEqual([['n', [1]]])
  })
})

describe('permanent errors of index functions', () => {
  test.each<[string, object, () => Error]>([
    ['with a PermanentError', {}, () => new PermanentError('never')],
    ['with errors permanent', { errors: 'permanent' }, () => new Error('never')],
  ])(
    'an index function that fails permanently loses its values and is never called again for the object %s',
    async (_, options, error) => {
      const { calls, change, values } = await startWith({ options, act: failAt(2, error) })
      expect(values()).toEqual([1])
      await change(2)
      expect(values()).toEqual([])
      await change(3)
      expect([values(), calls]).toEqual([[], [1, 2]])
      // The failure does not affect other objects, including a successor with the same name.
      await lab.create('two', { spec: { n: 4 } })
      await lab.until(() => calls.length === 3)
      await lab.delete('one')
      await lab.delete('two')
      await lab.create('one', { spec: { n: 5 } })
      await lab.until(() => calls.length === 4)
      expect([values(), calls]).toEqual([[5], [1, 2, 4, 5]])
    },
  )
})

describe('temporary errors of index functions', () => {
  test.each<[string, object, () => Error]>([
    ['of a TemporaryError', {}, () => new TemporaryError('later', { delay })],
    ['of its backoff', { errors: 'temporary', backoff: delay }, () => new Error('later')],
  ])(
    'an index function that fails temporarily loses its values and is called again for the first change after the delay %s',
    async (_, options, error) => {
      const { calls, attempts, change, values } = await startWith({ options, act: failAt(2, error) })
      const beforeMs = lab.clock.now()
      await change(2)
      const afterMs = lab.clock.now()
      expect(values()).toEqual([])
      await change(3)
      expect([values(), calls]).toEqual([[], [1, 2]])
      await lab.elapse(delay + 0.1)
      expect(calls).toEqual([1, 2])
      await change(4)
      expect([values(), calls]).toEqual([[4], [1, 2, 4]])
      const [, failed, again] = attempts
      expect([failed!.retry, again!.retry]).toEqual([0, 1])
      expect(again!.started.getTime()).toBeGreaterThanOrEqual(beforeMs)
      expect(again!.started.getTime()).toBeLessThanOrEqual(afterMs)
      expect(again!.runtime).toBeGreaterThanOrEqual(delay)
      // The success has reset the retries and the runtime.
      await change(5)
      expect([attempts.at(-1)!.retry, attempts.at(-1)!.runtime < delay]).toEqual([0, true])
    },
  )

  test('an index function that fails temporarily without a delay is called again for the next change', async () => {
    const act = failAt(2, () => new TemporaryError('later', { delay: 0 }))
    const { calls, change, values } = await startWith({ act })
    await change(2)
    await change(3)
    expect([values(), calls]).toEqual([[3], [1, 2, 3]])
  })

  test('an index function that fails temporarily is called again after the default backoff', async () => {
    const { calls, change } = await startWith({
      options: { errors: 'temporary' },
      act: failAt(2, () => new Error('later')),
    })
    await change(2)
    if (!lab.isReal) await lab.elapse(59)
    await change(3)
    expect(calls).toEqual([1, 2])
    if (lab.isReal) return
    await lab.elapse(1)
    await change(4)
    expect(calls).toEqual([1, 2, 4])
  })
})

describe('limits of index functions', () => {
  const options = { errors: 'temporary', backoff: 0 }
  const fail = () => {
    throw new Error('again')
  }

  test('an index function fails permanently after its number of retries', async () => {
    const { calls, attempts, change } = await startWith({ options: { ...options, retries: 2 }, act: fail })
    for (const n of [2, 3, 4]) await change(n)
    expect(calls).toEqual([1, 2])
    expect(attempts.map(({ retry }) => retry)).toEqual([0, 1])
  })

  test('an index function fails permanently after its timeout', async () => {
    const { calls, change } = await startWith({ options: { ...options, timeout: delay }, act: fail })
    await lab.elapse(delay + 0.1)
    await change(2)
    await change(3)
    expect(calls).toEqual([1])
    await lab.untilLogged('Handler "found" has timed out')
  })

  test('an index function that succeeds in between starts again with its retries', async () => {
    const act = (n: unknown) => Number(n) % 2 === 1 && fail()
    const { calls, attempts, change } = await startWith({ options: { ...options, retries: 2 }, act })
    for (const n of [2, 3, 4, 5]) await change(n)
    expect(calls).toEqual([1, 2, 3, 4, 5])
    expect(attempts.map(({ retry }) => retry)).toEqual([0, 1, 0, 1, 0])
  })
})

test('an index function is called again by an event or a new list, never by time alone', async () => {
  let calls = 0
  const kopf = new Operator()
  const found = kopf.index(lab.widgets, ({ name }) => {
    calls += 1
    if (calls === 1) throw new TemporaryError('later', { delay })
    return name
  })
  const transport = lab.record()
  const outage = cutWatches(transport)
  await lab.start(kopf, { transport })
  await lab.create('one')
  await lab.until(() => calls === 1)
  await lab.elapse(delay + 0.1)
  expect([calls, found.size]).toEqual([1, 0])
  outage.begin()
  await lab.elapse(0.1)
  outage.end()
  await lab.until(() => calls === 2)
  expect(found.get(null)).toEqual(['one'])
})

test('an error of an index function is logged by its message, without the object', async () => {
  const kopf = new Operator()
  const found = kopf.index('secrets', { id: 'broken' }, ({ name }) => {
    if (name === 'mine') throw new TypeError('not what it should be')
    return []
  })
  await lab.start(kopf)
  const path = `/api/v1/namespaces/${lab.namespace}/secrets`
  await lab.call('POST', path, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine' },
    stringData: { password: 'hunter2' },
  })
  await lab.untilLogged("Indexer 'broken' failed with an exception and will ignore it: not what it should be")
  expect(found.size).toBe(0)
  for (const secret of ['hunter2', Buffer.from('hunter2').toString('base64')]) {
    expect(lab.logs.join('\n')).not.toContain(secret)
  }
  await lab.call('DELETE', `${path}/mine`)
})

test('an error of an index function is not posted as an event', async () => {
  const kopf = new Operator({ settings: { posting: { loggers: true } } })
  kopf.index(lab.widgets, { id: 'broken' }, () => {
    throw new Error('oops')
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('one')
  await lab.untilLogged('oops')
  await settle(lab)
  expect(wire.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/events'))).toEqual([])
})
