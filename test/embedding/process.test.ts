/** What is left in a process whose operators have stopped: nothing. It ends by itself. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Left {
  readonly listeners: unknown
  readonly resources: readonly string[]
}

test('a program ends by itself after its operators have stopped, and they leave nothing behind', async () => {
  const flags = ['--import', 'tsx', '--import', './test/support/tsx-in-threads.mjs', '--conditions=source']
  const program = 'test/embedding/programs/stop.ts'
  // Not killed by us: what keeps it alive would make this fail.
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { timeout: 60_000 })
  const { before, after, rejections } = JSON.parse(stdout) as { before: Left; after: Left; rejections: unknown[] }
  expect(after.listeners).toEqual(before.listeners)
  expect(without(after.resources, before.resources)).toEqual([])
  expect(rejections).toEqual([])
}, 90_000)

/** What was there before may have gone by itself meanwhile: the loader of TypeScript connects to its cache when it starts. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...all]
  for (const one of others) if (left.includes(one)) left.splice(left.indexOf(one), 1)
  return left
}
