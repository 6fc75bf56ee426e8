/** `kopf dev`: runs an operator during development, and restarts it when a file is saved. The cluster and its objects stay. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionInfoOptions } from '../../client/auth/connection-info.ts'
import { KopfError } from '../../errors.ts'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import type { CommandCluster } from '../cluster.ts'
import { type ClusterPlace, describePlace, isLocalCluster } from '../cluster-place.ts'
import type { DevDashboard } from '../dev/dev-dashboard.ts'
import type { DevSession } from '../dev/dev-session.ts'
import { collect, controllersOption, dataDirOption, type Embedded, portOption, startEmbedded } from '../embedded.ts'
import { readEnvironment, type Variable } from '../environment.ts'
import { untilStopped } from '../exit.ts'
import { addEnvironment, addExamples, colourConventions } from '../help.ts'
import { type ClusterArguments, findContext } from '../options/cluster.ts'
import {
  addFrameworkLevelOption,
  addLoggingOptions,
  CommandLogging,
  frameworkLevelVariable,
  type LoggingArguments,
  loggingVariables,
} from '../options/logging.ts'
import {
  addScopeOptions,
  describeScope,
  readScope,
  type ScopeArguments,
  scopeVariables,
  warnOfScope,
} from '../options/namespaces.ts'
import { developerPriority } from '../options/peering.ts'
import { readManifest } from '../read-manifests.ts'
import { confirm, eraseLine, hasKeys, isInteractive, print, readKeys, terminalAbilities } from '../terminal.ts'

interface DevArguments extends LoggingArguments, ScopeArguments, ClusterArguments {
  readonly cluster?: boolean
  readonly crds?: boolean
  readonly apply?: readonly string[]
  readonly port: number
  readonly dataDir?: string
  readonly controllers?: readonly ControllerChoice[]
  readonly check: boolean
  readonly dashboard: boolean
  readonly yes?: boolean
}

const variables: readonly Variable[] = [...scopeVariables, ...loggingVariables, frameworkLevelVariable]

export function addDevCommand(program: Command): void {
  const command = program
    .command('dev')
    .summary('run an operator during development, and restart it at each save')
    .description(
      'Runs the operator in these files, and restarts it whenever one of them, or a file that they import, is saved. By default, ' +
        'it runs on an embedded API server in this process, which keeps its objects over restarts of the operator. The CRDs ' +
        'of the operator are kept up to date on it.',
    )
    .argument('<files...>', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Objects:')
    .option(
      '--apply <file>',
      'apply the objects in this YAML or JSON file, and again when it is saved; can be repeated',
      collect,
    )
    .optionsGroup('Dashboard:')
    .option('--no-dashboard', 'do not serve the dashboard of the operator to this machine')
    .optionsGroup('Types:')
    .option(
      '--no-check',
      'do not check the types after each reload; without this option, by the TypeScript of the project',
    )
  addScopeOptions(command)
    .optionsGroup('Cluster:')
    .option('--cluster', 'run on the cluster of the kubeconfig instead of the embedded server')
    .option(
      '--kubeconfig <file>',
      'with --cluster: use this kubeconfig; otherwise: write the kubeconfig of the embedded server to this file',
    )
    .option('--context <name>', 'with --cluster: use this context of the kubeconfig')
    .option('--crds', 'with --cluster: also keep the CRDs of the operator up to date on it')
    .option('-y, --yes', 'with --cluster: do not ask before running on a cluster that is not on this machine')
    .addOption(portOption())
    .addOption(dataDirOption())
    .addOption(controllersOption('without --cluster: '))
  addFrameworkLevelOption(addLoggingOptions(command))
  addExamples(command, [
    'npx kopf dev operator.ts --apply objects.yaml',
    'npx kopf dev operator.ts --cluster --context staging --namespace sandbox',
  ])
  addEnvironment(command, variables, {
    conventions: colourConventions,
    remarks: ['Options on the command line take precedence.'],
  })
  command.action(async (files: readonly string[]) => {
    readEnvironment(command, variables)
    await dev(command, files, command.opts<DevArguments>())
  })
}

function checkUsage(command: Command, { cluster, context, crds, yes, dataDir, controllers }: DevArguments): void {
  const fail = (option: string, how: string) =>
    command.error(`error: option '${option}' cannot be used ${how} '--cluster'.`)
  if (!cluster && context !== undefined) fail('--context', 'without')
  if (!cluster && crds) fail('--crds', 'without')
  if (!cluster && yes) fail('--yes', 'without')
  if (cluster && command.getOptionValueSource('port') === 'cli') fail('--port', 'with')
  if (cluster && dataDir !== undefined) fail('--data-dir', 'with')
  if (cluster && controllers !== undefined) fail('--controllers', 'with')
}

async function dev(command: Command, files: readonly string[], args: DevArguments): Promise<void> {
  checkUsage(command, args)
  const scope = readScope(command, args)
  const logging = new CommandLogging(args)
  const stopped = untilStopped()
  const folder = process.cwd()
  // Imported late: help and usage errors do not need it.
  const [{ CommandCluster }, { findTargets }, { Rebuilder }, { DevSession }, { DevKeys }, { TypeChecker }] =
    await Promise.all([
      import('../cluster.ts'),
      import('../loading/load.ts'),
      import('../dev/rebuild.ts'),
      import('../dev/dev-session.ts'),
      import('../dev/keys.ts'),
      import('../dev/type-check.ts'),
    ])
  const targets = await findTargets({ files, modules: [], folder })
  const objectFiles = (args.apply ?? []).map((file) => resolve(file))
  // A missing file is reported now, before the start. Errors in its content can be corrected later.
  await Promise.all(objectFiles.map(readManifest))
  await using rebuilder = await Rebuilder.create(
    targets.map(({ address }) => address),
    folder,
  )
  await using embedded = args.cluster ? undefined : await startEmbedded({ ...args, manifests: [] })
  await using cluster = embedded ? new CommandCluster(embedded.server.api) : await CommandCluster.open(args)
  const place = embedded ? undefined : { server: cluster.server ?? '', context: await findContext(args) }
  print(describeStart({ files, embedded, place, scope: describeScope(scope.namespaces) }))
  if (place) {
    warnOfScope(scope, args, logging.sink)
    if (!args.yes && !isLocalCluster(place)) await confirmCluster(place)
  }
  await using types = new TypeChecker({ file: targets[0]!.address, folder, hasColours: terminalAbilities().hasColours })
  const { verbose, debug, quiet, logFormat, logRefkey, logPrefix, logFrameworkLevel, kubeconfig, context } = args
  const eraseSequence = logging.wantsDisplay ? eraseLine() : ''
  const printLine = (line: string) => print(`${eraseSequence}kopf dev: ${line}`)
  await using session = new DevSession({
    targets,
    rebuilder,
    cluster,
    objectFiles,
    deletes: !args.cluster,
    folder,
    types,
    checksTypes: args.check,
    hasKeys: hasKeys(),
    stopped,
    emptyCluster: embedded && (() => emptyServer(cluster, args)),
    setup: {
      logging: { verbose, debug, quiet, logFormat, logRefkey, logPrefix } as LoggingArguments,
      run: {
        ...scope,
        priority: developerPriority,
        ...(logFrameworkLevel && { frameworkLogLevel: logFrameworkLevel }),
      },
      embedded: embedded && toConnection(embedded),
      cluster: { kubeconfig, context } as ClusterArguments,
      appliesCrds: args.cluster ? (args.crds ?? false) : true,
      hasDashboard: args.dashboard,
    },
    print: printLine,
  })
  await using dashboard = args.dashboard ? await startDashboard(session, printLine) : undefined
  if (dashboard) print(`Dashboard: ${dashboard.createLoginUrl()}`)
  const quit = new Promise<void>((resolveQuit) => void stopped.then(() => resolveQuit()))
  const keys = new DevKeys({
    session,
    dashboard,
    canReset: !args.cluster,
    quit: () => process.kill(process.pid, 'SIGINT'),
  })
  print(`${hasKeys() ? keys.summary : 'Stop it with Ctrl-C.'}\n`)
  using _keys = readKeys((key) => keys.press(key))
  await Promise.race([session.start(), quit])
  await quit
}

/** An address of the dashboard for the whole session, whose operators are restarted. */
async function startDashboard(session: DevSession, printLine: (line: string) => void): Promise<DevDashboard> {
  const { DevDashboard } = await import('../dev/dev-dashboard.ts')
  return await DevDashboard.start({
    current: () => session.current,
    holdOutput: (isHeld) => session.holdOutput(isHeld),
    print: printLine,
  })
}

/** Asks at a terminal. Fails without a terminal, and if the answer is not yes. */
async function confirmCluster(place: ClusterPlace): Promise<void> {
  const where = `the cluster ${describePlace(place)} is not on this machine`
  const why = `kopf dev pauses the operators of its peering there that have a lower priority than ${developerPriority}`
  if (!isInteractive()) {
    throw new KopfError('KOPF_CLUSTER', `Cannot start: ${where}, and ${why}; confirm it with --yes`)
  }
  if (!(await confirm(`kopf dev: ${where.replace('the', 'The')}, and ${why}. Continue?`))) {
    throw new KopfError('KOPF_STOPPED', 'Stopped: nothing was changed')
  }
}

/** Deletes all objects that a new server with the same options would not have. */
async function emptyServer(cluster: CommandCluster, { controllers = [] }: DevArguments): Promise<number> {
  const [{ ApiServer }, { resetCluster }] = await Promise.all([
    import('../../server/api-server.ts'),
    import('../dev/reset-cluster.ts'),
  ])
  const fresh = new ApiServer({ controllers })
  try {
    return await resetCluster(cluster, fresh)
  } finally {
    await fresh.close()
  }
}

function toConnection({ server: { url, token, ca } }: Embedded): ConnectionInfoOptions {
  return { server: url, ...(token !== undefined && { token }), ...(ca !== undefined && { caData: ca }) }
}

interface StartDescription {
  readonly files: readonly string[]
  readonly embedded: Embedded | undefined
  /** The cluster if there is no embedded server. */
  readonly place: ClusterPlace | undefined
  readonly scope: string
}

function describeStart({ files, embedded, place, scope }: StartDescription): string {
  const target = place ? describePlace(place) : `the embedded server at ${embedded!.server.url}`
  return [
    `kopf dev: ${files.join(', ')} on ${target}, ${scope}`,
    ...(embedded ? ['', 'To use it from another terminal:', `  export KUBECONFIG=${embedded.kubeconfig}`] : []),
    '',
  ].join('\n')
}
