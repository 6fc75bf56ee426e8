/** The testing kit under jest, which is installed for this alone: here, because here everything runs once. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import { UserProject } from '../testing/user-project.ts'

test('jest runs it, as modules', { timeout: 400_000 }, async () => {
  using project = await UserProject.create('jest@30')
  project.writeTests('@jest/globals')
  for (const name of ['operator', 'orders.test']) {
    const text = readFileSync(join(project.path, `${name}.ts`), 'utf8').replace("'./operator.ts'", "'./operator.js'")
    project.write(`${name}.js`, (await transform(text, { loader: 'ts', target: 'node20' })).code)
  }
  const { code, output } = await project.run(process.execPath, [
    ...['--experimental-vm-modules', '--no-warnings', join('node_modules', 'jest', 'bin', 'jest.js')],
    ...['--detectOpenHandles', 'orders.test.js'],
  ])
  expect(output).toContain('Tests:       2 passed, 2 total')
  expect(output).not.toContain('open handle')
  expect(code).toBe(0)
})
