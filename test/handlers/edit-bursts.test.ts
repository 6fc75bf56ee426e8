import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { handledOf, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test('a burst of edits is handled in few runs and writes, the first at once, and the last state is handled', async () => {
  const edits = lab.isReal ? 300 : 1000
  const seen: unknown[] = []
  let events = 0
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => void seen.push(spec['n']))
  kopf.on.event(lab.widgets, { id: 'e' }, ({ event }) => {
    if (event.type === 'MODIFIED') events += 1
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('stormy', { spec: { n: 0 } })
  await untilHandled(lab, 'stormy')
  await lab.elapse(2)
  wire.requests.length = 0
  for (let n = 1; n <= edits; n += 1) {
    await lab.patch('stormy', { spec: { n } })
    await lab.elapse(0.01)
    if (n === 1) {
      await lab.until(() => seen.length > 0)
      expect(seen[0]).toBeLessThanOrEqual(lab.isReal ? 5 : 1)
    }
  }
  const body = await untilHandled(lab, 'stormy')
  await lab.elapse(2)
  expect(handledOf(body)).toEqual({ spec: { n: edits } })
  expect(seen.at(-1)).toBe(edits)
  // With a status, each run has two writes: twenty at most.
  expect(seen.length).toBeLessThanOrEqual(lab.isReal ? 20 : 10)
  expect(wire.writes('stormy').length).toBeLessThanOrEqual(20)
  expect(events).toBeGreaterThanOrEqual(edits)
})

test.skipIf(lab.isReal)('edits with pauses between them are each handled at once', async () => {
  const delays: number[] = []
  let editedMs = 0
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, () => void delays.push(lab.clock.now() - editedMs))
  await lab.start(kopf)
  await lab.create('calm', { spec: { n: 0 } })
  await untilHandled(lab, 'calm')
  for (let n = 1; n <= 5; n += 1) {
    await lab.elapse(3)
    editedMs = lab.clock.now()
    await lab.patch('calm', { spec: { n } })
    await lab.until(() => delays.length === n)
  }
  expect(delays).toEqual([0, 0, 0, 0, 0])
})

test('a deletion or a retry does not wait for the end of a burst', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, ({ spec, retry }) => {
    calls.push(`u${spec['n']}`)
    if (spec['n'] === 2 && retry === 0) throw new TemporaryError('at once', { delay: 0 })
  })
  kopf.on.delete(lab.widgets, { id: 'd' }, () => void calls.push('d'))
  await lab.start(kopf)
  await lab.create('urgent', { spec: { n: 1 } })
  await untilHandled(lab, 'urgent')
  await lab.patch('urgent', { spec: { n: 2 } })
  await untilHandled(lab, 'urgent')
  expect(calls).toEqual(['u2', 'u2'])
  await lab.patch('urgent', { spec: { n: 3 } })
  await lab.delete('urgent')
  await lab.untilGone('urgent')
  expect(calls.at(-1)).toBe('d')
})
