/** `kopf server`: runs the embedded API server, without an operator, until it is stopped. */
import { type Command, Option } from 'commander'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import { untilSignal } from '../../util/process/signals.ts'
import { collect, controllersOption, dataDirOption, portOption, startEmbedded } from '../embedded.ts'
import { addExamples } from '../help.ts'
import { readManifest } from '../read-manifests.ts'

interface ServerOptions {
  readonly port: number
  readonly kubeconfig?: string
  readonly filename?: readonly string[]
  readonly open?: boolean
  readonly authorization: 'rbac' | 'always-allow'
  readonly dataDir?: string
  readonly controllers?: readonly ControllerChoice[]
}

export function addServerCommand(program: Command): void {
  const command = program
    .command('server')
    .summary('run a Kubernetes API server, with nothing but Node')
    .description(
      'Runs a Kubernetes API server in this process, for development and tests.\n' +
        'It serves custom resources and the built-in kinds to kubectl, client libraries and operators.\n' +
        'Nothing runs on it, and what it holds is gone when it stops, unless it is kept in a directory.',
    )
    .addOption(portOption())
    .option(
      '--kubeconfig <file>',
      'write the kubeconfig to this file (default: a temporary one, whose path is printed)',
    )
    .option(
      '-f, --filename <file>',
      'create the objects of this YAML or JSON file at the start; can be repeated',
      collect,
    )
    .addOption(dataDirOption())
    .addOption(controllersOption())
    .option('--open', 'plain HTTP without credentials: every program on this machine may do everything')
    .addOption(
      new Option(
        '--authorization <mode>',
        'permissions: everything for all users with credentials, or as the RBAC roles say',
      )
        .choices(['always-allow', 'rbac'])
        .default('always-allow'),
    )
  addExamples(command, [
    'kopf server --kubeconfig dev.kubeconfig',
    'kubectl --kubeconfig dev.kubeconfig get namespaces',
    'kopf server --data-dir data --port 6443 --kubeconfig dev.kubeconfig',
  ]).action(async (options: ServerOptions) => run(options))
}

async function run({ filename = [], ...options }: ServerOptions): Promise<void> {
  const stopped = untilSignal()
  const manifests = await Promise.all(filename.map(readManifest))
  await using embedded = await startEmbedded({ ...options, manifests })
  process.stdout.write(embedded.greeting)
  const signal = await stopped
  const whereabouts = options.dataDir === undefined ? 'gone' : `in ${options.dataDir}`
  process.stdout.write(`\n${signal}: stopped. What the server held is ${whereabouts}.\n`)
}
