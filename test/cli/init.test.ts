/** `kopf init`: the folder of a new operator, as its user finds it, and what becomes of it. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

let folder: Folder

beforeEach(() => {
  folder = new Folder()
})
afterEach(async () => {
  await stopCommands()
  folder.remove()
})

async function init(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['init', ...args])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

/** What `npm install` would bring. */
function install(project: string): void {
  const installed = (name: string) => join(folder.path, project, 'node_modules', name)
  mkdirSync(installed('@types'), { recursive: true })
  symlinkSync(inject('package'), installed('kopf'))
  for (const name of ['zod', 'tsx', 'typescript', '@types/node'])
    symlinkSync(resolve('node_modules', name), installed(name))
}

describe('a new operator', { timeout: 120_000 }, () => {
  test('type-checks and passes its test at once', async () => {
    const { exit, stdout, stderr } = await init('databases', '--kind', 'Database', '--group', 'acme.dev')
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).toContain('npm install')
    install('databases')
    const cwd = join(folder.path, 'databases')
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    await promisify(execFile)(process.execPath, ['node_modules/typescript/lib/tsc.js'], { cwd, env })
    const tests = ['--import', 'tsx', '--test', 'operator.test.ts']
    const { stdout: told } = await promisify(execFile)(process.execPath, tests, { cwd, env })
    expect(told).toMatch(/a database has its message[\s\S]*pass 1\n/)
  })

  test('runs at once, with the names that were given', async () => {
    await init('databases', '--kind', 'Database', '--group', 'acme.dev')
    install('databases')
    const args = ['run', 'databases/operator.ts', '--embedded', '--apply', 'databases/object.yaml', '-n', 'default']
    const running = new KopfCommand(folder, args)
    await running.until(/\[default\/first\] Hello, Ada!/)
    expect(running.stdout).toContain('customresourcedefinitions.apiextensions.k8s.io/databases.acme.dev')
  })

  test('has a name that npm and Kubernetes accept, whatever the folder is called, and asks nothing of who is not there', async () => {
    expect(await init('My Ópera tor')).toMatchObject({ exit: 0, stderr: '' })
    const text = readFileSync(join(folder.path, 'My Ópera tor', 'package.json'), 'utf8')
    expect(JSON.parse(text)).toMatchObject({
      name: 'my-pera-tor',
      dependencies: { kopf: expect.stringMatching(/^\d/) },
    })
    expect(readdirSync(join(folder.path, 'My Ópera tor'))).toContain('.gitignore')
  })
})

test('npm create kopf does the same, with nothing else installed', { timeout: 60_000 }, async () => {
  const installed = join(folder.path, 'node_modules')
  mkdirSync(join(installed, 'create-kopf'), { recursive: true })
  // A copy: a link would be followed, to where there is no package beside it.
  cpSync('packages/create-kopf', join(installed, 'create-kopf'), { recursive: true })
  symlinkSync(inject('package'), join(installed, 'kopf'))
  const command = join(installed, 'create-kopf/create.js')
  const create = (...args: string[]) => promisify(execFile)(process.execPath, [command, ...args], { cwd: folder.path })
  expect((await create('mine')).stdout).toContain('mine is ready')
  expect(readdirSync(join(folder.path, 'mine'))).toContain('operator.ts')
  await expect(create('mine')).rejects.toMatchObject({ code: 1 })
})

describe('what is refused', { timeout: 60_000 }, () => {
  test('a folder with something in it, which stays as it is', async () => {
    folder.write({ 'mine/operator.ts': 'mine' })
    const { exit, stdout, stderr } = await init('mine')
    expect([exit, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      'kopf: Cannot write an operator into "mine": it is not empty (operator.ts), and nothing is overwritten; name a new folder\n',
    )
    expect(readdirSync(join(folder.path, 'mine'))).toEqual(['operator.ts'])
    expect(readFileSync(join(folder.path, 'mine/operator.ts'), 'utf8')).toBe('mine')
  })

  test('a kind that cannot be one, before anything is written', async () => {
    const { exit, stderr } = await init('databases', '--kind', 'data base')
    expect(exit).toBe(1)
    expect(stderr).toContain('Cannot define the resource "data base": its kind must be in CamelCase')
    expect(existsSync(join(folder.path, 'databases'))).toBe(false)
  })
})
