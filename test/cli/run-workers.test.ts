/** `kopf run` with handlers in worker threads, whose modules may be TypeScript. */
import { execFile } from 'node:child_process'
import { readdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { Folder, RunCommand, stopCommands } from './run-support.ts'

const objects = resolve('examples/01-minimal/object.yaml')

let folder: Folder
afterEach(async () => {
  await stopCommands()
  folder.remove()
})

const register = (address: string, more = '') =>
  `kopf.on.create('kopfexamples', inWorker(new URL('${address}', import.meta.url)${more}))\n`
const operatorOf = (...registrations: readonly string[]) =>
  `import { inWorker, Operator } from 'kopf'\nconst kopf = new Operator()\n${registrations.join('')}export default kopf\n`

const heavy = `
import { TemporaryError, type WorkerArgs } from 'kopf'
import { value } from './beside.ts'
enum Colour { Red = 'red' }
export default function ({ name, logger, patch, retry }: WorkerArgs<'create', 'kopfexamples'>): object {
  if (retry === 0) throw new TemporaryError('not yet', { delay: 0 })
  logger.info(\`\${name} is \${Colour.Red} \${value}, says \${import.meta.url}\`)
  return { pi: 3 }
}
export function fail(): void {
  throw new RangeError('too far')
}
`

function embedded(...args: string[]): RunCommand {
  return new RunCommand(folder, [...args, '--embedded', '--apply', objects])
}

async function stop(one: RunCommand): Promise<void> {
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-'))).toEqual([])
}

describe('worker modules in kopf run', { timeout: 60_000 }, () => {
  test('kopf run compiles worker modules, and their errors show the original lines', async () => {
    folder = new Folder()
    folder.write({
      'operator.ts': operatorOf(register('./heavy.ts'), register('./heavy.js', `, { name: 'fail' }`)),
      'heavy.ts': heavy,
      'beside.ts': 'export const value: number = 7\n',
    })
    const one = await embedded('operator.ts').until(/Handler 'heavy' succeeded/)
    expect(one.stderr).toContain("Handler 'heavy' failed temporarily: not yet")
    expect(one.stderr).toContain(`kopf-example-1 is red 7, says ${folder.url('heavy.ts')}`)
    expect(one.stderr).toMatch(/RangeError: too far\n {4}at fail \(.*heavy\.ts:11:9\)\n\[/)
    await stop(one)
  })

  test('kopf run runs worker modules in plain JavaScript without packages beside them', async () => {
    folder = new Folder()
    folder.write({
      'operator.mjs': operatorOf(register('./heavy.mjs')),
      'heavy.mjs':
        "import { PermanentError } from 'kopf'\nexport default () => { throw new PermanentError('from ' + import.meta.url) }\n",
    })
    const one = await embedded('operator.mjs').until(/Handler 'heavy' failed permanently/)
    expect(one.stderr).toContain(`failed permanently: from ${folder.url('heavy.mjs')}`)
    await stop(one)
  })

  test('kopf run shows the place of a syntax error in a worker module, and retries the handler', async () => {
    folder = new Folder()
    folder.write({ 'operator.ts': operatorOf(register('./heavy.ts')), 'heavy.ts': 'export default (\n' })
    const one = await embedded('operator.ts').until(/Cannot compile heavy\.ts:2:1/)
    expect(one.stderr).toContain("Handler 'heavy' failed with an exception and will try again in 60 seconds")
    await stop(one)
  })
})

describe('worker modules without the command', { timeout: 60_000 }, () => {
  const run = (file: string) => promisify(execFile)(process.execPath, [join(folder.path, file)])

  function write(files: Readonly<Record<string, string>>): void {
    folder = new Folder()
    folder.write({ 'node_modules/.keep': '', ...files })
    symlinkSync(inject('package'), join(folder.path, 'node_modules', 'kopf'))
  }

  test('a program runs a compiled worker module by the name of its source, and exits when it is done', async () => {
    write({
      'main.mjs':
        "import { inWorker } from 'kopf'\nconst heavy = inWorker(new URL('./heavy.mts', import.meta.url))\nconsole.log(await heavy({ spec: { size: 2 } }))\n",
      'heavy.mjs': 'export default ({ spec }) => spec.size * 21\n',
    })
    expect((await run('main.mjs')).stdout).toBe('42\n')
  })

  test('a program runs a TypeScript worker module if Node supports it, and fails with a hint otherwise', async () => {
    write({
      'main.mjs':
        "import { inWorker } from 'kopf'\nconst heavy = inWorker(new URL('./heavy.mts', import.meta.url))\nconsole.log(await heavy({ spec: { size: 2 } }).catch((error) => error.code + ': ' + error.message))\n",
      'heavy.mts': 'export default ({ spec }: { spec: { size: number } }): number => spec.size * 21\n',
    })
    const { stdout } = await run('main.mjs')
    if ((process.features as { typescript?: unknown }).typescript) expect(stdout).toBe('42\n')
    else expect(stdout).toMatch(/^KOPF_WORKER: Cannot run "heavy\.mts" in a worker: Node .* cannot run TypeScript/)
  })
})
