/** The operators that are compared: one on controller-runtime, which is built first, and ours. Each is a process with its own user. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import type { BenchCluster } from '../lib/bench-cluster.ts'
import type { RunningOperator } from '../lib/running-operator.ts'
import { group, plural } from '../lib/schemaless-gadgets.ts'

export interface Reconciler {
  readonly name: 'controller-runtime' | 'ours'
  /** Builds the operator; not measured. */
  prepare(cluster: BenchCluster): void
  start(cluster: BenchCluster, run: ReconcilerRun): Promise<RunningOperator>
}

interface ReconcilerRun {
  readonly namespace: string
  /** The interval of periodic reconciliation of all objects. Default: none. */
  readonly resyncSeconds?: number
}

type ToCommand = (
  cluster: BenchCluster,
  run: { readonly namespace: string; readonly kubeconfig: string; readonly env: Readonly<Record<string, string>> },
) => OperatorCommand

function reconciler(
  name: Reconciler['name'],
  { prepare, toCommand }: { readonly prepare: (cluster: BenchCluster) => void; readonly toCommand: ToCommand },
): Reconciler {
  return {
    name,
    prepare,
    async start(cluster, { namespace, resyncSeconds }) {
      const { kubeconfig, username: user } = await cluster.userOf(name)
      const env = {
        BENCH_GROUP: group,
        BENCH_PLURAL: plural,
        BENCH_NAMESPACE: namespace,
        ...(resyncSeconds !== undefined && { BENCH_RESYNC: `${resyncSeconds}s` }),
      }
      const command = toCommand(cluster, { namespace, kubeconfig, env })
      const startedAt = Date.now()
      const core = cluster.operatorCore
      const process = new OperatorProcess({ ...command, ...(core !== undefined && { core }) })
      return { process, user, namespace, startedAt, [Symbol.asyncDispose]: () => process.stop() }
    },
  }
}

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const controllerRuntime = reconciler('controller-runtime', {
  prepare: ({ folder }) => {
    const cwd = fileOf('controller-runtime')
    execFileSync('go', ['build', '-o', `${folder}/controller-runtime`, '.'], { cwd, stdio: 'inherit' })
  },
  toCommand: ({ folder }, { kubeconfig, env }) => {
    return { name: 'controller-runtime', program: `${folder}/controller-runtime`, args: [], kubeconfig, env }
  },
})

/** Runs the build, like users. */
const ours = reconciler('ours', {
  prepare: () => {
    execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  },
  toCommand: (_, { namespace, kubeconfig, env }) => {
    return oursRun({ file: fileOf('operator.ts'), namespace, kubeconfig, env, options: ['--quiet'] }, 'build')
  },
})

export const reconcilers: readonly Reconciler[] = [controllerRuntime, ours]
