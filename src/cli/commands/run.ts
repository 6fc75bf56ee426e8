/** `kopf run`: loads an operator from files and modules, and runs it on a cluster or on the embedded server until it is stopped. */
import type { Command } from 'commander'
import type { CustomResource } from '../../kube/resources/resources.ts'
import type { Operator } from '../../operator.ts'
import { hasWebhooks } from '../../operator-internals.ts'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import { createLogger, type LogSink } from '../../util/log/log.ts'
import { collect, controllersOption, type Embedded, loadManifests, portOption, startEmbedded } from '../embedded.ts'
import { isProductionEnvironment, readEnvironment, type Variable } from '../environment.ts'
import { addEnvironment, addExamples, colourConventions } from '../help.ts'
import type { Loaded } from '../loading/import-operator.ts'
import { addFrameworkLevelOption, addLoggingOptions } from '../options/logging.ts'
import { type ManifestFile, orderManifests, readManifest, splitCrds } from '../read-manifests.ts'
import { addRunOptions, type RunArguments, runVariables } from '../run/run-options.ts'
import { type PreparedRun, prepareForCluster, runProgram } from '../run/run-program.ts'

interface RunCommandArguments extends RunArguments {
  readonly module?: readonly string[]
  readonly embedded?: boolean
  readonly apply?: readonly string[]
  readonly port: number
  readonly controllers?: readonly ControllerChoice[]
}

const variables: readonly Variable[] = [{ name: 'MODULES', type: 'list', option: 'module' }, ...runVariables]

export function addRunCommand(program: Command): void {
  const command = program
    .command('run')
    .summary('run an operator')
    .description('Runs the operator in these files and modules until it receives SIGINT or SIGTERM.')
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
  addRunOptions(command)
    .optionsGroup('Cluster:')
    .option(
      '--kubeconfig <file>',
      'use this kubeconfig; with --embedded, write the kubeconfig of the embedded server to this file',
    )
    .option('--context <name>', 'use this context of the kubeconfig')
    .optionsGroup('Without a cluster:')
    .option('--embedded', 'run on an embedded API server in this process, without a cluster')
    .option('--apply <file>', 'with --embedded: create the objects in this YAML or JSON file; can be repeated', collect)
    .addOption(portOption())
    .addOption(controllersOption('with --embedded: '))
  addFrameworkLevelOption(addLoggingOptions(command))
  addExamples(command, [
    'npx kopf run operator.ts --namespace default',
    'npx kopf run operator.ts backups.ts -n team-a -n "team-b-*"',
    'npx kopf run operator.ts --embedded --apply objects.yaml',
  ])
  addEnvironment(command, variables, {
    conventions: colourConventions,
    remarks: ['Options on the command line take precedence.'],
  })
  command.action(async (files: readonly string[]) => {
    readEnvironment(command, variables)
    const args = command.opts<RunCommandArguments>()
    const targets = [...files, ...(args.module ?? [])]
    checkUsage(command, targets, args)
    await runProgram(command, args, {
      title: targets.join(', '),
      load: (sink) => load(files, args.module ?? [], sink),
      prepare: (operator) => prepare(operator, args),
    })
  })
}

function checkUsage(command: Command, targets: readonly string[], args: RunCommandArguments): void {
  if (targets.length === 0) command.error('error: nothing to run. Name a file, or a module with --module.')
  const misplaced = args.embedded
    ? args.context !== undefined && '--context'
    : (args.apply !== undefined && '--apply') ||
      (args.controllers !== undefined && '--controllers') ||
      (command.getOptionValueSource('port') === 'cli' && '--port')
  if (!misplaced) return
  command.error(`error: option '${misplaced}' cannot be used ${args.embedded ? 'with' : 'without'} '--embedded'.`)
}

/** Loads the operator with code that is imported late: help and usage errors do not need it. */
async function load(files: readonly string[], modules: readonly string[], sink: LogSink): Promise<Loaded> {
  const [{ loadOperator, needsCompiling }, { isInPod }] = await Promise.all([
    import('../loading/load.ts'),
    import('../../client/auth/service-account.ts'),
  ])
  const [source] = files.filter(needsCompiling)
  if (source !== undefined && (isInPod() || isProductionEnvironment())) warnOfCompiling(files, sink)
  return loadOperator({ files, modules, folder: process.cwd() })
}

function warnOfCompiling(files: readonly string[], sink: LogSink): void {
  const names = files.join(' ')
  createLogger(sink, 'kopf.cli').warn(
    `TypeScript is compiled at every start: build the operator once with "npx kopf build ${names}", and run the JavaScript file in production`,
  )
}

/** Starts the embedded server if it is asked for. The worker modules of the operator are compiled at their first use. */
async function prepare(operator: Operator, args: RunCommandArguments): Promise<PreparedRun> {
  const { WorkerModules } = await import('../loading/worker-modules.ts')
  const access = args.embedded ? await prepareEmbedded(operator, args) : prepareForCluster(args)
  const workerModules = new WorkerModules(process.cwd())
  const dispose = async () => {
    await access[Symbol.asyncDispose]()
    await workerModules[Symbol.asyncDispose]()
  }
  const options = { ...access.options, loadWorkerModule: (url: URL) => workerModules.load(url) }
  return { ...access, options, [Symbol.asyncDispose]: dispose }
}

async function prepareEmbedded(operator: Operator, args: RunCommandArguments): Promise<PreparedRun> {
  const { port, kubeconfig, controllers } = args
  const { first, later } = await readObjects(operator, args)
  const embedded = await startEmbedded({ port, kubeconfig, controllers, manifests: first })
  process.stdout.write(`${embedded.greeting}\n`)
  return {
    options: { transport: embedded.server.api },
    isEmbedded: true,
    onReady: (sink) => createLater(embedded, later, sink),
    [Symbol.asyncDispose]: () => embedded[Symbol.asyncDispose](),
  }
}

interface ObjectsByTime {
  /** Created before the operator starts. */
  readonly first: readonly ManifestFile[]
  /** Created when the operator is ready. */
  readonly later: readonly ManifestFile[]
}

/** The CRDs of the operator and the objects of the files. The webhooks of an operator can only review and convert objects that are created when it is ready. */
async function readObjects(operator: Operator, { apply = [] }: RunCommandArguments): Promise<ObjectsByTime> {
  const { toCrds } = await import('../../kube/crds/crd.ts')
  const manifests = await Promise.all(apply.map(readManifest))
  const ordered = orderManifests(toCrds(operator.resources as readonly CustomResource<object>[]), manifests)
  if (!hasWebhooks(operator)) return { first: ordered, later: [] }
  const { crds, others } = splitCrds(ordered)
  return { first: crds, later: others }
}

async function createLater(embedded: Embedded, manifests: readonly ManifestFile[], sink: LogSink): Promise<void> {
  const created = await loadManifests(embedded.server, manifests)
  for (const name of created) createLogger(sink, 'kopf.cli').info(`Created ${name}.`)
}
