/** A process whose operators have stopped has no remains of them, and ends by itself. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Left {
  readonly listeners: unknown
  readonly resources: readonly string[]
}

const flags = ['--import', 'tsx', '--import', './test/support/typescript-in-threads.mjs', '--conditions=source']

test('a program ends by itself after its operators have stopped, without remaining listeners and resources', async () => {
  const program = 'test/embedding/programs/stop.ts'
  // The program is not killed: the test fails if it does not end by itself.
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { timeout: 60_000 })
  const { before, after, rejections } = JSON.parse(stdout) as { before: Left; after: Left; rejections: unknown[] }
  expect(after.listeners).toEqual(before.listeners)
  expect(without(after.resources, before.resources)).toEqual([])
  expect(rejections).toEqual([])
}, 90_000)

test('a handler that blocks run() of a program is named, and a second signal ends the program', async () => {
  const program = [...flags, 'test/embedding/programs/block.ts']
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  let said = ''
  let signals = 0
  for await (const text of child.stderr.setEncoding('utf8')) {
    said += text
    if (!/Handler 'endless' blocks the event loop at .*block\.ts/.test(said)) continue
    if (signals === 0) child.kill('SIGTERM')
    // The blocked program cannot report the first signal: signals are sent until one counts as the second.
    if (signals === 0) setInterval(() => child.kill('SIGTERM'), 600).unref()
    signals += 1
  }
  expect(await ended).toEqual([1, null])
  expect(said).toMatch(/Handler 'endless' has blocked the event loop .*, and a second signal has come/)
}, 60_000)

/** The entries of `all` without those of `others`. An entry of before may have ended, such as the connection of tsx to its cache. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...all]
  for (const one of others) if (left.includes(one)) left.splice(left.indexOf(one), 1)
  return left
}
