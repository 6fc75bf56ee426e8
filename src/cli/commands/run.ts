/** `kopf run`: loads an operator from files and modules, and runs it on a cluster or on the embedded server until it is stopped. */
import type { Command } from 'commander'
import { parseHealthAddress } from '../../health/address.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { Observers } from '../../run/observers.ts'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import { lazy } from '../../util/lazy.ts'
import { createLogger, currentLogSink } from '../../util/log/log.ts'
import { secondSignalHint } from '../../util/process/signals.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { Display } from '../display/display.ts'
import { collect, controllersOption, type Embedded, portOption, startEmbedded } from '../embedded.ts'
import { readEnvironment, type Variable } from '../environment.ts'
import { CallsAtWork, exitAfterTimeout, gracePeriodOption, setFailed, toRunError, untilStopped } from '../exit.ts'
import { CommandGuard } from '../guard-thread.ts'
import { addEnvironment, addExamples, colourConventions } from '../help.ts'
import { type ClusterArguments, loginByOptions } from '../options/cluster.ts'
import {
  addFrameworkLevelOption,
  addLoggingOptions,
  CommandLogging,
  frameworkLevelVariable,
  type LoggingArguments,
  loggingVariables,
} from '../options/logging.ts'
import { addScopeOptions, readScope, type ScopeArguments, scopeVariables, warnOfScope } from '../options/namespaces.ts'
import {
  addPrecedenceOptions,
  developerPriority,
  type PrecedenceArguments,
  readPrecedence,
} from '../options/peering.ts'
import { orderManifests, readManifest } from '../read-manifests.ts'
import { catchStrayErrors } from '../stray-errors.ts'

interface RunArguments extends LoggingArguments, ScopeArguments, PrecedenceArguments, ClusterArguments {
  readonly module?: readonly string[]
  readonly liveness?: string
  readonly gracePeriod?: Duration
  readonly embedded?: boolean
  readonly apply?: readonly string[]
  readonly port: number
  readonly controllers?: readonly ControllerChoice[]
}

const variables: readonly Variable[] = [
  { name: 'MODULES', type: 'list', option: 'module' },
  ...scopeVariables,
  { name: 'STANDALONE', type: 'flag', option: 'standalone' },
  { name: 'DEV', type: 'flag', option: 'dev' },
  { name: 'PEERING', type: 'text', option: 'peering' },
  { name: 'PRIORITY', type: 'text', option: 'priority' },
  { name: 'LIVENESS_ENDPOINT', type: 'text', option: 'liveness' },
  { name: 'GRACE_PERIOD', type: 'text', option: 'gracePeriod' },
  ...loggingVariables,
  frameworkLevelVariable,
]

export function addRunCommand(program: Command): void {
  const command = program
    .command('run')
    .summary('run an operator')
    .description('Runs the operator in these files and modules until it receives SIGINT or SIGTERM.')
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
  addScopeOptions(command)
  addPrecedenceOptions(command)
    .option(
      '--dev',
      `run with --priority ${developerPriority}, which pauses the deployed operators of the peering; for development`,
    )
    .optionsGroup('Health:')
    .option(
      '-L, --liveness <url>',
      'serve health probes at this URL, such as http://0.0.0.0:8080/healthz, and readiness at /readyz',
    )
    .optionsGroup('Stop:')
    .addOption(gracePeriodOption())
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
    'kopf run operator.ts --namespace default',
    'kopf run operator.ts backups.ts -n team-a -n "team-b-*"',
    'kopf run operator.ts --embedded --apply objects.yaml',
  ])
  addEnvironment(command, variables, {
    conventions: colourConventions,
    remarks: ['Options on the command line take precedence.'],
  })
  command.action(async (files: readonly string[]) => {
    readEnvironment(command, variables)
    await run(command, files, command.opts<RunArguments>())
  })
}

async function run(command: Command, files: readonly string[], args: RunArguments): Promise<void> {
  const modules = args.module ?? []
  const scope = readScope(command, args)
  const peering = readPrecedence(command, args)
  checkUsage(command, [...files, ...modules], args)
  const logging = new CommandLogging(args)
  const stray = new Promise<void>((resolve) => catchStrayErrors(logging.sink, resolve))
  void stray.then(() => setFailed())
  const calls = new CallsAtWork()
  const stopped = Promise.race([untilStopped(calls), stray])
  const guard = new CommandGuard(logging)
  // Imported late: help and usage errors do not need it.
  const [{ loadOperator }, { WorkerModules }] = await Promise.all([
    import('../loading/load.ts'),
    import('../loading/worker-modules.ts'),
  ])
  const loading = loadOperator({ files, modules, folder: process.cwd() })
  // A top-level await in a file may never settle; a signal must still stop the command.
  const loaded = await Promise.race([loading, stopped.then(() => undefined)])
  if (loaded === undefined) return
  await using _ = loaded
  guard.useSettingsOf(loaded.operator)
  if (args.gracePeriod !== undefined) loaded.operator.settings.process.gracePeriod = args.gracePeriod
  await using workerModules = new WorkerModules(process.cwd())
  await using embedded = args.embedded ? await startEmbeddedServer(loaded.operator, args) : undefined
  if (embedded) process.stdout.write(`${embedded.greeting}\n`)
  const stopHint = secondSignalHint()
  const options: RunOptions = {
    ...scope,
    ...clusterAccess(args, embedded),
    ...peering,
    ...(args.liveness === undefined ? {} : { livenessEndpoint: args.liveness }),
    logging: logging.sink,
    ...(args.logFrameworkLevel && { frameworkLogLevel: args.logFrameworkLevel }),
    loadWorkerModule: (url) => workerModules.load(url),
    ...(stopHint !== undefined && { stopHint }),
  }
  if (!args.embedded) warnOfScope(options, args, logging.sink)
  const title = { name: loaded.operator.name ?? [...files, ...modules].join(', '), ...args, ...scope }
  const display = logging.wantsDisplay ? (await import('../display/display.ts')).showRun(title) : undefined
  await runOperator(loaded.operator, { options, stopped, display, calls, onStopping: () => guard.stopping() })
}

function checkUsage(command: Command, targets: readonly string[], args: RunArguments): void {
  if (targets.length === 0) command.error('error: nothing to run. Name a file, or a module with --module.')
  const { liveness } = args
  if (liveness !== undefined) {
    parseHealthAddress(liveness, (why) =>
      command.error(`error: option '--liveness <url>' argument '${liveness}' is invalid: ${why}.`),
    )
  }
  const misplaced = args.embedded
    ? args.context !== undefined && '--context'
    : (args.apply !== undefined && '--apply') ||
      (args.controllers !== undefined && '--controllers') ||
      (command.getOptionValueSource('port') === 'cli' && '--port')
  if (!misplaced) return
  command.error(`error: option '${misplaced}' cannot be used ${args.embedded ? 'with' : 'without'} '--embedded'.`)
}

function clusterAccess(args: RunArguments, embedded: Embedded | undefined): RunOptions {
  if (embedded) return { transport: embedded.server.api }
  const connection = loginByOptions(args)
  return connection === undefined ? {} : { connection }
}

async function startEmbeddedServer({ resources }: Operator, args: RunArguments): Promise<Embedded> {
  const { toCrds } = await import('../../kube/crds/crd.ts')
  const { port, kubeconfig, controllers, apply = [] } = args
  const manifests = await Promise.all(apply.map(readManifest))
  const definitions = toCrds(resources as readonly CustomResource<object>[])
  return startEmbedded({ port, kubeconfig, controllers, manifests: orderManifests(definitions, manifests) })
}

interface RunCommand {
  readonly options: RunOptions
  readonly stopped: Promise<unknown>
  /** The progress display on a terminal. */
  readonly display: Display | undefined
  readonly calls: CallsAtWork
  /** Called when the operator begins to stop, on request or after a failure. */
  readonly onStopping: () => void
}

async function runOperator(operator: Operator, command: RunCommand): Promise<void> {
  const { options, stopped, display, calls, onStopping } = command
  const starting = new AbortController()
  const limitExitTime = lazy(() => {
    exitAfterTimeout(operator, calls)
    onStopping()
  })
  void stopped.then(() => {
    display?.hide()
    starting.abort()
    limitExitTime()
  })
  const observers = new Observers(createLogger(currentLogSink, 'kopf.cli'))
  for (const listener of [calls, display?.progress]) if (listener !== undefined) observers.add(listener)
  try {
    const running = await operator.start({ ...options, observer: observers.all, signal: starting.signal })
    void running.ready.then(
      () => display?.listed(),
      () => {},
    )
    void import('../missing-names.ts').then(({ warnOfMissingNamespaces }) =>
      warnOfMissingNamespaces(running, options, currentLogSink),
    )
    // The operator may also stop because of a failure, and its cleanup needs the time limit as well.
    running.stopping.addEventListener('abort', limitExitTime, { once: true })
    await Promise.race([stopped, running.done])
    await running.stop()
    await running.done
  } catch (error) {
    // A stop during the start is not a failure.
    if (starting.signal.aborted && (error as Error)?.name === 'AbortError') return
    throw toRunError(error)
  } finally {
    display?.end()
  }
}
