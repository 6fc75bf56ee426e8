/** `kopf manifests`: prints the manifests for deploying an operator, with only the permissions that its handlers need, or writes a Helm chart. */
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import type { Operator } from '../../operator.ts'
import { readAllowedRules } from '../deployment/allow-option.ts'
import type { DraftArguments } from '../deployment/draft.ts'
import type { KnownForPlan } from '../deployment/known-resources.ts'
import type { DeploymentPlan } from '../deployment/plan.ts'
import { collect } from '../embedded.ts'
import { addExamples } from '../help.ts'
import type { LoadTarget } from '../loading/load.ts'
import { addScopeOptions, readScope, type ScopeArguments } from '../options/namespaces.ts'
import { addPrecedenceOptions, type PrecedenceArguments, readPrecedence } from '../options/peering.ts'
import { print, printNote, quoteForShell } from '../terminal.ts'

interface ManifestsArguments extends DraftArguments, ScopeArguments, PrecedenceArguments, KnownForPlan {
  readonly module?: readonly string[]
  readonly grant?: readonly string[]
  /** The folder of the chart. */
  readonly helm?: string
}

export function addManifestsCommand(program: Command): void {
  const command = program
    .command('manifests')
    .summary('print the manifests that deploy an operator')
    .description(
      'Prints the manifests that deploy the operator in these files, as YAML for `kubectl apply -f -`: a Deployment, its ' +
        'ServiceAccount, and roles with only the permissions that the handlers need. The operator is loaded, but not ' +
        'started. Options that `kopf run` also has are passed on to the program of `kopf build` in the image. With ' +
        '--helm, the same objects are written as a Helm chart.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
  addScopeOptions(command)
  addPrecedenceOptions(command)
    .optionsGroup('Deployment:')
    .option(
      '--name <name>',
      'the name of the Deployment and the other objects (default: the name of the operator, or of the folder)',
    )
    .option('--image <image>', 'the container image (default: the name with the tag latest)', parseImage)
    .option('--install-namespace <name>', 'the namespace in which the operator runs', 'default')
    .option('--create-namespace', 'also print that Namespace, with the label for restricted pods')
    .option(
      '--replicas <number>',
      'the number of pods; more than one need leader election (default: 2 with leader election, otherwise 1)',
      parseCount,
    )
    .option('--with-crds', 'also print the CRDs of the operator, as `kopf crd` does')
    .option(
      '--with-metrics',
      'serve metrics over HTTPS, and also print a ServiceMonitor, alerts, a Grafana dashboard and the permissions for them',
    )
    .option('--with-dashboard', 'serve the dashboard over HTTPS, with the permissions for it')
    .option('--helm <folder>', 'write a Helm chart with these objects into this folder, instead of printing YAML')
    .optionsGroup('Permissions:')
    .option(
      '--grant <rule>',
      'add a permission: "verbs resource [names]", such as "get,list secrets"; can be repeated',
      collect,
    )
    .option('--crd <file>', 'read the CRDs of other resources from this YAML or JSON file; can be repeated', collect)
    .optionsGroup('Cluster:')
    .option('--kubeconfig <file>', 'look up resources in the cluster of this kubeconfig')
    .option('--context <name>', 'look up resources in the cluster of this context')
  addExamples(command, [
    'npx kopf manifests operator.ts --image registry.example.com/databases:1.2.0',
    'npx kopf manifests operator.ts --with-crds -n team-a | kubectl apply -f -',
    'npx kopf manifests operator.ts --crd crd.yaml --grant "get,create secrets"',
    'npx kopf manifests operator.ts --grant "patch deployments.apps/scale"',
    'npx kopf manifests operator.ts --with-crds --helm chart',
  ]).action(async (files: readonly string[]) => manifests(command, files, command.opts<ManifestsArguments>()))
}

async function manifests(command: Command, files: readonly string[], args: ManifestsArguments): Promise<void> {
  const modules = args.module ?? []
  if (files.length + modules.length === 0) command.error('error: no operator. Name a file, or a module with --module.')
  if (args.helm !== undefined && args.createNamespace) {
    command.error(
      "error: option '--create-namespace' cannot be used with '--helm': a chart cannot create the namespace of its own release. " +
        'Use `helm install --create-namespace`.',
    )
  }
  const scope = readScope(command, args)
  const peering = readPrecedence(command, args)
  const grants = readAllowedRules(command, args.grant)
  // Imported late: help and usage errors do not need it.
  const [
    { findTargets, loadOperator },
    { discoverForPlan },
    { readSources },
    { findClientCalls: seeCalls },
    { draft },
    { render },
  ] = await Promise.all([
    import('../loading/load.ts'),
    import('../deployment/known-resources.ts'),
    import('../deployment/source/source-files.ts'),
    import('../deployment/source/seen-calls.ts'),
    import('../deployment/draft.ts'),
    import('../deployment/render.ts'),
  ])
  const folder = process.cwd()
  await using loaded = await loadOperator({ files, modules, folder })
  const resources = await discoverForPlan(loaded.operator, args)
  const targets = await findTargets({ files, modules, folder })
  const sources = await readSources(targets, folder)
  const { plan, remarks } = draft(loaded.operator, {
    ...args,
    folder,
    scope,
    peering,
    resources,
    grants,
    calls: { ...seeCalls(sources.files, resources), unread: sources.unread },
  })
  print(
    args.helm === undefined
      ? render(loaded.operator, plan, args)
      : await createHelmChart(loaded.operator, plan, {
          ...args,
          folder: args.helm,
          project: projectOf(targets, folder),
        }),
  )
  for (const text of remarks) printNote(text)
}

interface ChartTask extends Pick<DraftArguments, 'withCrds'> {
  /** The folder of the chart. */
  readonly folder: string
  /** A file of the operator's package. */
  readonly project: string
}

/** Returns the text to print. */
async function createHelmChart(operator: Operator, plan: DeploymentPlan, task: ChartTask): Promise<string> {
  const [{ PackageFinder }, { createChart }, { writeChart }] = await Promise.all([
    import('../build/packages.ts'),
    import('../deployment/helm/chart.ts'),
    import('../deployment/helm/write-chart.ts'),
  ])
  const { version } = new PackageFinder().packageOf(task.project) ?? {}
  const files = createChart(operator, plan, { ...task, version })
  await writeChart(task.folder, files)
  const chart = task.folder.includes('/') ? task.folder : `./${task.folder}`
  return [
    `${task.folder} is ready: ${[...files.keys()].join(', ')}`,
    '',
    `  helm upgrade --install ${plan.name} ${quoteForShell(chart)} --namespace ${plan.namespace}`,
  ].join('\n')
}

/** A path in the package of the operator, whose version becomes that of the chart. */
function projectOf([first]: readonly LoadTarget[], folder: string): string {
  return first?.isFile ? first.address : join(folder, 'package.json')
}

/** Catches mistakes in shell quoting; the registry and the kubelet check the rest. */
function parseImage(text: string): string {
  if (/^[\w.-]+(:\d+)?[\w./-]*(:[\w.-]+)?(@[\w:]+)?$/.test(text)) return text
  throw new InvalidArgumentError('Expected an image such as registry.example.com/databases:1.2.0.')
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 9999.')
}
