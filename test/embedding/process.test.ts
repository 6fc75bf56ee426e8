/** What is left in a process whose operators have stopped: nothing. It ends by itself. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Left {
  readonly listeners: unknown
  readonly resources: readonly string[]
}

const flags = ['--import', 'tsx', '--import', './test/support/tsx-in-threads.mjs', '--conditions=source']

test('a program ends by itself after its operators have stopped, and they leave nothing behind', async () => {
  const program = 'test/embedding/programs/stop.ts'
  // Not killed by us: what keeps it alive would make this fail.
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
    // The blocked program cannot tell that the first signal has come: the second one is sent until it is taken as another.
    if (signals === 0) setInterval(() => child.kill('SIGTERM'), 600).unref()
    signals += 1
  }
  expect(await ended).toEqual([1, null])
  expect(said).toMatch(/Handler 'endless' has blocked the event loop .*, and a second signal has come/)
}, 60_000)

/** What was there before may have gone by itself meanwhile: the loader of TypeScript connects to its cache when it starts. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...all]
  for (const one of others) if (left.includes(one)) left.splice(left.indexOf(one), 1)
  return left
}
