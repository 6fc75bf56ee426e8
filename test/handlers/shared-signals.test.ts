/** Many listeners on one signal are not a memory leak, and Node.js must not warn of one. */
import { Operator } from 'kopf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

let warnings: string[]
const collect = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`)

beforeEach(() => {
  warnings = []
  process.on('warning', collect)
})

afterEach(() => {
  process.off('warning', collect)
})

/** Adds more than the ten listeners after which Node.js warns. */
function listenOften(...signals: AbortSignal[]): void {
  for (const signal of signals) {
    for (let count = 0; count < 20; count += 1) signal.addEventListener('abort', () => {})
  }
}

test('handlers can add many listeners to their signals without a warning', async () => {
  const kopf = new Operator()
  const called = new Set<string>()
  kopf.on.startup(({ signal }) => {
    listenOften(signal)
    called.add('startup')
  })
  kopf.on.create(lab.widgets, ({ signal }) => {
    listenOften(signal)
    called.add('create')
  })
  kopf.daemon(lab.widgets, { id: 'daemon' }, async ({ signal, stopped }) => {
    listenOften(signal, stopped.signal)
    called.add('daemon')
    await stopped.wait()
  })
  kopf.timer(lab.widgets, { id: 'timer', interval: 60 }, ({ signal, stopped }) => {
    listenOften(signal, stopped.signal)
    called.add('timer')
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => called.size === 4)
  await settle(lab)
  expect(warnings).toEqual([])
})

test('more than ten repeated Kubernetes events within a second are posted without a warning', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, async ({ recorder, clock }) => {
    for (let round = 0; round < 3; round += 1) {
      for (let number = 0; number < 15; number += 1) recorder.info('Repeated', `Event ${number}`)
      await clock.sleep(0.2)
    }
  })
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await settle(lab)
  expect(warnings).toEqual([])
})
