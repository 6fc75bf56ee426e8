/**
 * `kopf uninstall`: removes what an operator has left in a cluster. find-leftovers.ts finds it, this file shows it and asks, remove-leftovers.ts removes it.
 * The Deployment and the roles are those of `kopf manifests`; the command prints how to delete them.
 */
import type { Command } from 'commander'
import { KopfError } from '../../../errors.ts'
import { collect } from '../../embedded.ts'
import { addExamples } from '../../help.ts'
import { addClusterOptions, type ClusterArguments } from '../../options/cluster.ts'
import { readScope, type ScopeArguments } from '../../options/namespaces.ts'
import { confirm, isInteractive, print, printable, printNote } from '../../terminal.ts'
import { countObjects, describeObject, type FoundLeftovers, type Leftover } from './leftovers.ts'

interface UninstallArguments extends ClusterArguments, ScopeArguments {
  readonly module?: readonly string[]
  readonly name?: string
  readonly installNamespace?: string
  readonly peering?: string
  readonly crds?: boolean
  readonly force?: boolean
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** The number of object names that are printed per resource. */
const maxShown = 5

export function addUninstallCommand(program: Command): void {
  const command = program
    .command('uninstall')
    .summary('remove what an operator has left in a cluster')
    .description(
      'Removes the finalizer of the operator in these files from all objects, and deletes its webhook configurations, its ' +
        'Lease, its Secrets of certificates and of steps, and expired records in its peering. Refuses to do so while the ' +
        'operator runs. With --crds, it also deletes the CRDs, and all objects with them. It can be repeated.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
    .option('--name <name>', 'the name of the Deployment (default: the name of the operator, or of the folder)')
    .option(
      '--install-namespace <name>',
      'the namespace in which the operator ran (default: the one in the kubeconfig)',
    )
    .option('-P, --peering <name>', "the peering (default: the one in the operator's settings)")
    .optionsGroup('Scope:')
    .option(
      '-n, --namespace <pattern>',
      'release objects in this namespace, or in those that match a pattern; can be repeated',
      collect,
    )
    .option(
      '-A, --all-namespaces',
      'release objects in all namespaces and cluster-scoped objects, which is the default',
    )
  addClusterOptions(command)
    .optionsGroup('Options:')
    .option('--crds', 'also delete the CRDs of the operator, and with them all objects')
    .option('--force', 'uninstall even if the operator seems to run')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'only print what would be done')
  addExamples(command, [
    'npx kopf uninstall operator.ts --dry-run',
    'npx kopf uninstall operator.ts --install-namespace operators',
    'npx kopf uninstall operator.ts --crds --yes --context staging',
  ]).action(async (files: readonly string[]) => {
    const args = command.opts<UninstallArguments>()
    checkUsage(command, files, args)
    await uninstall(files, args, readScope(command, args).namespaces as readonly string[] | undefined)
  })
}

function checkUsage(command: Command, files: readonly string[], args: UninstallArguments): void {
  const fail = (why: string) => command.error(`error: ${why}`)
  if (files.length + (args.module ?? []).length === 0) fail('no operator. Name a file, or a module with --module.')
  if (args.crds && args.namespace !== undefined) {
    fail(
      "options '--crds' and '--namespace' cannot be used together: objects of all namespaces are deleted with a CRD.",
    )
  }
  if (args.crds && !args.yes && !args.dryRun && !isInteractive()) {
    fail("option '--crds' needs '--yes' where there is no terminal to ask at. See first with '--dry-run'.")
  }
}

async function uninstall(
  files: readonly string[],
  args: UninstallArguments,
  namespaces: readonly string[] | undefined,
): Promise<void> {
  // Imported late: help and usage errors do not need it.
  const [{ CommandCluster }, { loadOperator }, { toName }, { findLeftovers }, { removeLeftovers }] = await Promise.all([
    import('../../cluster.ts'),
    import('../../loading/load.ts'),
    import('../../scaffolding/scaffold.ts'),
    import('./find-leftovers.ts'),
    import('./remove-leftovers.ts'),
  ])
  const folder = process.cwd()
  await using loaded = await loadOperator({ files, modules: args.module ?? [], folder })
  const { operator } = loaded
  await using cluster = await CommandCluster.open(args)
  const installNamespace = args.installNamespace ?? cluster.namespace
  const found = await findLeftovers(operator, cluster, {
    name: args.name ?? operator.name ?? toName(folder),
    installNamespace,
    namespaces,
    peering: args.peering,
    crds: args.crds ?? false,
  })
  const { finalizer } = operator.settings.persistence
  show(found, finalizer)
  if (!(await isConfirmed(found, args))) return
  const failures = await removeLeftovers(
    cluster.session,
    { ...found, finalizer },
    { onDone: (text) => print(printable(text)), onFailure: (text) => printNote(printable(text)) },
  )
  if (failures > 0) {
    throw new KopfError(
      'KOPF_UNINSTALL',
      'Cannot remove everything: the reasons are above; run the command again after you have corrected them',
    )
  }
  const target = [...files, ...(args.module ?? []).map((name) => `--module ${name}`)].join(' ')
  printNote(
    'The Deployment and the roles stay. Delete them with the options that they were made with, apart from --with-crds:\n' +
      `  npx kopf manifests ${printable(target)} --install-namespace ${printable(installNamespace)} | kubectl delete --ignore-not-found -f -`,
  )
}

function show({ leftovers, notes, problems }: FoundLeftovers, finalizer: string): void {
  if (leftovers.length > 0) printNote('Left by the operator:')
  for (const leftover of leftovers) printNote(`  ${printable(describeLeftover(leftover, finalizer))}`)
  for (const text of [...notes, ...problems]) printNote(printable(text))
}

function describeLeftover(leftover: Leftover, finalizer: string): string {
  switch (leftover.type) {
    case 'object':
      return describeObject(leftover.resource, leftover.object)
    case 'records': {
      const { length } = leftover.identities
      return `${length} expired ${length === 1 ? 'record' : 'records'} in ${describeObject(leftover.resource, leftover.object)}`
    }
    case 'crd': {
      const { metadata } = leftover.object
      return `CustomResourceDefinition ${metadata.name}, with ${countObjects(leftover.objects)}, which are deleted with it`
    }
    case 'finalizer': {
      const { held, resource } = leftover
      const names = held
        .slice(0, maxShown)
        .map(({ name, namespace }) => (namespace === undefined ? name : `${namespace}/${name}`))
      const more = held.length > maxShown ? ` and ${held.length - maxShown} more` : ''
      return `the finalizer "${finalizer}" on ${countObjects(held.length)} of ${resource.plural}: ${names.join(', ')}${more}`
    }
  }
}

/** Throws if the operator seems to run. Asks for confirmation on a terminal. */
async function isConfirmed({ leftovers, signs, problems }: FoundLeftovers, args: UninstallArguments): Promise<boolean> {
  const running = signs.join('; ')
  if (signs.length > 0 && (args.force || args.dryRun)) printNote(printable(`The operator seems to run: ${running}`))
  if (args.dryRun) {
    print('Nothing was changed: this was a dry run.')
    return false
  }
  if (signs.length > 0 && !args.force) {
    throw new KopfError(
      'KOPF_UNINSTALL',
      printable(
        `Cannot uninstall the operator: it seems to run: ${running}; stop it and wait, since it would add its finalizer again; or use --force`,
      ),
    )
  }
  if (leftovers.length === 0 && problems.length === 0)
    print('The operator has left nothing: there is nothing to remove.')
  if (leftovers.length === 0 || args.yes || !isInteractive()) return true
  const objects = leftovers.reduce((sum, one) => sum + (one.type === 'crd' ? one.objects : 0), 0)
  if (await confirm(args.crds ? `Remove all this, and delete ${countObjects(objects)}?` : 'Remove all this?'))
    return true
  print('Nothing was changed.')
  return false
}
