/** Runs the tests that each project of the cookbook brings along, as `npm test` in its folder does. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const names = readdirSync('cookbook', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

test.each(names)('the cookbook project %s passes its own tests', { timeout: 120_000 }, async (name) => {
  const cwd = join('cookbook', name)
  const files = readdirSync(cwd).filter((file) => file.endsWith('.test.ts'))
  // The source of the package rather than dist/, which may be older.
  const args = ['--import', 'tsx', '--conditions=source', '--test', ...files]
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const done = await run(process.execPath, args, { cwd, env }).catch((error: { stdout: string }) => error)
  expect(done.stdout).toMatch(/^. pass [1-9]\d*$/m)
  expect(done.stdout).toMatch(/^. fail 0$/m)
})
