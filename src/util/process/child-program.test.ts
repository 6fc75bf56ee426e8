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
