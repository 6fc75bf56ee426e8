import { afterEach, expect, test, vi } from 'vitest'
import { createIdentity, personalIdentity } from './identity.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const nowMs = Date.UTC(2026, 0, 31, 12, 5, 9)

test('the identity of a pod is exactly its name', async () => {
  vi.stubEnv('POD_ID', 'operator-7d9c5b8f4-x2v8k')
  expect(await createIdentity(nowMs, () => 0)).toBe('operator-7d9c5b8f4-x2v8k')
  expect(await personalIdentity()).toBe('operator-7d9c5b8f4-x2v8k')
})

test('the identity outside of a pod is user@host, and a run adds a timestamp and a random part', async () => {
  vi.stubEnv('POD_ID', '')
  vi.stubEnv('LOGNAME', 'somebody')
  vi.stubEnv('USER', 'else')
  const person = await personalIdentity()
  expect(person).toMatch(/^somebody@[^@/]+$/)
  expect(person).not.toMatch(/@localhost$|\.local$/)
  expect(await createIdentity(nowMs, () => 0)).toBe(`${person}/20260131120509/aaa`)
  expect(await createIdentity(nowMs, () => 0.999)).toBe(`${person}/20260131120509/999`)
})

test('the identity takes the user name from the system if the environment has none', async () => {
  for (const name of ['POD_ID', 'LOGNAME', 'USER', 'LNAME', 'USERNAME']) vi.stubEnv(name, '')
  expect(await personalIdentity()).toMatch(/^[^@/]+@[^@/]+$/)
})
