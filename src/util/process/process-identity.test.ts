import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { isProcessAlive, processIdentity } from './process-identity.ts'

test('the identity of this process is alive', () => {
  expect(processIdentity()).toMatch(new RegExp(`^${process.pid}-\\d+$`))
  expect(isProcessAlive(processIdentity())).toBe(true)
})

test('a process with the same number but another start time is not the same process', () => {
  // Only Linux has the start time of a process; other systems compare the number alone.
  expect(isProcessAlive(`${process.pid}-1`)).toBe(process.platform !== 'linux')
})

test('a process that has ended is not alive', async () => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  const { pid } = child
  await once(child, 'exit')
  expect(isProcessAlive(`${pid}-0`)).toBe(false)
})
