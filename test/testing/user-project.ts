/** A user project with an operator, its tests, and the built package in its `node_modules`. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

const operator = `
import { defineResource, Operator, TemporaryError } from 'kopf'

export const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })

export const kopf = new Operator()
kopf.on.create(Database, ({ name, spec, patch, retry }) => {
  if (retry < 3) throw new TemporaryError('The database is still booting', { delay: '10m' })
  patch.status.phase = 'Ready'
  patch.status.url = \`\${spec.engine}://\${name}\`
})
`

/** The example of the guide; \`test\` comes from the runner. */
const tests = (runner: string) => `
import assert from 'node:assert/strict'
import { runHandler, startCluster } from 'kopf/testing'
import { test } from '${runner}'
import { Database, kopf } from './operator.ts'

test('a created database becomes ready', async () => {
  await using cluster = await startCluster({ resources: [Database] })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1 } })
  const { status } = await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
  assert.equal(status?.url, 'postgres://orders')
})

test('a booting database is asked for again', async () => {
  const { outcome } = await runHandler(kopf, { resource: Database, id: 'create', spec: { engine: 'mysql', size: 1 } })
  assert.equal(outcome.type, 'retry')
})
`

export interface Run {
  readonly code: number | string
  /** stdout and stderr. */
  readonly output: string
}

export class UserProject implements Disposable {
  readonly path: string = realpathSync(mkdtempSync(join(tmpdir(), 'kopf-user-project-')))

  /** Creates a project with these packages from the registry. */
  static async create(...packages: readonly string[]): Promise<UserProject> {
    const project = new UserProject()
    mkdirSync(join(project.path, 'node_modules'))
    project.write('package.json', JSON.stringify({ type: 'module' }))
    project.write('operator.ts', operator)
    if (packages.length > 0) await project.#install(packages)
    // Linked last, since npm removes packages that it does not know.
    project.link('kopf', inject('package'))
    return project
  }

  async #install(packages: readonly string[]): Promise<void> {
    const flags = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--silent']
    await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd: this.path })
  }

  /** Links a package of this repository into the user project. */
  link(name: string, target: string = resolve('node_modules', name)): void {
    symlinkSync(target, join(this.path, 'node_modules', name))
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.path, file), text)
  }

  writeTests(runner: string): void {
    this.write('orders.test.ts', tests(runner))
  }

  /** Runs a program until it ends by itself. */
  async run(program: string, args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<Run> {
    // A nested test runner would change its output because of these variables of the outer one.
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, VITEST: ___, ...inherited } = process.env
    const env = { ...inherited, ...variables, NO_COLOR: '1', FORCE_COLOR: '0' }
    try {
      const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: this.path, env, timeout: 240_000 })
      return { code: 0, output: stdout + stderr }
    } catch (error) {
      const { code = 'killed', stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string }
      return { code, output: stdout + stderr }
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
