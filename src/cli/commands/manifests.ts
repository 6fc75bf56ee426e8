/** `kopf manifests`: prints the manifests for deploying an operator, with only the permissions that its handlers need. */
import { type Command, InvalidArgumentError } from 'commander'
import { readAllowedRules } from '../deployment/allow-option.ts'
import type { DraftArguments } from '../deployment/draft.ts'
import type { KnownForPlan } from '../deployment/known-resources.ts'
import { collect } from '../embedded.ts'
import { addExamples } from '../help.ts'
import { addScopeOptions, readScope, type ScopeArguments } from '../options/namespaces.ts'
import { addPrecedenceOptions, type PrecedenceArguments, readPrecedence } from '../options/peering.ts'
import { print, printNote } from '../terminal.ts'

interface ManifestsArguments extends DraftArguments, ScopeArguments, PrecedenceArguments, KnownForPlan {
  readonly module?: readonly string[]
  readonly grant?: readonly string[]
}

export function addManifestsCommand(program: Command): void {
  const command = program
    .command('manifests')
    .summary('print all that an operator needs in a cluster')
    .description(
      'Prints a Deployment with its ServiceAccount, the roles that the handlers of these files need and no more, and what else ' +
        'it takes, as YAML for `kubectl apply -f -`. The operator is loaded, and not started. Options that `kopf run` has, ' +
        'too, mean the same and are passed on to the program of `kopf build` in the image.',
    )
    .argument('[files...]', 'TypeScript or JavaScript; their default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'load this module too: what import takes; can be repeated', collect)
  addScopeOptions(command)
  addPrecedenceOptions(command)
    .optionsGroup('Deployment:')
    .option('--name <name>', 'of the Deployment and all else (default: that of the operator, or of the folder)')
    .option('--image <image>', 'the image to run (default: the name and :latest, which is hardly ever right)')
    .option('--install-namespace <name>', 'where the operator itself runs', 'default')
    .option('--create-namespace', 'print that namespace, too, for restricted pods')
    .option(
      '--replicas <number>',
      'how many pods; more than one elect a leader (default: 2 if they do, else 1)',
      parseCount,
    )
    .option('--with-crds', 'print the definitions (CRDs) of the operator, too, as `kopf crd` does')
    .optionsGroup('Rights:')
    .option('--grant <rule>', 'allow this, too: "verbs resource [names]"; can be repeated', collect)
    .option('--crd <file>', 'know the definitions (CRDs) in this YAML or JSON file; can be repeated', collect)
    .optionsGroup('Cluster:')
    .option('--kubeconfig <file>', 'know the resources of the cluster of this kubeconfig')
    .option('--context <name>', 'know the resources of the cluster of this context')
  addExamples(command, [
    'kopf manifests operator.ts --image registry.example.com/databases:1.2.0',
    'kopf manifests operator.ts --with-crds -n team-a | kubectl apply -f -',
    'kopf manifests operator.ts --crd crd.yaml --grant "get,create secrets"',
    'kopf manifests operator.ts --grant "patch deployments.apps/scale"',
  ]).action(async (files: readonly string[]) => manifests(command, files, command.opts<ManifestsArguments>()))
}

async function manifests(command: Command, files: readonly string[], args: ManifestsArguments): Promise<void> {
  const modules = args.module ?? []
  if (files.length + modules.length === 0) command.error('error: name the file of an operator')
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
  const sources = await readSources(await findTargets({ files, modules, folder }), folder)
  const { plan, remarks } = draft(loaded.operator, {
    ...args,
    folder,
    scope,
    peering,
    resources,
    grants,
    calls: seeCalls(sources, resources),
  })
  print(render(loaded.operator, plan, args))
  for (const text of remarks) printNote(text)
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 1 to 9999.')
}
