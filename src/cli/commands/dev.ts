/** `kopf dev`: an operator while it is being written. Every save is in effect at once; the cluster and its objects stay. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionInfoOptions } from '../../client/credentials.ts'
import type { ControllerChoice } from '../../server/controllers/life/names.ts'
import type { ClusterArguments } from '../cluster-options.ts'
import { collect, controllersOption, dataDirOption, type Embedded, portOption, startEmbedded } from '../embedded.ts'
import { untilStopped } from '../ending.ts'
import { readEnvironment, type Variable } from '../environment.ts'
import { addEnvironment, addExamples, colourConventions } from '../help.ts'
import {
  addFrameworkLevelOption,
  addLoggingOptions,
  CommandLogging,
  frameworkLevelVariable,
  type LoggingArguments,
  loggingVariables,
} from '../logging-options.ts'
import { readManifest } from '../manifests.ts'
import { developerPriority } from '../peering-options.ts'
import { addScopeOptions, readScope, type ScopeArguments, scopeVariables, warnOfScope } from '../scope-options.ts'
import { eraseLine, print, readKeys } from '../terminal.ts'

interface DevArguments extends LoggingArguments, ScopeArguments, ClusterArguments {
  readonly cluster?: boolean
  readonly crds?: boolean
  readonly apply?: readonly string[]
  readonly port: number
  readonly dataDir?: string
  readonly controllers?: readonly ControllerChoice[]
}

const variables: readonly Variable[] = [...scopeVariables, ...loggingVariables, frameworkLevelVariable]

export function addDevCommand(program: Command): void {
  const command = program
    .command('dev')
    .summary('run an operator while you write it: each save is in effect at once')
    .description(
      'Runs the operator of these files, and runs it anew whenever one of them, or what they import, is saved. By default ' +
        'on an embedded API server in this process, which stays with its objects while operators come and go. The ' +
        'definitions (CRDs) of the operator are kept up to date in it.',
    )
    .argument('<files...>', 'TypeScript or JavaScript; their default export is an operator')
    .optionsGroup('Objects:')
    .option(
      '--apply <file>',
      'apply the objects of this YAML or JSON file, and again when it is saved; can be repeated',
      collect,
    )
  addScopeOptions(command)
    .optionsGroup('Cluster:')
    .option('--cluster', 'run on the cluster of the kubeconfig, not on the embedded server')
    .option('--kubeconfig <file>', 'with --cluster: use this kubeconfig; without: write it there, for kubectl')
    .option('--context <name>', 'with --cluster: use this context of the kubeconfig')
    .option('--crds', 'with --cluster: keep the definitions (CRDs) of the operator up to date there, too')
    .addOption(portOption())
    .addOption(dataDirOption())
    .addOption(controllersOption('without --cluster: '))
  addFrameworkLevelOption(addLoggingOptions(command))
  addExamples(command, [
    'kopf dev operator.ts --apply objects.yaml',
    'kopf dev operator.ts --cluster --context staging --namespace sandbox',
  ])
  addEnvironment(command, variables, {
    conventions: colourConventions,
    remarks: ['What is on the command line wins.'],
  })
  command.action(async (files: readonly string[]) => {
    readEnvironment(command, variables)
    await dev(command, files, command.opts<DevArguments>())
  })
}

function checkUsage(command: Command, { cluster, context, crds, dataDir, controllers }: DevArguments): void {
  const refuse = (option: string, how: string) =>
    command.error(`error: option '${option}' cannot be used ${how} '--cluster'.`)
  if (!cluster && context !== undefined) refuse('--context', 'without')
  if (!cluster && crds) refuse('--crds', 'without')
  if (cluster && command.getOptionValueSource('port') === 'cli') refuse('--port', 'with')
  if (cluster && dataDir !== undefined) refuse('--data-dir', 'with')
  if (cluster && controllers !== undefined) refuse('--controllers', 'with')
}

async function dev(command: Command, files: readonly string[], args: DevArguments): Promise<void> {
  checkUsage(command, args)
  const scope = readScope(command, args)
  const logging = new CommandLogging(args)
  const stopped = untilStopped()
  const folder = process.cwd()
  // Only now: help and wrong usage need none of it.
  const [{ Cluster }, { findTargets }, { Rebuilder }, { Workshop }] = await Promise.all([
    import('../cluster.ts'),
    import('../load.ts'),
    import('../dev/rebuild.ts'),
    import('../dev/workshop.ts'),
  ])
  const targets = await findTargets({ files, modules: [], folder })
  const applied = (args.apply ?? []).map((file) => resolve(file))
  // A name that is wrong from the beginning is told at once; what is wrong inside can be put right later.
  await Promise.all(applied.map(readManifest))
  const rebuilder = await Rebuilder.create(
    targets.map(({ address }) => address),
    folder,
  )
  await using _rebuilder = rebuilder
  await using embedded = args.cluster ? undefined : await startEmbedded({ ...args, manifests: [] })
  await using cluster = embedded ? new Cluster(embedded.server.api) : await Cluster.open(args)
  print(greet(files, embedded))
  if (!embedded) warnOfScope(scope, args, logging.sink)
  const { verbose, debug, quiet, logFormat, logRefkey, logPrefix, logFrameworkLevel, kubeconfig, context } = args
  const erasure = logging.wantsDisplay ? eraseLine() : ''
  const workshop = new Workshop({
    targets,
    rebuilder,
    cluster,
    applied,
    deletes: !args.cluster,
    folder,
    setup: {
      logging: { verbose, debug, quiet, logFormat, logRefkey, logPrefix } as LoggingArguments,
      run: {
        ...scope,
        priority: developerPriority,
        ...(logFrameworkLevel && { frameworkLogLevel: logFrameworkLevel }),
      },
      embedded: embedded && toConnection(embedded),
      cluster: { kubeconfig, context } as ClusterArguments,
      defines: args.cluster ? (args.crds ?? false) : true,
    },
    say: (line) => print(`${erasure}kopf dev: ${line}`),
  })
  await using _workshop = workshop
  const quit = new Promise<void>((leave) => void stopped.then(() => leave()))
  using _keys = readKeys((key) => {
    if (key === 'r') workshop.reload()
    if (key === 'q' || key === '\u0003') process.kill(process.pid, 'SIGINT')
  })
  await Promise.race([workshop.start(), quit])
  await quit
}

function toConnection({ server: { url, token, ca } }: Embedded): ConnectionInfoOptions {
  return { server: url, ...(token !== undefined && { token }), ...(ca !== undefined && { caData: ca }) }
}

function greet(files: readonly string[], embedded: Embedded | undefined): string {
  const place = embedded ? `the embedded server at ${embedded.server.url}` : 'the cluster of the kubeconfig'
  return [
    `kopf dev: ${files.join(', ')} on ${place}`,
    ...(embedded ? ['', 'To use it from another terminal:', `  export KUBECONFIG=${embedded.kubeconfig}`] : []),
    '',
    process.stdin.isTTY ? 'Press r to reload, q to quit.' : 'Stop it with Ctrl-C.',
    '',
  ].join('\n')
}
