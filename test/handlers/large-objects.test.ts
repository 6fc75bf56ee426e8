/** Large objects whose parsed JSON takes 21 times the memory of its text: while they are idle, they are kept as text. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Operator } from 'kopf'
import { expect, test, vi } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const count = 6
const size = 200_000
const dense = Array.from({ length: Math.floor(size / 3) }, () => ({}))

async function heapUsed(): Promise<number> {
  await new Promise(setImmediate)
  collect()
  return process.memoryUsage().heapUsed
}

test('idle objects are not kept parsed', async () => {
  const handled = new Set<string>()
  const kopf = new Operator()
  kopf.index(lab.widgets, { id: 'sizes' }, ({ name, spec }) => ({ [name]: Object.keys(spec).length }))
  kopf.on.event(lab.widgets, { id: 'event' }, ({ spec }) => void Object.keys(spec))
  kopf.on.create(lab.widgets, { id: 'create' }, ({ name }) => void handled.add(name))
  await lab.start(kopf)
  await lab.create('first', { spec: { x: [] } })
  await lab.until(() => handled.has('first'))
  const before = await heapUsed()
  for (let index = 0; index < count; index += 1) await lab.create(`dense-${index}`, { spec: { x: dense } })
  await lab.create('last', { spec: { x: [] } })
  await lab.until(() => handled.size === count + 2)
  // Parsed, they would take 21 times their text. The embedded server, in this process, keeps several states of each as text.
  expect((await heapUsed()) - before).toBeLessThan(12 * count * size)
}, 120_000)

test('a large object is parsed once while it is handled', async () => {
  const handled = new Set<string>()
  const kopf = new Operator()
  kopf.index(lab.widgets, { id: 'sizes' }, ({ name, spec }) => ({ [name]: Object.keys(spec).length }))
  kopf.on.event(lab.widgets, { id: 'event' }, ({ spec }) => void Object.keys(spec))
  kopf.on.create(lab.widgets, { id: 'create' }, ({ spec }) => void Object.keys(spec))
  kopf.on.delete(lab.widgets, { id: 'delete' }, () => {})
  kopf.timer(lab.widgets, { id: 'timer', interval: 60 }, ({ name }) => void handled.add(name))
  const parse = vi.spyOn(JSON, 'parse')
  await lab.start(kopf)
  await lab.create('dense', { spec: { once: dense } })
  await lab.until(() => handled.has('dense'))
  // The embedded server is in this process too, and parses whole objects.
  const parsed = parse.mock.calls.filter(([text]) => text.startsWith('{"once":[{},'))
  parse.mockRestore()
  // Parsed for the index and for the handlers: if the first value is collected in between, each parses its own.
  expect(parsed.length).toBeGreaterThan(0)
  expect(parsed.length).toBeLessThanOrEqual(2)
}, 120_000)
