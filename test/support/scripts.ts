/** Programs of a few lines in a new Node process, which import the built package: for what one process can show only once. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inject } from 'vitest'

export interface ScriptOptions {
  /** Found in `process.argv` from index 1 on. */
  readonly args?: readonly string[]
  readonly nodeArgs?: readonly string[]
}

/** Runs an ES module and resolves with its standard output; rejects where its exit code is not 0 or it takes too long. */
export async function runScript(source: string, { args = [], nodeArgs = [] }: ScriptOptions = {}): Promise<string> {
  const all = [...nodeArgs, '--input-type=module', '--eval', source, ...args]
  const options = { cwd: inject('package'), encoding: 'utf8', timeout: 25_000 } as const
  const { stdout } = await promisify(execFile)(process.execPath, all, options)
  return stdout
}
