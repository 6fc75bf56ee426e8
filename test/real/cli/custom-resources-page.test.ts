/** The page docs/guide/custom-resources.md, followed literally with kubectl: its operator, its object, its commands and their output. */
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { Folder, KopfCommand, stopCommands } from '../../cli/run-support.ts'
import { isAsPrinted, linesOf } from '../../tutorial/compare-output.ts'

const { kubectl } = inject('realCluster')
const page = readFileSync('docs/guide/custom-resources.md', 'utf8')
let folder: Folder

beforeAll(() => {
  folder = new Folder()
})
afterEach(stopCommands)
afterAll(() => folder.remove())

/** The first block of this language on the page. */
function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(page)![1]!
}

/** Both outputs of a command, also of one that fails: the page shows a refused change. */
function run(args: readonly string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: join(folder.path, 'kubeconfig') }
  return new Promise((resolve) => {
    execFile(kubectl, args, { env, timeout: 30_000 }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
}

test('the page about custom resources shows what kubectl prints', { timeout: 60_000 }, async () => {
  folder.write({
    'operator.ts': blockOf('ts'),
    'object.yaml': blockOf('yaml'),
    'node_modules/.package-lock.json': '{}',
  })
  symlinkSync(resolve('node_modules', 'zod'), join(folder.path, 'node_modules', 'zod'))
  const [, , ...args] = blockOf('shell').trim().split(' ')
  const dev = new KopfCommand(folder, args)
  await dev.until(/Creation is processed: 2 succeeded/)
  const commands = blockOf('console')
    .split(/^\$ kubectl /m)
    .slice(1)
  for (const [command, ...printed] of commands.map(linesOf)) {
    const said = linesOf(await run(command!.split(' ')))
    expect([command, said, isAsPrinted(printed, said)]).toEqual([command, said, true])
  }
})
