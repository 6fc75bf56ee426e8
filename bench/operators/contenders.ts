/** The operators that are compared, each a process with its own user, all with the same contract. */
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { kopfRun, oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import { kopfVersion } from '../../tools/kopf/venv.ts'
import type { BenchCluster } from '../lib/bench-cluster.ts'
import type { RunningOperator } from '../lib/running-operator.ts'
import { group, plural } from '../lib/schemaless-gadgets.ts'

/**
 * - `contract`: on create and update status.observed = spec.size; a finalizer; a delete handler.
 * - `requests`: handlers selected by the labels of an object (see scenarios/requests.ts).
 * - `filtered`: like `contract`, but only for objects with the label `picked: <PICKED>`.
 */
type Role = 'contract' | 'requests' | 'filtered'

type ContenderName = 'kopf' | 'baseline' | 'ours'

export interface Contender {
  readonly name: ContenderName
  readonly title: string
  /** The baseline is a bare loop without handlers: it implements only the contract. */
  readonly isBaseline: boolean
  start(cluster: BenchCluster, run: ContenderRun): Promise<RunningOperator>
}

interface ContenderRun {
  readonly role: Role
  readonly namespace: string
  readonly env?: Readonly<Record<string, string>>
}

type ToCommand = (options: {
  readonly cluster: BenchCluster
  readonly run: ContenderRun
  readonly kubeconfig: string
  readonly token: string
  readonly env: Readonly<Record<string, string>>
}) => OperatorCommand | Promise<OperatorCommand>

function contender(name: ContenderName, title: string, toCommand: ToCommand): Contender {
  return {
    name,
    title,
    isBaseline: name === 'baseline',
    async start(cluster, run) {
      const { kubeconfig, token, username: user } = await cluster.userOf(name)
      const env = { BENCH_GROUP: group, BENCH_PLURAL: plural, ...run.env }
      const command = await toCommand({ cluster, run, kubeconfig, token, env })
      const startedAt = Date.now()
      const core = cluster.operatorCore
      const process = new OperatorProcess({ ...command, ...(core !== undefined && { core }) })
      const stop = (): Promise<void> => process.stop()
      return { process, user, namespace: run.namespace, startedAt, [Symbol.asyncDispose]: stop }
    },
  }
}

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const kopf = contender('kopf', `Kopf ${kopfVersion}`, ({ run, kubeconfig, env }) => {
  const file = fileOf(`kopf/${run.role}.py`)
  return kopfRun({ file, namespace: run.namespace, kubeconfig, env, options: ['--quiet'] })
})

/** Bundled to JavaScript first, so that the compilation is not measured. */
const baseline = contender('baseline', 'baseline (bare Node)', ({ cluster, run, kubeconfig, token, env }) => {
  const outfile = `${cluster.folder}/baseline.mjs`
  buildSync({ entryPoints: [fileOf('baseline/contract.ts')], outfile, bundle: true, platform: 'node', format: 'esm' })
  const { url, caPem } = cluster.access
  const own = { BENCH_URL: url, BENCH_CA: caPem, BENCH_TOKEN: token, BENCH_NAMESPACE: run.namespace }
  return { name: 'baseline', program: process.execPath, args: [outfile], kubeconfig, env: { ...env, ...own } }
})

/** Benchmarks run the build, like users; tests run the sources. */
export function toOurs(from: 'source' | 'build'): Contender {
  return contender('ours', 'ours', ({ run, kubeconfig, env }) => {
    const file = fileOf(`ours/${run.role}.ts`)
    return oursRun({ file, namespace: run.namespace, kubeconfig, env, options: ['--quiet'] }, from)
  })
}

export const contenders: readonly Contender[] = [kopf, baseline, toOurs('build')]
