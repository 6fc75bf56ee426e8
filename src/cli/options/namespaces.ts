/** The options that select the namespaces of a command. */
import type { Command } from 'commander'
import type { RunOptions } from '../../operator.ts'
import { createLogger, type LogSink } from '../../util/log/log.ts'
import { collect } from '../embedded.ts'
import { legacyNamespace, type Variable } from '../environment.ts'
import { printable } from '../terminal.ts'

export interface ScopeArguments {
  readonly namespace?: readonly string[]
  readonly allNamespaces?: boolean
}

export const scopeVariables: readonly Variable[] = [
  { name: 'NAMESPACES', type: 'list', option: 'namespace' },
  { name: 'CLUSTERWIDE', type: 'flag', option: 'allNamespaces' },
]

export function addScopeOptions(command: Command): Command {
  return command
    .optionsGroup('Scope:')
    .option(
      '-n, --namespace <pattern>',
      'serve this namespace, or those that match a pattern; can be repeated',
      collect,
    )
    .option('-A, --all-namespaces', 'serve all namespaces and cluster-scoped objects')
}

export function readScope(
  command: Command,
  { namespace = [], allNamespaces }: ScopeArguments,
): Pick<RunOptions, 'namespaces' | 'clusterwide'> {
  const legacy = command.name() === 'run' ? (legacyNamespace() ?? '').split(' ') : []
  const namespaces = [...namespace, ...legacy].filter((one) => one !== '')
  if (namespaces.length === 0) return { clusterwide: true }
  if (allNamespaces) command.error("error: options '--namespace' and '--all-namespaces' cannot be used together.")
  return { namespaces: [...new Set(namespaces)] }
}

/** Warns if the operator serves the whole cluster by default. Not called for the embedded server. */
export function warnOfScope({ namespaces }: RunOptions, { allNamespaces }: ScopeArguments, sink: LogSink): void {
  if (namespaces !== undefined || allNamespaces) return
  createLogger(sink, 'kopf.cli').warn(
    'Serving the whole cluster, since no namespace is given: confirm it with --all-namespaces, or choose one with --namespace',
  )
}

/** `all namespaces`, `namespace default`, `namespaces team-a, team-b` */
export function describeScope(namespaces: RunOptions['namespaces']): string {
  if (namespaces === undefined) return 'all namespaces'
  const names = namespaces.map((one) => printable(String(one)))
  return `${names.length === 1 ? 'namespace' : 'namespaces'} ${names.join(', ')}`
}
