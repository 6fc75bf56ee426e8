import { hostname, userInfo } from 'node:os'
import { afterEach, expect, test, vi } from 'vitest'
import { makeIdentity } from './identity.ts'

afterEach(() => vi.unstubAllEnvs())

test('is what the pod is called, to the letter', () => {
  vi.stubEnv('POD_ID', 'databases-5d9c7-x2x4z')
  expect(makeIdentity(0)).toBe('databases-5d9c7-x2x4z')
})

test('else tells who started it, where and when, and is another one each time', () => {
  vi.stubEnv('POD_ID', '')
  const [one, other] = [makeIdentity(Date.UTC(2030, 0, 31, 12, 5, 6, 789)), makeIdentity(0)]
  expect(one.split('/').slice(0, 2)).toEqual([`${userInfo().username}@${hostname()}`, '20300131120506'])
  expect(one.split('/')[2]).toMatch(/^[a-z0-9]{3}$/)
  expect(one).not.toBe(other)
})
