/** The operators that are compared: one on controller-runtime, built here, and ours. Each a process with a user of its own. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import type { Running } from '../operators/contenders.ts'
import { group, plural } from '../operators/resource.ts'
import type { World } from '../operators/world.ts'

export interface Reconciler {
  readonly name: 'controller-runtime' | 'ours'
  /** Compiles what has to be; not measured. */
  prepare(world: World): void
  start(world: World, run: ReconcilerRun): Promise<Running>
}

interface ReconcilerRun {
  readonly namespace: string
  /** How often all objects are looked at without a cause; never unless told. */
  readonly resyncSeconds?: number
}

type ToCommand = (
  world: World,
  run: { readonly namespace: string; readonly kubeconfig: string; readonly env: Readonly<Record<string, string>> },
) => OperatorCommand

function reconciler(
  name: Reconciler['name'],
  { prepare, toCommand }: { readonly prepare: (world: World) => void; readonly toCommand: ToCommand },
): Reconciler {
  return {
    name,
    prepare,
    async start(world, { namespace, resyncSeconds }) {
      const { kubeconfig, username: user } = await world.userOf(name)
      const env = {
        BENCH_GROUP: group,
        BENCH_PLURAL: plural,
        BENCH_NAMESPACE: namespace,
        ...(resyncSeconds !== undefined && { BENCH_RESYNC: `${resyncSeconds}s` }),
      }
      const command = toCommand(world, { namespace, kubeconfig, env })
      const startedAt = Date.now()
      const core = world.operatorCore
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

/** What users run: compiled. */
const ours = reconciler('ours', {
  prepare: () => {
    execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  },
  toCommand: (_, { namespace, kubeconfig, env }) => {
    return oursRun({ file: fileOf('operator.ts'), namespace, kubeconfig, env, options: ['--quiet'] }, 'build')
  },
})

export const reconcilers: readonly Reconciler[] = [controllerRuntime, ours]
