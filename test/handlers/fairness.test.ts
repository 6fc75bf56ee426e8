/** Slow handlers for objects of one namespace must not delay objects of another namespace. */
import { Operator, type Settings } from 'kopf'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()
const other = `${lab.namespace}-other`

beforeAll(async () => {
  await lab.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } })
})

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', `/apis/${lab.group}/v1/namespaces/${other}/widgets`)
})

afterAll(async () => {
  await lab.call('DELETE', `/api/v1/namespaces/${other}`)
})

const createIn = async (namespace: string, name: string) => {
  const path = `/apis/${lab.group}/v1/namespaces/${namespace}/widgets`
  const { status } = await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind: 'Widget', metadata: { name } })
  expect(status).toBe(201)
}

const createMany = (namespace: string, names: readonly string[]) =>
  Promise.all(names.map((name) => createIn(namespace, name)))

const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `slow-${index}`)

/** An operator whose handler records the name, and for `slow-…` does not return before the test lets it. */
function createOperator(queueing: Partial<Settings['queueing']>): { kopf: Operator; calls: string[]; end: () => void } {
  const calls: string[] = []
  const kopf = new Operator({ settings: { queueing: { exitTimeout: 1, ...queueing } } })
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  kopf.on.event(lab.widgets, async ({ name }) => {
    calls.push(name)
    if (name.startsWith('slow-')) await ended
  })
  return { kopf, calls, end }
}

test('an object is handled at once while 200 objects of another namespace have handlers that hang', async () => {
  // Only the order counts here: no slot is passed on because of elapsed time.
  const { kopf, calls, end } = createOperator({ slowAfter: null })
  await lab.start(kopf, { namespaces: [lab.namespace, other] })
  await createMany(lab.namespace, namesOf(200))
  await lab.until(() => calls.length === 48)
  await createIn(other, 'quick')
  await lab.until(() => calls.includes('quick'))
  expect(calls.indexOf('quick')).toBe(48)
  await createMany(other, ['second', 'third'])
  await lab.until(() => calls.includes('second') && calls.includes('third'))
  expect(calls).toHaveLength(51)
  end()
  await lab.until(() => new Set(calls).size === 203)
})

test('an object that existed at the start is handled at once while objects of another namespace hang', async () => {
  await createMany(lab.namespace, namesOf(100))
  await createIn(other, 'quick')
  const { kopf, calls, end } = createOperator({ slowAfter: null })
  await lab.start(kopf, { namespaces: [lab.namespace, other] })
  await lab.until(() => calls.includes('quick'))
  expect(calls.indexOf('quick')).toBeLessThanOrEqual(48)
  end()
  await lab.until(() => new Set(calls).size === 101)
})

test('a slow handler passes its slot to the next object, up to slowWorkerLimit', async () => {
  const { kopf, calls, end } = createOperator({ workerLimit: 4, slowAfter: lab.isReal ? 0.1 : 5, slowWorkerLimit: 20 })
  // The clock of the tests advances only while a timer waits.
  kopf.timer(lab.widgets, { interval: 1 }, () => {})
  await lab.start(kopf)
  await createMany(lab.namespace, namesOf(40))
  // Half of the slow slots and the four ordinary ones.
  await lab.until(() => calls.length === 14)
  await lab.elapse(lab.isReal ? 1 : 50)
  expect(calls).toHaveLength(14)
  end()
  await lab.until(() => new Set(calls).size === 40)
})
