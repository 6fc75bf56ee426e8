import { type Lifecycle, lifecycles, Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()
const ids = ['a', 'b', 'c']

/** The calls for one object with three handlers, of which the second is retried once. */
async function callsUnder(lifecycle: Lifecycle | undefined) {
  const kopf = new Operator(lifecycle === undefined ? {} : { lifecycle })
  const calls: string[] = []
  for (const id of ids) {
    kopf.on.create(lab.widgets, { id }, ({ retry }) => {
      calls.push(`${id}${retry}`)
      if (id === 'b' && retry === 0) throw new TemporaryError('later', { delay: 0 })
    })
  }
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  return { calls, writes: wire.writes('one').length }
}

describe('lifecycles', () => {
  test.each([
    ['all at once by default', undefined, ['a0', 'b0', 'c0', 'b1']],
    ['all at once', lifecycles.allAtOnce, ['a0', 'b0', 'c0', 'b1']],
    ['one by one', lifecycles.oneByOne, ['a0', 'b0', 'c0', 'b1']],
    ['asap', lifecycles.asap, ['a0', 'b0', 'c0', 'b1']],
    ['a function of the user', ((handlers) => handlers.slice(-1)) as Lifecycle, ['c0', 'b0', 'a0', 'b1']],
  ])('handlers are called in the order of the lifecycle: %s', async (_, lifecycle, expected) => {
    const { calls, writes } = await callsUnder(lifecycle)
    expect(calls).toEqual(expected)
    expect(writes).toBe(2)
  })

  test.each([
    ['randomized', lifecycles.randomized],
    ['shuffled', lifecycles.shuffled],
  ])('all handlers are called in a random order by the lifecycle: %s', async (_, lifecycle) => {
    const { calls, writes } = await callsUnder(lifecycle)
    expect([...calls].sort()).toEqual(['a0', 'b0', 'b1', 'c0'])
    expect(calls.at(-1)).toBe('b1')
    expect(writes).toBe(2)
  })
})

test('a lifecycle can be given for one run', async () => {
  const kopf = new Operator({ lifecycle: lifecycles.asap })
  const calls: string[] = []
  for (const id of ids) kopf.on.create(lab.widgets, { id }, () => void calls.push(id))
  await lab.start(kopf, { lifecycle: (handlers) => [...handlers].reverse() })
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  expect(calls).toEqual(['c', 'b', 'a'])
})
