import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { isProcessThere, processIdentity } from './processes.ts'

test('this process is there', () => {
  expect(processIdentity()).toMatch(new RegExp(`^${process.pid}-\\d+$`))
  expect(isProcessThere(processIdentity())).toBe(true)
})

test('one that was started at another time is not this one, although it has its number', () => {
  // Only Linux tells when a process was started; elsewhere the number has to do.
  expect(isProcessThere(`${process.pid}-1`)).toBe(process.platform !== 'linux')
})

test('one that has ended is not there', async () => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  const { pid } = child
  await once(child, 'exit')
  expect(isProcessThere(`${pid}-0`)).toBe(false)
})
