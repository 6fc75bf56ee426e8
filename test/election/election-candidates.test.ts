import type { Operator } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { RecordingObserver } from '../support/recording-observer.ts'
import { electionIn, leasePath, Replicas, untilHeldBy } from './election-support.ts'

const lab = useCleanLab()

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

test('a candidate runs no handlers, daemons or timers, but keeps its indices up to date', async () => {
  const replicas = new Replicas(lab)
  const calls: string[] = []
  const names = new Map<string, () => readonly unknown[]>()
  const busy = (identity: string) => (kopf: Operator) => {
    const index = kopf.index(lab.widgets, { id: 'names' }, ({ name }) => [[null, name]])
    names.set(identity, () => index.get(null))
    kopf.on.startup(() => void calls.push(`${identity} starts`))
    kopf.on.event(lab.widgets, { id: 'e' }, () => void calls.push(`${identity} event`))
    kopf.on.create(lab.widgets, { id: 'c' }, () => void calls.push(`${identity} create`))
    kopf.timer(lab.widgets, { id: 't', interval: 1 }, () => void calls.push(`${identity} timer`))
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      calls.push(`${identity} daemon`)
      await stopped.wait('1h')
    })
    kopf.on.cleanup(() => void calls.push(`${identity} ends`))
  }
  await replicas.start('a', busy('a'))
  const stander = await replicas.start('b', busy('b'))
  await lab.create('one')
  await untilHandled(lab, 'one')
  await lab.until(() => names.get('b')!().length === 1)
  await settle(lab)
  expect(new Set(calls)).toEqual(new Set(['a starts', 'b starts', 'a event', 'a create', 'a timer', 'a daemon']))
  await lab.stop(stander)
  expect(calls).toContain('b ends')
  expect(calls).not.toContain('b create')
})

test('a candidate that becomes the leader runs daemons and timers with complete indices', async () => {
  const replicas = new Replicas(lab)
  const calls: string[] = []
  const busy = (identity: string) => (kopf: Operator) => {
    const index = kopf.index(lab.widgets, { id: 'names' }, ({ name }) => [[null, name]])
    kopf.timer(lab.widgets, { id: 't', interval: 1 }, ({ name }) => {
      calls.push(`${identity} ${name} of ${[...index.get(null)].sort().join(' ')}`)
    })
  }
  await replicas.start('a', busy('a'))
  await replicas.start('b', busy('b'))
  await lab.create('one')
  await lab.create('two')
  await lab.until(() => calls.some((call) => call.startsWith('a two')))
  await lab.stop(replicas.running['a']!)
  await lab.until(
    () => calls.some((call) => call.startsWith('b one')) && calls.some((call) => call.startsWith('b two')),
  )
  expect(calls.filter((call) => call.startsWith('b')).every((call) => call.endsWith('of one two'))).toBe(true)
})

test('a candidate keeps no memory of objects that come and go', async () => {
  const replicas = new Replicas(lab)
  const livenessEndpoint = 'http://127.0.0.1:0/healthz'
  await replicas.start('a')
  await replicas.start('b', (kopf) => kopf.on.event(lab.widgets, { id: 'e' }, () => {}), { livenessEndpoint })
  const port = lab.logs.join('\n').match(/127\.0\.0\.1:(\d+)/)![1]
  const report = async () => (await lab.outside(fetch(`http://127.0.0.1:${port}/readyz`))).json()
  for (let round = 0; round < 5; round += 1) {
    await lab.create(`brief-${round}`)
    await untilHandled(lab, `brief-${round}`)
    await lab.delete(`brief-${round}`)
    await lab.untilGone(`brief-${round}`)
  }
  await lab.create('stays')
  await untilHandled(lab, 'stays')
  for (let size = 0; size < 20; size += 1) await lab.patch('stays', { spec: { size } })
  await settle(lab)
  expect(await report()).toMatchObject({
    ready: true,
    checks: {
      queue: { ok: true, objects: 1, waiting: 1, longestWaitSeconds: 0 },
      election: { ok: true, state: 'standing-by' },
    },
  })
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await settle(lab)
  expect(await report()).toMatchObject({
    ready: true,
    checks: { queue: { objects: 0 }, election: { state: 'leading' } },
  })
})

test('a Lease is not released while a handler of the stopped leader still runs, and expires by itself', async () => {
  const replicas = new Replicas(lab)
  let release = (): void => {}
  await replicas.start('a', (kopf) => {
    kopf.on.create(lab.widgets, { id: 'c' }, async ({ name }) => {
      replicas.calls.push(`a creates ${name}`)
      await new Promise<void>((resolve) => (release = resolve))
    })
  })
  await replicas.start('b')
  await lab.create('one')
  await lab.until(() => replicas.calls.length === 1)
  await lab.stop(replicas.running['a']!)
  const stoppedMs = lab.clock.now()
  expect(replicas.calls).toEqual(['a creates one'])
  await untilHeldBy(lab, 'b')
  // The Lease was renewed while the leader waited for the handler, and is valid for its whole duration after that.
  const { leaseDuration, retryPeriod } = electionIn(lab)
  expect((lab.clock.now() - stoppedMs) / 1000).toBeGreaterThan(leaseDuration - retryPeriod - 1)
  release()
})

test('the observer of a candidate gets the existing objects once the candidate leads', async () => {
  const replicas = new Replicas(lab)
  await lab.create('one', { spec: {} })
  await lab.create('two', { spec: {} })
  await replicas.start('a')
  await untilHandled(lab, 'one')
  await untilHandled(lab, 'two')
  const notebook = new RecordingObserver()
  await replicas.start('b', undefined, { observer: notebook.observer })
  await settle(lab)
  expect(notebook.objects['widgets']).toBe(2)
  expect(notebook.found).toBe(0)
  await lab.stop(replicas.running['a']!)
  await lab.until(() => notebook.found > 0 && notebook.isSettled)
  expect(notebook.outcomes).toEqual({ unchanged: 2 })
})
