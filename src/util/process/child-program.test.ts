import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../async/clock.ts'
import { captureProgram, type ProgramOptions } from './child-program.ts'

const running = (code: string, options: Partial<ProgramOptions> = {}): ProgramOptions => ({
  file: process.execPath,
  args: ['-e', code],
  env: {},
  clock: systemClock,
  signal: new AbortController().signal,
  ...options,
})

test('the output, the errors and the exit status of a program are captured separately', async () => {
  const code = 'process.stdout.write("out"); process.stderr.write(process.env.SAID); process.exitCode = 4'
  const printed = await captureProgram(running(code, { env: { SAID: 'err' } }))
  expect(printed).toEqual({ status: 4, stdout: 'out', stderr: 'err' })
})

test('a program that does not exist is an error', async () => {
  const options = running('', { file: 'kopf-no-such-program' })
  await expect(captureProgram(options)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a program that does not end is killed with the signal, also if its children hold its output', async () => {
  const ending = new AbortController()
  const child =
    'require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 3000)"], { stdio: "inherit" })'
  const code = `process.on("SIGTERM", () => process.exit()); ${child}.on("spawn", () => process.exit())`
  const capturing = [captureProgram(running(code, { signal: ending.signal }))]
  capturing.push(captureProgram(running('setInterval(() => {}, 1000)', { signal: ending.signal })))
  const settled = Promise.allSettled(capturing)
  const reason = new Error('enough')
  ending.abort(reason)
  expect(await settled).toEqual(Array(2).fill({ status: 'rejected', reason }))
  await expect(captureProgram(running('', { signal: ending.signal }))).rejects.toBe(reason)
})

test('the captured output of a program is bounded', async () => {
  const printed = await captureProgram(running('process.stdout.write("x".repeat(3 << 20))'))
  expect(printed.stdout.length).toBeLessThanOrEqual(1 << 20)
})

test('a background program is killed together with the programs that it has started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-background-'))
  const file = join(folder, 'pid')
  // As the command of TypeScript 7, which waits for another program synchronously.
  const inner = `require("node:fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`
  const code = `require("node:child_process").execFileSync(process.execPath, ["-e", ${JSON.stringify(inner)}])`
  const ending = new AbortController()
  const settled = Promise.allSettled([captureProgram(running(code, { signal: ending.signal, isBackground: true }))])
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8'), { timeout: 10_000 }).toMatch(/^\d+$/)
  ending.abort(new Error('enough'))
  await settled
  const isRunning = () => {
    try {
      return process.kill(Number(readFileSync(file, 'utf8')), 0)
    } catch {
      return false
    }
  }
  await expect.poll(isRunning, { timeout: 10_000 }).toBe(false)
  rmSync(folder, { recursive: true })
})
