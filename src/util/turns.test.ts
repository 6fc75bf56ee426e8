import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}

test('so many have their turn at once, and the others follow in their order', async () => {
  const turns = new Turns(2)
  const begun: number[] = []
  const ends: Array<() => void> = []
  for (const number of [1, 2, 3, 4]) {
    void turns.take().then((end) => {
      begun.push(number)
      ends.push(end)
    })
  }
  await settled()
  expect(begun).toEqual([1, 2])
  ends[1]!()
  await settled()
  expect(begun).toEqual([1, 2, 3])
  ends[0]!()
  await settled()
  expect(begun).toEqual([1, 2, 3, 4])
})

test('a turn that is ended twice lets one in, not two', async () => {
  const turns = new Turns(1)
  const begun: number[] = []
  const end = await turns.take()
  for (const number of [1, 2]) void turns.take().then(() => begun.push(number))
  end()
  end()
  await settled()
  expect(begun).toEqual([1])
})

test('who comes when nobody waits any more has a turn at once', async () => {
  const turns = new Turns(1)
  const end = await turns.take()
  end()
  await expect(turns.take()).resolves.toBeTypeOf('function')
})
