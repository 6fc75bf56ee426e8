import { expect, test } from 'vitest'
import { Gate } from './gate.ts'

test('who waits gets in when it is opened, and who comes later at once', async () => {
  const gate = new Gate()
  const signal = new AbortController().signal
  const waiting = [gate.pass(signal), gate.pass(undefined), gate.opened]
  gate.open()
  await Promise.all(waiting)
  await gate.pass(signal)
})

test('who has to go meanwhile is told why', async () => {
  const gate = new Gate()
  const leaving = new AbortController()
  const waiting = gate.pass(leaving.signal)
  leaving.abort('dinner')
  await expect(waiting).rejects.toBe('dinner')
  await expect(gate.pass(leaving.signal)).rejects.toBe('dinner')
})

test('an open gate is open also for those who have to go', async () => {
  const gate = new Gate()
  gate.open()
  await expect(gate.pass(AbortSignal.abort())).resolves.toBeUndefined()
})
