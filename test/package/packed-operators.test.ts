/** The packed package as users have it: running operators, and creating new ones. */
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { Folder, KopfCommand, RunCommand, stopCommands } from '../cli/run-support.ts'
import { Project } from './packed-project.ts'

const objects = resolve('examples/01-minimal/object.yaml')
const own = 'node_modules/kopf/dist/cli/main.js'

const folders = new Set<Folder>()

afterEach(async () => {
  await stopCommands()
  for (const folder of folders) folder.remove()
  folders.clear()
})

/** Starts `kopf run` for a file of the project, with its own command or another one. */
function start(project: Project, file: string, command = join(project.path, own)): RunCommand {
  const folder = new Folder([command])
  folders.add(folder)
  return new RunCommand(folder, [join(project.path, file), '--embedded', '--apply', objects])
}

const operator = `
import { inWorker, Operator, TemporaryError } from 'kopf'
const kopf: Operator = new Operator()
kopf.on.create('kopfexamples', { id: 'later' }, ({ retry, logger }) => {
  if (retry === 0) throw new TemporaryError('not yet', { delay: 0 })
  logger.info('here we are')
})
kopf.on.create('kopfexamples', { id: 'wrong' }, async function wrong({ name }: { name: string }) {
  await Promise.resolve()
  fail(name)
})
kopf.on.create('kopfexamples', inWorker(new URL('./heavy.ts', import.meta.url)))
function fail(name: string): never {
  throw new RangeError(name + ' is too far')
}
export default kopf
`
const heavy = `
export default function heavy({ name, logger }: { name: string; logger: { info(text: string): void } }): void {
  logger.info(name + ' in a thread')
}
`

describe('operators with the packed package', { timeout: 120_000 }, () => {
  test('an operator runs on the embedded server with worker threads, and its stack traces have its own lines only', async () => {
    using project = Project.withKopf()
    project.write({ 'operator.ts': operator, 'heavy.ts': heavy })
    const one = await start(project, 'operator.ts').until(/here we are[\s\S]*in a thread|in a thread[\s\S]*here we are/)
    await one.until(/is too far\n {4}at/)
    expect(one.stderr).toContain("Handler 'later' failed temporarily: not yet")
    expect(one.stderr).toContain('kopf-example-1 in a thread')
    expect(one.stderr).toMatch(
      /RangeError: kopf-example-1 is too far\n {4}at fail \(.*operator\.ts:14:9\)\n {4}at .*wrong \(.*operator\.ts:10:3\)\n\[/,
    )
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('kopf build of the packed package writes a program that runs in an empty folder', async () => {
    using project = Project.withKopf()
    project.write({ 'operator.ts': operator, 'heavy.ts': heavy })
    const built = await project.node(own, 'build', 'operator.ts', '--json')
    expect([built.code, built.stderr]).toEqual([0, ''])
    const { packages, bytes } = JSON.parse(built.stdout) as { packages: Array<{ name: string }>; bytes: number }
    expect(packages.map(({ name }) => name)).toEqual(['kopf', 'operator'])
    expect(bytes).toBeLessThan(1_200_000)
    const bom = JSON.parse(readFileSync(join(project.path, 'dist/operator.sbom.json'), 'utf8'))
    expect(bom.components.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['commander', 'kopf', 'yaml']),
    )
    const empty = new Folder(['operator.js'])
    folders.add(empty)
    cpSync(join(project.path, 'dist'), empty.path, { recursive: true })
    const kubeconfig = join(empty.path, 'kubeconfig')
    const server = { path: project.path, temporary: empty.temporary, command: [own] }
    await new KopfCommand(server, ['server', '--kubeconfig', kubeconfig, '-f', objects]).until(/is ready at/)
    const one = await new KopfCommand(empty, ['-A', '--kubeconfig', kubeconfig]).until(/in a thread/)
    await one.until(/is too far\n {4}at fail \(.*operator\.ts:14:9\)/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('kopf of another installation runs an operator with the copy of kopf in the operator’s project', async () => {
    using project = Project.withKopf()
    const text = operator.replace(
      'export default',
      "console.log('its own copy is', import.meta.resolve('kopf'))\nexport default",
    )
    project.write({
      'operator.mjs': text.replaceAll(/: (Operator|never|string|\{ name: string \})/g, ''),
      'heavy.ts': heavy,
    })
    using elsewhere = Project.withKopf()
    const one = await start(project, 'operator.mjs', join(elsewhere.path, own)).until(/here we are/)
    expect(one.stdout).toContain(`its own copy is file://${project.path}/node_modules/kopf/dist/index.js`)
    expect(one.stderr).toContain("Handler 'later' failed temporarily: not yet")
  })
})

describe('new operators', { timeout: 300_000 }, () => {
  test('an operator of kopf init passes its tests after npm install', async () => {
    using project = Project.withKopf()
    const made = await project.run('npx', ['kopf', 'init', 'mine', '--kind', 'Database', '--group', 'acme.dev'])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('mine is ready') })
    const file = join(project.path, 'mine/package.json')
    const description = JSON.parse(readFileSync(file, 'utf8'))
    description.dependencies.kopf = `file:${inject('tarball')}`
    project.write({ 'mine/package.json': JSON.stringify(description) })
    const npm = (...args: string[]) => project.run('npm', ['--prefix', 'mine', ...args])
    expect(await npm('install', '--no-audit', '--no-fund')).toMatchObject({ code: 0 })
    const { code, stdout } = await npm('test')
    expect(stdout).toMatch(/pass 1\n/)
    expect(code).toBe(0)
  })

  test('an operator that is created from a checkout of the repository installs it and passes its tests', async () => {
    using project = new Project()
    const made = await project.node(resolve('dist/cli/main.js'), 'init', 'mine', '--install')
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('mine is ready') })
    const { code, stdout } = await project.run('npm', ['--prefix', 'mine', 'test'])
    expect(stdout).toMatch(/pass 1\n/)
    expect(code).toBe(0)
  })

  test('npm create kopf creates an operator', async () => {
    using project = new Project()
    project.write({ 'package.json': '{ "private": true }' })
    const packages = [inject('tarball'), inject('createTarball')]
    const installed = await project.run('npm', ['install', '--no-audit', '--no-fund', ...packages])
    expect(installed).toMatchObject({ code: 0 })
    const made = await project.run('npm', ['create', '--no-install', 'kopf', 'mine', '--', '--no-install'])
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('mine is ready') })
    expect(readdirSync(join(project.path, 'mine'))).toContain('operator.ts')
  })
})
