/** `kopf init`: the folder of a new operator: its test, its run, its image. */
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import { KopfCommand, useFolder } from './run-support.ts'
import { interrupt, OnTerminal, stopTerminals } from './terminal-support.ts'

const folder = useFolder()

async function init(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['init', ...args])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

/** Links the packages that `npm install` would install. */
function install(project: string): void {
  const installed = (name: string) => join(folder.path, project, 'node_modules', name)
  mkdirSync(installed('@types'), { recursive: true })
  symlinkSync(inject('package'), installed('kopf'))
  for (const name of ['zod', 'tsx', 'typescript', '@types/node'])
    symlinkSync(resolve('node_modules', name), installed(name))
}

interface PodSpec {
  readonly containers: ReadonlyArray<{ readonly args: readonly string[] }>
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number }
}

/** An instruction of a Dockerfile: its name and its value. */
type Instruction = readonly [string, string]

/** The instructions of each stage of a Dockerfile. */
function toStages(dockerfile: string): Instruction[][] {
  const stages = dockerfile.split(/^(?=FROM )/m).slice(1)
  return stages.map((stage) => {
    const lines = stage.split('\n').filter((line) => /^[A-Z]/.test(line))
    return lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const)
  })
}

/** Follows the instructions of the build stage in a folder of its own: copies from the project, and runs the scripts of npm. */
async function followBuildStage(stage: readonly Instruction[], project: string, image: string): Promise<void> {
  const source = join(folder.path, project)
  const ignored = readFileSync(join(source, '.dockerignore'), 'utf8').trim().split('\n')
  const isCopied = (name: string) =>
    !ignored.some((pattern) => (pattern.startsWith('*') ? name.endsWith(pattern.slice(1)) : name === pattern))
  mkdirSync(join(folder.path, image))
  for (const [name, value] of stage) {
    if (name === 'COPY') {
      const names = value.split(' ').slice(0, -1)
      const present = names.includes('.') ? readdirSync(source) : names
      for (const one of present.filter(isCopied))
        cpSync(join(source, one), join(folder.path, image, one), { recursive: true })
    } else if (name === 'RUN' && value === 'npm ci') install(image)
    else if (name === 'RUN') {
      const script = value.match(/^npm run (\w+)$/)![1]!
      const { scripts } = JSON.parse(readFileSync(join(folder.path, image, 'package.json'), 'utf8'))
      const [command, ...args] = scripts[script].split(' ')
      expect(command).toBe('kopf')
      await promisify(execFile)(process.execPath, [inject('command'), ...args], { cwd: join(folder.path, image) })
    }
  }
}

describe('kopf init', { timeout: 120_000 }, () => {
  test('the operator from kopf init type-checks and passes its own test', async () => {
    const { exit, stdout, stderr } = await init('databases', '--kind', 'Database', '--group', 'acme.dev')
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).toContain('npm install')
    install('databases')
    const cwd = join(folder.path, 'databases')
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    await promisify(execFile)(process.execPath, ['node_modules/typescript/lib/tsc.js'], { cwd, env })
    const tests = ['--import', 'tsx', '--test', 'operator.test.ts']
    const { stdout: told } = await promisify(execFile)(process.execPath, tests, { cwd, env })
    expect(told).toMatch(/a database gets a message[\s\S]*pass 1\n/)
  })

  test('the operator from kopf init runs, with the given kind and group', async () => {
    await init('databases', '--kind', 'Database', '--group', 'acme.dev')
    install('databases')
    const args = ['run', 'databases/operator.ts', '--embedded', '--apply', 'databases/object.yaml', '-n', 'default']
    const running = new KopfCommand(folder, args)
    await running.until(/\[default\/first\] Hello, Ada!/)
    expect(running.stdout).toContain('customresourcedefinitions.apiextensions.k8s.io/databases.acme.dev')
  })

  test('the Dockerfile from kopf init builds an image that the Deployment of kopf manifests can run', async () => {
    await init('databases', '--kind', 'Database', '--group', 'acme.dev')
    const project = join(folder.path, 'databases')
    const operator = readFileSync(join(project, 'operator.ts'), 'utf8')
    folder.write({
      // `npm install` would create it.
      'databases/package-lock.json': '{}',
      'databases/lib/greet.ts': "export const greet = (name: string): string => 'Hello, ' + name + '!'\n",
      'databases/operator.ts': `import { greet } from './lib/greet.ts'\n${operator.replace(/`Hello, .*`/, 'greet(spec.name)')}`,
    })
    const [build = [], last = []] = toStages(readFileSync(join(project, 'Dockerfile'), 'utf8'))
    const of = (name: string) => last.filter(([one]) => one === name).map(([, value]) => value!)
    expect([of('FROM'), of('USER'), of('RUN')]).toEqual([[expect.stringContaining('nonroot')], ['65532:65532'], []])
    await followBuildStage(build, 'databases', 'build')
    expect(of('COPY')).toEqual(['--from=build /operator/dist ./'])
    const image = join(folder.path, 'image')
    cpSync(join(folder.path, 'build/dist'), image, { recursive: true })
    expect(readdirSync(image)).not.toContain('node_modules')
    install('databases')
    const { manifests } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')).scripts
    const [, ...printing] = manifests.split(' ')
    const { stdout } = await promisify(execFile)(process.execPath, [inject('command'), ...printing], { cwd: project })
    const printed = parseYaml(stdout) as Array<{ kind: string; spec: { template: { spec: PodSpec } } }>
    const { containers, securityContext } = printed.find(({ kind }) => kind === 'Deployment')!.spec.template.spec
    const [entry, command] = [of('ENTRYPOINT'), of('CMD')].map(([value]) => JSON.parse(value!) as string[])
    expect(containers[0]!.args).toEqual(command)
    expect(`${securityContext.runAsUser}:${securityContext.runAsGroup}`).toBe(of('USER')[0])
    rmSync(join(folder.path, 'build'), { recursive: true })
    rmSync(join(project, 'node_modules'), { recursive: true })
    folder.write({ 'crd.yaml': stdout.slice(stdout.indexOf('apiVersion: apiextensions')).split('\n---')[0]! })
    const kubeconfig = join(folder.path, 'kubeconfig')
    const objects = ['-f', 'crd.yaml', '-f', 'databases/object.yaml']
    await new KopfCommand(folder, ['server', '--kubeconfig', kubeconfig, ...objects]).until(/is ready at/)
    const place = { path: image, temporary: folder.temporary, command: entry!.slice(1) }
    const args = [...command!, '--liveness=http://127.0.0.1:0/healthz']
    const one = await new KopfCommand(place, args, { KUBECONFIG: kubeconfig }).until(/Hello, Ada!/)
    for (const line of one.stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
  })

  test('the operator from kopf init has a valid name for any folder, and kopf init does not prompt without a terminal', async () => {
    expect(await init('My Ópera tor')).toMatchObject({ exit: 0, stderr: '' })
    const text = readFileSync(join(folder.path, 'My Ópera tor', 'package.json'), 'utf8')
    expect(JSON.parse(text)).toMatchObject({
      name: 'my-pera-tor',
      dependencies: { kopf: expect.stringMatching(/^\d/) },
    })
    expect(readdirSync(join(folder.path, 'My Ópera tor'))).toContain('.gitignore')
  })
})

test('npm create kopf creates the same files as kopf init, with no other package installed', {
  timeout: 60_000,
}, async () => {
  const installed = join(folder.path, 'node_modules')
  mkdirSync(join(installed, 'create-kopf'), { recursive: true })
  // A copy, since Node would resolve a symlink to a place without the package beside it.
  cpSync('packages/create-kopf', join(installed, 'create-kopf'), { recursive: true })
  symlinkSync(inject('package'), join(installed, 'kopf'))
  const command = join(installed, 'create-kopf/create.js')
  const create = (...args: string[]) => promisify(execFile)(process.execPath, [command, ...args], { cwd: folder.path })
  expect((await create('mine', '--no-install')).stdout).toContain('mine is ready')
  expect(readdirSync(join(folder.path, 'mine'))).toContain('operator.ts')
  await expect(create('mine', '--no-install')).rejects.toMatchObject({ code: 1 })
})

test('npm create kopf installs the packages of the new operator, and names the command to run if npm fails', {
  timeout: 60_000,
}, async () => {
  // A program named npm that records its arguments, and fails for a folder named "offline".
  const bin = join(folder.path, 'bin')
  folder.write({
    'bin/npm': '#!/bin/sh\necho "$@" >> "$0.log"\ncase "$*" in *offline*) echo "no network" >&2; exit 7;; esac\n',
  })
  chmodSync(join(bin, 'npm'), 0o755)
  const installed = join(folder.path, 'node_modules')
  mkdirSync(join(installed, 'create-kopf'), { recursive: true })
  cpSync('packages/create-kopf', join(installed, 'create-kopf'), { recursive: true })
  symlinkSync(inject('package'), join(installed, 'kopf'))
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` }
  const command = join(installed, 'create-kopf/create.js')
  const create = (...args: string[]) =>
    promisify(execFile)(process.execPath, [command, ...args], { cwd: folder.path, env })
  const { stdout } = await create('mine')
  expect(stdout).toContain('mine is ready')
  expect(stdout).not.toContain('npm install')
  expect(readFileSync(join(bin, 'npm.log'), 'utf8')).toBe(
    'install --prefix mine --no-audit --no-fund --loglevel=error\n',
  )
  const failed = await create('offline').catch((error: { code: number; stderr: string }) => error)
  expect(failed).toMatchObject({ code: 1 })
  expect(failed.stderr).toContain(
    'Cannot install the packages of offline: npm install ended with exit code 7 (no network). The folder is complete: run "npm install" in it',
  )
  expect(readdirSync(join(folder.path, 'offline'))).toContain('operator.ts')
})

describe('kopf init in a folder with files', { timeout: 60_000 }, () => {
  test('kopf init --force adds the missing files, keeps the existing ones, and names the packages to install', async () => {
    folder.write({ 'my operator/README.md': 'mine', 'my operator/package.json': '{}' })
    const { exit, stdout, stderr } = await init('my operator', '--force')
    expect([exit, stderr]).toEqual([0, 'These files existed and were not changed: README.md, package.json\n'])
    expect(stdout).toContain(
      "  cd 'my operator'\n  npm install kopf zod && npm install --save-dev @types/node tsx typescript\n",
    )
    const read = (name: string) => readFileSync(join(folder.path, 'my operator', name), 'utf8')
    expect([read('README.md'), read('package.json')]).toEqual(['mine', '{}'])
    expect(read('operator.ts')).toContain('Greeting')
  })

  test('kopf init replaces words of the template once, also if the names of the user contain such words', async () => {
    const { exit } = await init('my-greetings', '--kind', 'Database', '--group', 'greetings.example.com')
    expect(exit).toBe(0)
    const read = (name: string) => readFileSync(join(folder.path, 'my-greetings', name), 'utf8')
    expect(read('object.yaml')).toContain('apiVersion: greetings.example.com/v1\nkind: Database\n')
    expect(JSON.parse(read('package.json')).name).toBe('my-greetings')
  })
})

describe('kopf init on a terminal', { timeout: 60_000 }, () => {
  afterEach(stopTerminals)

  /** Types the answer when the cursor is behind the question. */
  async function answer(one: OnTerminal, question: string, text: string): Promise<void> {
    const shown = question.replaceAll(/[()[\]?.]/g, '\\$&')
    await one.until(new RegExp(`${shown}(\u001b\\[\\d*G)?$`))
    one.type(`${text}\r`)
  }

  test('kopf init asks again after an invalid answer, with the reason and a correction as the default', async () => {
    folder.write({ file: '' })
    const one = new OnTerminal(folder, ['init'])
    await answer(one, 'Folder (my-operator): ', 'file')
    await one.until(/"file": a file is in the way/)
    await answer(one, 'Folder (my-operator): ', 'my databases')
    await answer(one, 'Kind of the resource (Greeting): ', 'database')
    await one.until(/"database" cannot be used: a kind must be in CamelCase/)
    await answer(one, 'Kind of the resource (Database): ', '')
    await answer(one, 'API group (example.com): ', 'acme')
    await one.until(/"acme" cannot be used: an API group must be a domain/)
    await answer(one, 'API group (example.com): ', 'acme.dev')
    expect(await one.exit).toBe(0)
    expect(one.output).toContain("cd 'my databases'")
    const text = readFileSync(join(folder.path, 'my databases', 'operator.ts'), 'utf8')
    expect(text).toContain("group: 'acme.dev',\n  version: 'v1',\n  kind: 'Database'")
  })

  test('kopf init asks before it writes into a folder with files, and for another folder after a no', async () => {
    folder.write({ 'mine/README.md': 'mine' })
    const one = new OnTerminal(folder, ['init', 'mine', '--kind', 'Database', '--group', 'acme.dev'])
    const question = '"mine" is not empty (README.md). Add the operator to it? Existing files are kept. [y/N] '
    await answer(one, question, 'n')
    await answer(one, 'Folder (my-operator): ', 'mine')
    await answer(one, question, 'y')
    expect(await one.exit).toBe(0)
    expect(readFileSync(join(folder.path, 'mine', 'README.md'), 'utf8')).toBe('mine')
    expect(readdirSync(join(folder.path, 'mine'))).toContain('operator.ts')
  })

  test('kopf init writes nothing if the user presses Ctrl-C at a question', async () => {
    const one = await new OnTerminal(folder, ['init', 'mine']).until(/Kind of the resource/)
    one.type(interrupt)
    expect(await one.exit).toBe(1)
    expect(one.output).toContain('Stopped: nothing was changed')
    expect(existsSync(join(folder.path, 'mine'))).toBe(false)
  })
})

describe('kopf init failures', { timeout: 60_000 }, () => {
  test('kopf init refuses a folder that is not empty and does not change it', async () => {
    folder.write({ 'mine/operator.ts': 'mine' })
    const { exit, stdout, stderr } = await init('mine')
    expect([exit, stdout]).toEqual([1, ''])
    expect(stderr).toBe(
      'kopf: Cannot write an operator into "mine": it is not empty (operator.ts); name a new folder, or add the missing files with --force, which overwrites nothing\n',
    )
    expect(readdirSync(join(folder.path, 'mine'))).toEqual(['operator.ts'])
    expect(readFileSync(join(folder.path, 'mine/operator.ts'), 'utf8')).toBe('mine')
  })

  // Node's own recursive mkdir never returns for /proc.
  test.each([
    ['/proc/databases', 'no folder can be created there'],
    ['/proc/databases/first', 'no folder can be created there'],
    ['/sys/databases', 'permission denied'],
    ['file', 'a file is in the way'],
    ['file/databases/first', 'a file is in the way'],
    ['dangling/databases', 'no folder can be created there'],
  ])('kopf init refuses the folder %s with the message %j', async (name, why) => {
    folder.write({ file: 'mine' })
    symlinkSync('nothing', join(folder.path, 'dangling'))
    expect(await init(name)).toEqual({
      exit: 1,
      stdout: '',
      stderr: `kopf: Cannot write an operator into "${name}": ${why}; name another folder\n`,
    })
  })

  test('kopf init refuses an invalid kind before it writes anything', async () => {
    const { exit, stderr } = await init('databases', '--kind', 'data base')
    expect(exit).toBe(1)
    expect(stderr).toBe(
      'kopf: Cannot use --kind "data base": a kind must be in CamelCase, letters and digits, such as "Database"; try --kind DataBase\n',
    )
    expect(existsSync(join(folder.path, 'databases'))).toBe(false)
  })
})
