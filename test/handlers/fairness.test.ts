/** Objects of one namespace whose handlers take minutes, and what becomes of those of others meanwhile. */
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

/** Its handler notes the name, and does not return for those that are called `slow-…` before the test lets it. */
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

test('an object is handled at once while 200 of another namespace have handlers that hang', async () => {
  // Only turns count here: no place is given away because time has passed.
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

test('an object that was there at the start is handled at once, too', async () => {
  await createMany(lab.namespace, namesOf(100))
  await createIn(other, 'quick')
  const { kopf, calls, end } = createOperator({ slowAfter: null })
  await lab.start(kopf, { namespaces: [lab.namespace, other] })
  await lab.until(() => calls.includes('quick'))
  expect(calls.indexOf('quick')).toBeLessThanOrEqual(48)
  end()
  await lab.until(() => new Set(calls).size === 101)
})

test('a slow handler gives its place away to the next object, also in the same namespace, up to a limit', async () => {
  const { kopf, calls, end } = createOperator({ workerLimit: 4, slowAfter: lab.isReal ? 0.1 : 5, slowWorkerLimit: 20 })
  // Nothing else would let the time pass.
  kopf.timer(lab.widgets, { interval: 1 }, () => {})
  await lab.start(kopf)
  await createMany(lab.namespace, namesOf(40))
  // Half of the slow ones, and those that count.
  await lab.until(() => calls.length === 14)
  await lab.elapse(lab.isReal ? 1 : 50)
  expect(calls).toHaveLength(14)
  end()
  await lab.until(() => new Set(calls).size === 40)
})
