/** The `stopped` argument of daemons. */
import { type Duration, KopfError, Operator, type Stopped } from 'kopf'
import { describe, expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'
import { isAbout } from './daemon-support.ts'

const lab = useCleanLab()

/** The `stopped` argument of a daemon that runs until its object is deleted. */
async function flagOf(name: string): Promise<Stopped> {
  const kopf = new Operator()
  let flag: Stopped | undefined
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
    flag = stopped
    await stopped.wait()
  })
  await lab.start(kopf)
  await lab.create(name, { spec: {} })
  await lab.until(() => flag !== undefined)
  await settle(lab)
  return flag!
}

/** The result of the wait, and its duration. */
async function timed(waiting: Promise<boolean>): Promise<{ answer: boolean; ms: number }> {
  const sinceMs = lab.clock.now()
  let found: { answer: boolean; ms: number } | undefined
  void waiting.then((answer) => {
    found = { answer, ms: lab.clock.now() - sinceMs }
  })
  await lab.until(() => found !== undefined)
  return found!
}

test('stopped is not set and has no reason while the daemon may run', async () => {
  const stopped = await flagOf('one')
  expect(stopped.isSet()).toBe(false)
  expect(stopped.reason).toBeUndefined()
  expect(stopped.signal.aborted).toBe(false)
  expect(stopped.signal).toBe(stopped.signal)
})

describe('stopped.wait', () => {
  test.each([
    [0.3, 300],
    ['300ms', 300],
    ['0.3s', 300],
    [0, 0],
  ] as const)('stopped.wait(%s) ends after that time', async (duration, ms) => {
    const stopped = await flagOf('one')
    const waited = await timed(stopped.wait(duration))
    expect(waited.answer).toBe(false)
    expect(waited.ms).toSatisfy((actual: number) => isAbout(lab, actual, ms))
  })

  test('stopped.wait ends for all callers as soon as the daemon is stopped', async () => {
    const stopped = await flagOf('one')
    const waits = [stopped.wait(), stopped.wait(1000), stopped.wait('1h'), stopped.wait()]
    await lab.elapse(0.1)
    await lab.delete('one')
    const { answer, ms } = await timed(Promise.all(waits).then((answers) => answers.every(Boolean)))
    expect(answer).toBe(true)
    expect(ms).toSatisfy((actual: number) => isAbout(lab, actual, 0))
    expect(stopped.reason).toBe('resource-deleted')
    expect(stopped.isSet()).toBe(true)
  })

  test('stopped.wait ends at once if the daemon is stopped already', async () => {
    const stopped = await flagOf('one')
    await lab.delete('one')
    await lab.until(() => stopped.isSet())
    for (const waiting of [stopped.wait(), stopped.wait(1000), stopped.wait(0)]) {
      const { answer, ms } = await timed(waiting)
      expect(answer).toBe(true)
      expect(ms).toSatisfy((actual: number) => isAbout(lab, actual, 0))
    }
  })

  test.each([-1, Number.NaN, 'soon', '5 minutes', null, {}, '10'])('stopped.wait(%s) is refused', async (duration) => {
    const stopped = await flagOf('one')
    const refused = await stopped.wait(duration as Duration).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(KopfError)
    expect(refused).toMatchObject({ code: 'KOPF_DURATION' })
    expect((refused as Error).message).toContain('as the duration to wait: expected a number of seconds')
  })
})

test('stopped.signal is aborted when the daemon is stopped', async () => {
  const early = await flagOf('one')
  let reason: unknown
  early.signal.addEventListener('abort', () => (reason = early.signal.reason))
  await lab.delete('one')
  await lab.until(() => early.isSet())
  expect(reason).toMatchObject({ name: 'AbortError', message: 'Stopped: resource-deleted' })
})

test('stopped.signal is aborted even if it is first read after the daemon was stopped', async () => {
  const late = await flagOf('two')
  await lab.delete('two')
  await lab.until(() => late.isSet())
  expect(late.signal.aborted).toBe(true)
  expect(() => late.signal.throwIfAborted()).toThrow('Stopped: resource-deleted')
})

test('a daemon that ignores stopped and keeps waiting does not block other handlers', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  let isLooping = true
  let rounds = 0
  kopf.daemon(lab.widgets, { id: 'd', annotations: { loop: 'yes' } }, async ({ stopped }) => {
    seen.push('starts')
    for (; isLooping; rounds += 1) await stopped.wait(0.05)
  })
  kopf.on.create(lab.widgets, { id: 'c' }, ({ name }) => void seen.push(`created ${name}`))
  kopf.on.delete(lab.widgets, { id: 'x' }, ({ name }) => void seen.push(`deleted ${name}`))
  const running = await lab.start(kopf)
  await lab.create('one', { metadata: { annotations: { loop: 'yes' } } })
  await lab.until(() => seen.includes('starts') && seen.includes('created one'))
  await settle(lab)
  await lab.delete('one')
  await lab.until(() => seen.includes('deleted one'))
  const before = rounds
  await lab.create('two', { spec: {} })
  await lab.until(() => seen.includes('created two'))
  await lab.delete('two')
  await lab.untilGone('two')
  expect(rounds).toBeGreaterThan(before)
  isLooping = false
  await lab.untilGone('one')
  await lab.stop(running)
})
