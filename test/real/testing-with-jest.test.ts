/** The testing kit with jest, which npm installs for this test. In the project "real", since that runs on one version of Node only. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { expect, test } from 'vitest'
import { UserProject } from '../testing/user-project.ts'

test('the testing kit works with jest and ES modules', { timeout: 400_000 }, async () => {
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
