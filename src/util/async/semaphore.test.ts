import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}

test('a semaphore admits up to its limit, and the others in order', async () => {
  const turns = new Semaphore(2)
  const begun: number[] = []
  const ends: Array<() => void> = []
  for (const number of [1, 2, 3, 4]) {
    void turns.acquire().then((end) => {
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

test('a semaphore slot that is released twice admits one waiter', async () => {
  const turns = new Semaphore(1)
  const begun: number[] = []
  const end = await turns.acquire()
  for (const number of [1, 2]) void turns.acquire().then(() => begun.push(number))
  end()
  end()
  await settled()
  expect(begun).toEqual([1])
})

test('a semaphore without waiters admits at once', async () => {
  const turns = new Semaphore(1)
  const end = await turns.acquire()
  end()
  await expect(turns.acquire()).resolves.toBeTypeOf('function')
})
