/** How Python's Kopf and ours are started: the same words for both. Used by the interop tests and the benchmarks. */
import { fileURLToPath } from 'node:url'
import type { OperatorCommand } from './operator-process.ts'
import { ensureKopf } from './venv.ts'

export interface RunOptions {
  readonly file: string
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
  /** Whether other operators are taken notice of; not by default. */
  readonly hasPeers?: boolean
  readonly kubeconfig: string
  readonly env?: Readonly<Record<string, string>>
  /** Further options of `kopf run`. */
  readonly options?: readonly string[]
  readonly core?: number
}

type CommandOptions = Pick<RunOptions, 'kubeconfig' | 'env' | 'core'>

const root = fileURLToPath(new URL('../../', import.meta.url))

export async function kopfRun(run: RunOptions): Promise<OperatorCommand> {
  return kopfCommand(toArgs(run), run)
}

/** Any command of it: `freeze` and `resume`, too. */
export async function kopfCommand(args: readonly string[], settings: CommandOptions): Promise<OperatorCommand> {
  const { kopf } = await ensureKopf()
  const env = { PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1', ...settings.env }
  return { name: 'kopf', program: kopf, args, ...common(settings), env }
}

/** From the sources, or what `npm run build` made of them: that is what users run, and what benchmarks measure. */
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
