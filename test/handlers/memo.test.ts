import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test('every object has a memo of its own, made as the factory says, and shared by its handlers', async () => {
  const kopf = new Operator({ memo: () => ({ calls: 0, shared: { names: [] as string[] } }) })
  const seen: string[] = []
  const count = ({ name, memo }: { name: string; memo: { calls: number; shared: { names: string[] } } }) => {
    memo.calls += 1
    memo.shared.names.push(name)
    seen.push(`${name} ${memo.calls}`)
  }
  kopf.on.create(lab.widgets, { id: 'c' }, count)
  kopf.on.update(lab.widgets, { id: 'u' }, count)
  kopf.on.event(lab.widgets, { id: 'e', labels: { spy: 'yes' } }, count)
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  await lab.create('two', { spec: { n: 1 } })
  await untilHandled(lab, 'two')
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual(['one 1', 'two 1', 'one 2'])
})

test('the memo of startup handlers is what the objects get copies of', async () => {
  const kopf = new Operator({ memo: () => ({ size: 1 }) })
  const seen: number[] = []
  kopf.on.startup(({ memo }) => {
    memo.size = 7
  })
  kopf.on.create(lab.widgets, ({ memo }) => {
    seen.push(memo.size)
    memo.size += 1
  })
  await lab.start(kopf)
  for (const name of ['one', 'two']) {
    await lab.create(name, { spec: {} })
    await untilHandled(lab, name)
  }
  expect(seen).toEqual([7, 7])
})

test('without a factory, anything can be put on it', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, ({ memo }) => {
    memo['anything'] = 1
  })
  kopf.on.update(lab.widgets, ({ memo }) => void seen.push(memo['anything']))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual([1])
})

test('an object that was deleted and created again starts afresh', async () => {
  const kopf = new Operator({ memo: () => ({ calls: 0 }) })
  const seen: number[] = []
  kopf.on.create(lab.widgets, ({ memo }) => {
    memo.calls += 1
    seen.push(memo.calls)
  })
  await lab.start(kopf)
  for (let round = 0; round < 2; round += 1) {
    await lab.create('phoenix', { spec: {} })
    await untilHandled(lab, 'phoenix')
    await lab.delete('phoenix')
    await lab.untilGone('phoenix')
  }
  expect(seen).toEqual([1, 1])
})
