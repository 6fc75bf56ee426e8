/** How Python's Kopf and ours are started: the same words for both. Used by the interop tests and the benchmarks. */
import { fileURLToPath } from 'node:url'
import type { OperatorCommand } from './operator-process.ts'
import { ensureKopf } from './venv.ts'

export interface RunOptions {
  readonly file: string
  readonly namespace: string
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  /** Further options of `kopf run`. */
  readonly options?: readonly string[]
  readonly core?: number
}

const root = fileURLToPath(new URL('../../', import.meta.url))

export async function kopfRun(run: RunOptions): Promise<OperatorCommand> {
  const { kopf } = await ensureKopf()
  const env = { PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1', ...run.env }
  return { name: 'kopf', program: kopf, args: toArgs(run), ...common(run), env }
}

/** From the sources, or what `npm run build` made of them: that is what users run, and what benchmarks measure. */
export function oursRun(run: RunOptions, from: 'source' | 'build' = 'source'): OperatorCommand {
  const source = ['--import', 'tsx', '--conditions=source', 'src/cli/main.ts']
  const node = from === 'source' ? source : ['dist/cli/main.js']
  return { name: 'ours', program: process.execPath, args: [...node, ...toArgs(run)], ...common(run), cwd: root }
}

function toArgs({ file, namespace, options = [] }: RunOptions): string[] {
  return ['run', file, '-n', namespace, '--standalone', ...options]
}

function common({ kubeconfig, env, core }: RunOptions): Omit<OperatorCommand, 'name' | 'program' | 'args'> {
  return { kubeconfig, ...(env && { env }), ...(core !== undefined && { core }) }
}
