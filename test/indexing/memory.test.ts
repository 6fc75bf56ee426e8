/** What is kept of objects: what was indexed, and no more. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Index, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Objects are there until the references to them, which were just made, have been forgotten and collected. */
async function untilCollected(refs: readonly WeakRef<object>[]): Promise<void> {
  await lab.until(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    return refs.every((ref) => ref.deref() === undefined)
  })
}

test('of an object that is only indexed, no more is kept than its values', async () => {
  const bodies: WeakRef<object>[] = []
  const kopf = new Operator()
  const sizes = kopf.index(lab.widgets, ({ body, name, spec }) => {
    bodies.push(new WeakRef(body))
    return [[name, spec['n']]]
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => sizes.size === 1)
  await untilCollected(bodies)
  expect(sizes.get('one')).toEqual([1])
})

test.each([
  ['by itself', false],
  ['beside other handlers', true],
])('of an object that was indexed %s, nothing is kept after its end', async (_, isWatched) => {
  const bodies: WeakRef<object>[] = []
  const kopf = new Operator()
  const whole: Index<string, object> = kopf.index(lab.widgets, { id: 'whole' }, ({ body, name }) => {
    bodies.push(new WeakRef(body))
    return [[name, body as object]]
  })
  kopf.index(lab.widgets, { id: 'failing' }, () => {
    throw new TemporaryError('later', { delay: 3600 })
  })
  if (isWatched) kopf.on.event(lab.widgets, () => {})
  await lab.start(kopf)
  await lab.create('one')
  await lab.until(() => whole.size === 1)
  await lab.delete('one')
  await lab.until(() => whole.size === 0)
  // What is read last may stay with whoever reads it until the next one comes.
  await lab.create('two')
  await lab.until(() => whole.size === 1)
  await untilCollected(bodies.slice(0, 1))
})
