/** Runs short programs in a new Node process with the built package, for behaviour that happens once per process. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inject } from 'vitest'

export interface ScriptOptions {
  /** Found in `process.argv` from index 1 on. */
  readonly args?: readonly string[]
  readonly nodeArgs?: readonly string[]
}

/** Runs an ES module and resolves with its standard output; rejects if its exit code is not 0 or it takes too long. */
export async function runScript(source: string, { args = [], nodeArgs = [] }: ScriptOptions = {}): Promise<string> {
  const all = [...nodeArgs, '--input-type=module', '--eval', source, ...args]
  const options = { cwd: inject('package'), encoding: 'utf8', timeout: 25_000 } as const
  const { stdout } = await promisify(execFile)(process.execPath, all, options)
  return stdout
}
