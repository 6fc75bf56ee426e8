/** The operators that are compared, each a process of its own with a user of its own, and all with the same contract. */
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { kopfRun, oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import { kopfVersion } from '../../tools/kopf/venv.ts'
import { group, plural } from './resource.ts'
import type { World } from './world.ts'

/**
 * - `contract`: status.observed = spec.size on create and update, a finalizer, a clean-up.
 * - `requests`: the handlers that an object's labels ask for (see scenarios/requests.ts).
 * - `filtered`: as `contract`, for objects with the label `picked: <PICKED>` only.
 */
type Role = 'contract' | 'requests' | 'filtered'

type ContenderName = 'kopf' | 'floor' | 'ours'

export interface Contender {
  readonly name: ContenderName
  readonly title: string
  /** The loop has no handlers: it does the contract, and nothing else can be asked of it. */
  readonly isFloor: boolean
  start(world: World, run: ContenderRun): Promise<Running>
}

interface ContenderRun {
  readonly role: Role
  readonly namespace: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Running extends AsyncDisposable {
  readonly process: OperatorProcess
  readonly user: string
  readonly namespace: string
  /** When it was started, in ms since 1970. */
  readonly startedAt: number
}

type ToCommand = (options: {
  readonly world: World
  readonly run: ContenderRun
  readonly kubeconfig: string
  readonly token: string
  readonly env: Readonly<Record<string, string>>
}) => OperatorCommand | Promise<OperatorCommand>

function contender(name: ContenderName, title: string, toCommand: ToCommand): Contender {
  return {
    name,
    title,
    isFloor: name === 'floor',
    async start(world, run) {
      const { kubeconfig, token, username: user } = await world.userOf(name)
      const env = { BENCH_GROUP: group, BENCH_PLURAL: plural, ...run.env }
      const command = await toCommand({ world, run, kubeconfig, token, env })
      const startedAt = Date.now()
      const core = world.operatorCore
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

/** Plain JavaScript by the time it runs: the translation is no part of what is measured. */
const floor = contender('floor', 'floor (bare Node)', ({ world, run, kubeconfig, token, env }) => {
  const outfile = `${world.folder}/floor.mjs`
  buildSync({ entryPoints: [fileOf('floor/main.ts')], outfile, bundle: true, platform: 'node', format: 'esm' })
  const { url, caPem } = world.access
  const own = { BENCH_URL: url, BENCH_CA: caPem, BENCH_TOKEN: token, BENCH_NAMESPACE: run.namespace }
  return { name: 'floor', program: process.execPath, args: [outfile], kubeconfig, env: { ...env, ...own } }
})

/** `build` is what users run; the tests take the sources. */
export function toOurs(from: 'source' | 'build'): Contender {
  return contender('ours', 'ours', ({ run, kubeconfig, env }) => {
    const file = fileOf(`ours/${run.role}.ts`)
    return oursRun({ file, namespace: run.namespace, kubeconfig, env, options: ['--quiet'] }, from)
  })
}

export const contenders: readonly Contender[] = [kopf, floor, toOurs('build')]
