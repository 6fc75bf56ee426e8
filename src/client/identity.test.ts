import { afterEach, expect, test, vi } from 'vitest'
import { createIdentity, personalIdentity } from './identity.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const nowMs = Date.UTC(2026, 0, 31, 12, 5, 9)

test('a pod is known by its name, as it is', async () => {
  vi.stubEnv('POD_ID', 'operator-7d9c5b8f4-x2v8k')
  expect(await createIdentity(nowMs, () => 0)).toBe('operator-7d9c5b8f4-x2v8k')
  expect(await personalIdentity()).toBe('operator-7d9c5b8f4-x2v8k')
})

test('anybody else by who runs it, and where; a run also by when, and by chance', async () => {
  vi.stubEnv('POD_ID', '')
  vi.stubEnv('LOGNAME', 'somebody')
  vi.stubEnv('USER', 'else')
  const person = await personalIdentity()
  expect(person).toMatch(/^somebody@[^@/]+$/)
  expect(person).not.toMatch(/@localhost$|\.local$/)
  expect(await createIdentity(nowMs, () => 0)).toBe(`${person}/20260131120509/aaa`)
  expect(await createIdentity(nowMs, () => 0.999)).toBe(`${person}/20260131120509/999`)
})

test('where the environment does not say who it is, the system does', async () => {
  for (const name of ['POD_ID', 'LOGNAME', 'USER', 'LNAME', 'USERNAME']) vi.stubEnv(name, '')
  expect(await personalIdentity()).toMatch(/^[^@/]+@[^@/]+$/)
})
