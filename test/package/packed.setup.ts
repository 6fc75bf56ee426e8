/** Packs both packages with `npm pack`, and installs kopf into an empty project, once for the whole run. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the packed kopf. */
    tarball: string
    /** The path of the packed create-kopf. */
    createTarball: string
    /** A folder with kopf in its `node_modules`, and no other files. */
    project: string
    /** The path of TypeScript 5.9. Not a dependency of the repository: its `tsc` would replace that of TypeScript 7. */
    typescript5: string
  }
}

export async function setup(run: TestProject): Promise<() => void> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kopf-package-')))
  const tarball = await pack('.', folder)
  run.provide('tarball', tarball)
  run.provide('createTarball', await pack('packages/create-kopf', folder))
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await npm(['install', '--silent', tarball], project)
  run.provide('project', project)
  await npm(['install', '--silent', '--no-save', '--prefix', join(folder, 'compilers'), 'typescript@5.9.3'], folder)
  run.provide('typescript5', join(folder, 'compilers', 'node_modules', 'typescript'))
  return () => rmSync(folder, { recursive: true, force: true })
}

/** Builds and packs the package, as for publishing. */
async function pack(source: string, folder: string): Promise<string> {
  const { stdout } = await npm(['pack', '--json', '--silent', '--pack-destination', folder], resolve(source))
  // The build may print lines before the JSON.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [{ filename: string }]
  return join(folder, filename)
}

function npm(args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  return promisify(execFile)('npm', [...args, '--no-audit', '--no-fund'], { cwd, maxBuffer: 10_000_000 })
}
