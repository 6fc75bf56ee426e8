/** The initial delay of daemons. */
import { type Duration, Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { finalizer, settle, useCleanLab } from '../support/handled.ts'
import { isAbout, msUntilGone } from './daemon-support.ts'

const lab = useCleanLab()

/** A daemon that records the times of its calls. */
function delayed(initialDelay: Duration | ((args: never) => unknown), options: object = {}) {
  const kopf = new Operator()
  const calledMs: number[] = []
  const given = { id: 'd', initialDelay: initialDelay as Duration, ...options }
  kopf.daemon(lab.widgets, given, async ({ stopped }) => {
    calledMs.push(lab.clock.now())
    await stopped.wait()
  })
  return { kopf, calledMs }
}

async function isCalledAfter(kopf: Operator, calledMs: readonly number[]): Promise<number> {
  await lab.start(kopf)
  const sinceMs = lab.clock.now()
  await lab.create('one', { spec: { delay: 0.4 } })
  await lab.until(() => calledMs.length === 1)
  return calledMs[0]! - sinceMs
}

describe('initial delay', () => {
  test.each([
    ['a number of seconds', 0.4, 400],
    ['a duration text', '400ms', 400],
    ['zero', 0, 0],
    ['a function that returns a number', () => 0.4, 400],
    ['a function that returns a duration text', () => '400ms', 400],
    ['a function that returns zero', () => 0, 0],
    ['a function of the object', ({ spec }: { spec: { delay: number } }) => spec.delay, 400],
  ] as const)('a daemon waits for its initial delay, given as %s', async (_, initialDelay, expectedMs) => {
    const { kopf, calledMs } = delayed(initialDelay as Duration)
    expect(await isCalledAfter(kopf, calledMs)).toSatisfy((ms: number) => isAbout(lab, ms, expectedMs))
  })

  test('the initial delay does not start again when the object changes', async () => {
    const { kopf, calledMs } = delayed(0.6)
    await lab.start(kopf)
    const sinceMs = lab.clock.now()
    await lab.create('one', { spec: {} })
    for (const n of [1, 2, 3, 4]) {
      await lab.elapse(0.1)
      await lab.patch('one', { spec: { n } })
    }
    await lab.until(() => calledMs.length === 1)
    expect(calledMs[0]! - sinceMs).toSatisfy((ms: number) => isAbout(lab, ms, 600))
    await settle(lab)
    expect(calledMs).toHaveLength(1)
  })

  test('the initial delay applies to the first attempt only', async () => {
    const kopf = new Operator()
    const times: number[] = []
    kopf.daemon(lab.widgets, { id: 'd', initialDelay: 0.4, backoff: 0.1 }, async ({ stopped }) => {
      times.push(lab.clock.now())
      if (times.length === 1) throw new Error('Once')
      await stopped.wait()
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.until(() => times.length === 2)
    expect(times[1]! - times[0]!).toBeLessThan(lab.isReal ? 350 : 110)
  })
})

test('an initialDelay function is called once per object, with the arguments of filters', async () => {
  const given: Record<string, unknown>[] = []
  const { kopf, calledMs } = delayed((args: never) => {
    given.push(args)
    return 0.1
  })
  expect(await isCalledAfter(kopf, calledMs)).toBeGreaterThanOrEqual(90)
  await lab.create('two', { spec: { delay: 2 } })
  await lab.until(() => calledMs.length === 2)
  expect(given.map(({ name }) => name)).toEqual(['one', 'two'])
  expect(given[1]).toMatchObject({
    name: 'two',
    namespace: lab.namespace,
    uid: expect.any(String),
    spec: { delay: 2 },
    status: {},
    labels: {},
    annotations: {},
    memo: {},
    logger: { info: expect.any(Function) },
    resource: { plural: 'widgets' },
  })
})

describe('invalid initial delays', () => {
  const nonsense: ReadonlyArray<readonly [string, () => unknown, string]> = [
    [
      'throws',
      () => {
        throw new Error('No idea')
      },
      'No idea',
    ],
    ['returns undefined', () => undefined, 'Cannot use undefined as the initialDelay of "d": expected a number'],
    ['returns a word', () => 'soon', 'Cannot use "soon" as the initialDelay of "d"'],
    ['returns a negative number', () => -1, 'Cannot use -1 as the initialDelay of "d"'],
    ['returns NaN', () => Number.NaN, 'as the initialDelay of "d"'],
    ['is async', async () => 1, 'must be a synchronous function'],
    [
      'is async and fails',
      async () => {
        throw new Error('Nobody waits for this')
      },
      'must be a synchronous function',
    ],
  ]

  test.each(nonsense)('a daemon is not started if its initialDelay function %s', async (_, answer, words) => {
    const { kopf, calledMs } = delayed(answer)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.untilLogged("Daemon 'd' is not started: its initialDelay failed: ")
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    await lab.patch('one', { spec: { n: 2 } })
    await settle(lab)
    expect(calledMs).toEqual([])
    const told = lab.logs.filter((line) => line.includes('is not started'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(words)
    await lab.delete('one')
    await lab.untilGone('one')
  })
})

describe('changes during the initial delay', () => {
  test('a deletion during the initial delay takes effect at once, and the daemon is never called', async () => {
    const { kopf, calledMs } = delayed(0.5)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false)
    await lab.delete('one')
    expect(await msUntilGone(lab, 'one')).toBeLessThan(400)
    await lab.elapse(1)
    expect(calledMs).toEqual([])
  })

  test('an object that stops matching during the initial delay is released, and waits again when it matches', async () => {
    const { kopf, calledMs } = delayed(0.5, { annotations: { on: 'yes' } })
    await lab.start(kopf)
    await lab.create('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false)
    await lab.patch('one', { metadata: { annotations: { on: 'no' } } })
    await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    await lab.elapse(0.7)
    expect(calledMs).toEqual([])
    const sinceMs = lab.clock.now()
    await lab.patch('one', { metadata: { annotations: { on: 'yes' } } })
    await lab.until(() => calledMs.length === 1)
    expect(calledMs[0]! - sinceMs).toSatisfy((ms: number) => isAbout(lab, ms, 500))
  })
})
