import { expect, test } from 'vitest'
import { RecentLines } from './recent-lines.ts'
import type { ApiResource } from './resource.ts'
import type { Stored } from './storage/stored.ts'

const resource = {} as ApiResource
const megabyte = 1024 * 1024

function state(name: string): Stored {
  return { name } as Stored
}

function line(size: number): { type: string; resource: ApiResource; bytes: Uint8Array } {
  return { type: 'ADDED', resource, bytes: new Uint8Array(size) }
}

test('a line is found by the state it shows', () => {
  const lines = new RecentLines()
  const [one, other] = [state('one'), state('other')]
  const kept = line(1)
  lines.set(one, kept)
  expect(lines.get(one)).toBe(kept)
  expect(lines.get(other)).toBeUndefined()
})

test('the oldest go when there is too much', () => {
  const lines = new RecentLines()
  const states = ['a', 'b', 'c', 'd', 'e'].map(state)
  for (const one of states) lines.set(one, line(megabyte))
  expect(states.map((one) => lines.get(one) !== undefined)).toEqual([false, true, true, true, true])
})

test('a line that replaces another of the same state counts once', () => {
  const lines = new RecentLines()
  const [one, other] = [state('one'), state('other')]
  lines.set(other, line(megabyte))
  for (let time = 0; time < 10; time += 1) lines.set(one, line(2 * megabyte))
  expect(lines.get(other)).toBeDefined()
})
