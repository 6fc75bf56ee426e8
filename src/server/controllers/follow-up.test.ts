import { expect, test } from 'vitest'
import { badRequest } from '../status.ts'
import { FollowUp } from './follow-up.ts'

const done = () => Promise.resolve()

test('work is done soon, but never inside of what asked for it', async () => {
  const worked: string[] = []
  const followUp = new FollowUp<string>((key) => worked.push(key))
  followUp.add('a')
  expect(worked).toEqual([])
  await done()
  expect(worked).toEqual(['a'])
})

test('each key is worked on once, however often it was asked for, in the order of the first asking', async () => {
  const worked: string[] = []
  const followUp = new FollowUp<string>((key) => worked.push(key))
  for (const key of ['b', 'a', 'b', 'a']) followUp.add(key)
  await done()
  expect(worked).toEqual(['b', 'a'])
})

test('work that asks for more gets it, after itself', async () => {
  const worked: number[] = []
  const followUp: FollowUp<number> = new FollowUp((key) => {
    if (key > 0) followUp.add(key - 1)
    worked.push(key)
  })
  followUp.add(3)
  await done()
  await done()
  expect(worked).toEqual([3, 2, 1, 0])
})

test('what is refused keeps nothing else from being done', async () => {
  const worked: string[] = []
  const followUp = new FollowUp<string>((key) => {
    if (key === 'refused') throw badRequest('no')
    worked.push(key)
  })
  for (const key of ['a', 'refused', 'b']) followUp.add(key)
  await done()
  followUp.add('c')
  await done()
  expect(worked).toEqual(['a', 'b', 'c'])
})
