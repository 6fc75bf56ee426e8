/** A temporary project with the packed package: writes its files, and runs programs in it. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

export interface Run {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

export class Project implements Disposable {
  readonly path: string = realpathSync(mkdtempSync(join(tmpdir(), 'kopf-package-project-')))

  /** A project with a copy of the installed package. */
  static withKopf(): Project {
    const project = new Project()
    cpSync(inject('project'), project.path, { recursive: true, verbatimSymlinks: true })
    return project
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.path, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }

  /** Links packages of this repository. */
  link(...names: readonly string[]): void {
    mkdirSync(join(this.path, 'node_modules', '@types'), { recursive: true })
    for (const name of names) symlinkSync(resolve('node_modules', name), join(this.path, 'node_modules', name))
  }

  /** Runs a program to its end. Does not reject if it fails. */
  async run(program: string, args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<Run> {
    // Without the variables by which a test runner makes a nested runner report in its own protocol.
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, VITEST: ___, KUBECONFIG: ____, ...inherited } = process.env
    const env = { ...inherited, NO_COLOR: '1', FORCE_COLOR: '0', ...variables }
    try {
      const { stdout, stderr } = await promisify(execFile)(program, args, { cwd: this.path, env, timeout: 240_000 })
      return { code: 0, stdout, stderr }
    } catch (error) {
      const { code = 'killed', stdout = '', stderr = '' } = error as Partial<Run>
      return { code, stdout, stderr }
    }
  }

  node(...args: string[]): Promise<Run> {
    return this.run(process.execPath, args)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
