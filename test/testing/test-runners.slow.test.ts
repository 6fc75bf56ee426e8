/** The testing kit of the built package under the test runners of users. For jest, see test/real/testing-with-jest.test.ts. */
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UserProject } from './user-project.ts'

let project: UserProject

beforeAll(async () => {
  project = await UserProject.create()
  project.link('tsx')
  project.link('vitest')
}, 120_000)

afterAll(() => project[Symbol.dispose]())

test('tests of a user project run with node:test and end by themselves', { timeout: 120_000 }, async () => {
  project.writeTests('node:test')
  const { code, output } = await project.run(process.execPath, ['--import', 'tsx', '--test', 'orders.test.ts'])
  expect(output).toMatch(/pass 2\n.*fail 0/)
  expect(code).toBe(0)
})

test('tests of a user project run with vitest', { timeout: 120_000 }, async () => {
  project.writeTests('vitest')
  const vitest = resolve('node_modules/vitest/vitest.mjs')
  const { code, output } = await project.run(process.execPath, [vitest, 'run', '--reporter=verbose'])
  expect(output).toContain('2 passed')
  expect(code).toBe(0)
})

test('KopfRunner in a user project finds the command of the package', { timeout: 120_000 }, async () => {
  project.write('main.ts', "export { kopf as default } from './operator.ts'\n")
  project.write(
    'runner.mjs',
    `import { KopfRunner } from 'kopf/testing'
    const runner = new KopfRunner(['run', 'main.ts', '--embedded'])
    await runner.until('is ready at https://')
    await runner.stop()
    console.log(runner.exitCode, runner.error)`,
  )
  expect(await project.run(process.execPath, ['runner.mjs'])).toEqual({ code: 0, output: '0 undefined\n' })
})
