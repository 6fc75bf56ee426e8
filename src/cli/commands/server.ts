/** `kopf server`: runs the embedded API server, without an operator, until it is stopped. */
import type { Command } from 'commander'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import { untilSignal } from '../../util/process/signals.ts'
import { collect, controllersOption, dataDirOption, portOption, startEmbedded } from '../embedded.ts'
import { addExamples, choiceOption } from '../help.ts'
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
    .summary('run an embedded Kubernetes API server')
    .description(
      'Runs a Kubernetes API server in this process, for development and tests. It serves custom resources and the built-in ' +
        'kinds to kubectl, client libraries and operators. There are no nodes that run containers. Its objects are lost when it ' +
        'stops, unless you pass --data-dir.',
    )
    .addOption(portOption())
    .option(
      '--kubeconfig <file>',
      'write the kubeconfig to this file (default: a temporary file, whose path is printed)',
    )
    .option(
      '-f, --filename <file>',
      'create the objects in this YAML or JSON file at the start; can be repeated',
      collect,
    )
    .addOption(dataDirOption())
    .addOption(controllersOption())
    .option('--open', 'serve plain HTTP without credentials: every program on this machine can do everything')
    .addOption(
      choiceOption('--authorization <mode>', 'allow everything to all users with credentials, or check RBAC roles', [
        'always-allow',
        'rbac',
      ]).default('always-allow'),
    )
  addExamples(command, [
    'npx kopf server --kubeconfig dev.kubeconfig',
    'kubectl --kubeconfig dev.kubeconfig get namespaces # In another terminal.',
    'npx kopf server --data-dir data --port 6443 --kubeconfig dev.kubeconfig',
  ]).action(async (options: ServerOptions) => run(options))
}

async function run({ filename = [], ...options }: ServerOptions): Promise<void> {
  const stopped = untilSignal()
  const manifests = await Promise.all(filename.map(readManifest))
  await using embedded = await startEmbedded({ ...options, manifests })
  process.stdout.write(embedded.greeting)
  const signal = await stopped
  const whereabouts = options.dataDir === undefined ? 'gone' : `in ${options.dataDir}`
  process.stdout.write(`\n${signal}: stopped. Its objects are ${whereabouts}.\n`)
}
