/** The command lines of Python's Kopf and of ours, with the same options. Used by the interop tests and the benchmarks. */
import { fileURLToPath } from 'node:url'
import type { OperatorCommand } from './operator-process.ts'
import { ensureKopf } from './venv.ts'

export interface RunOptions {
  readonly file: string
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
  /** Whether the operator uses peering. Default: `--standalone`. */
  readonly hasPeers?: boolean
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  /** Further options of `kopf run`. */
  readonly options?: readonly string[]
  readonly core?: number
}

type CommandOptions = Pick<RunOptions, 'kubeconfig' | 'env' | 'core'>

const root = fileURLToPath(new URL('../..', import.meta.url))

export async function kopfRun(run: RunOptions): Promise<OperatorCommand> {
  return kopfCommand(toArgs(run), run)
}

/** Any command of Python's Kopf, for example `freeze` and `resume`. */
export async function kopfCommand(args: readonly string[], settings: CommandOptions): Promise<OperatorCommand> {
  const { kopf } = await ensureKopf()
  const env = { PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1', ...settings.env }
  return { name: 'kopf', program: kopf, args, ...common(settings), env }
}

/** `source` runs the TypeScript sources, `build` the output of `npm run build`, which users run and benchmarks measure. */
export function oursRun(run: RunOptions, from: 'source' | 'build' = 'source'): OperatorCommand {
  return oursCommand(toArgs(run), run, from)
}

export function oursCommand(
  args: readonly string[],
  settings: CommandOptions,
  from: 'source' | 'build' = 'source',
): OperatorCommand {
  const source = ['--import', 'tsx', '--conditions=source', 'src/cli/main.ts']
  const node = from === 'source' ? source : ['dist/cli/main.js']
  return { name: 'ours', program: process.execPath, args: [...node, ...args], ...common(settings), cwd: root }
}

function toArgs({ file, namespace, hasPeers, options = [] }: RunOptions): string[] {
  const scope = namespace === undefined ? ['--all-namespaces'] : ['-n', namespace]
  return ['run', file, ...scope, ...(hasPeers ? [] : ['--standalone']), ...options]
}

function common({ kubeconfig, env, core }: CommandOptions): Omit<OperatorCommand, 'name' | 'program' | 'args'> {
  return { kubeconfig, ...(env && { env }), ...(core !== undefined && { core }) }
}
