/** Only the values of an index are kept in memory, not the indexed objects. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Index, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Waits until all objects are garbage collected; a new WeakRef keeps its target until the next turn. */
async function untilCollected(refs: readonly WeakRef<object>[]): Promise<void> {
  await lab.until(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    return refs.every((ref) => ref.deref() === undefined)
  })
}

test('an object that is only indexed is not kept in memory apart from its values', async () => {
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
  ['alone', false],
  ['beside other handlers', true],
])('a deleted object that was indexed %s is not kept in memory', async (_, isWatched) => {
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
  // The stream reader may keep the last event until the next one arrives.
  await lab.create('two')
  await lab.until(() => whole.size === 1)
  await untilCollected(bodies.slice(0, 1))
})
