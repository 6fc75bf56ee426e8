/** `kopf release`: removes the finalizer of an operator that no longer runs from objects. Changes nothing else. */
import type { Command } from 'commander'
import { KopfError } from '../../errors.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { addExamples } from '../help.ts'
import { addClusterOptions, type ClusterArguments, readObjectName, resourceArgument } from '../options/cluster.ts'
import { addOperatorOptions, loadOperatorFiles, type OperatorArguments } from '../options/operator-files.ts'
import { confirm, isInteractive, print, printable, printNote } from '../terminal.ts'
import type { HeldByFinalizer, Released } from './release-objects.ts'

interface ReleaseArguments extends OperatorArguments, ClusterArguments {
  readonly namespace?: string
  readonly allNamespaces?: boolean
  readonly all?: boolean
  readonly finalizer?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** The number of object names that are printed. */
const maxShown = 20

export function addReleaseCommand(program: Command): void {
  const command = program
    .command('release')
    .summary('remove the finalizer of an operator from objects, so that they can be deleted')
    .description(
      'Removes the finalizer of an operator from one object, or from all objects that have it. Use it when the operator no ' +
        'longer runs and will not clean up. Other finalizers stay. An object that is being deleted and has no other finalizer ' +
        'is then deleted. An operator that runs adds its finalizer again.',
    )
    .argument('<resource>', resourceArgument)
    .argument('[name]', 'the name of the object, unless it is part of resource/name')
    .optionsGroup('Objects:')
    .option('--all', 'release all objects that have the finalizer, instead of one by its name')
    .option('-n, --namespace <name>', 'the namespace of the objects (default: the one in the kubeconfig)')
    .option('-A, --all-namespaces', 'with --all: release objects in all namespaces')
    .option('--finalizer <name>', "the finalizer (default: the one in the operator's settings, or that of Kopf)")
  addOperatorOptions(command)
  addClusterOptions(command)
    .optionsGroup('Options:')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'only print what would be done')
  addExamples(command, [
    'npx kopf release kopfexamples kopf-example-1',
    'npx kopf release databases.example.com --all -n staging --dry-run',
    'npx kopf release kopfexamples --all -A --file operator.ts --yes',
  ]).action(async (target: string, given: string | undefined) => {
    const args = command.opts<ReleaseArguments>()
    const { resource, name } = readObjectName(command, target, given)
    checkUsage(command, name, args)
    await release(resource, name, args)
  })
}

function checkUsage(command: Command, name: string | undefined, args: ReleaseArguments): void {
  const { all, allNamespaces, namespace, yes, dryRun } = args
  const fail = (why: string) => command.error(`error: ${why}`)
  if (name === undefined && !all) fail('nothing to release. Name an object, or all of them with --all.')
  if (name !== undefined && all) fail("a name and option '--all' cannot be used together.")
  if (allNamespaces && !all) fail("option '--all-namespaces' cannot be used without '--all'.")
  if (allNamespaces && namespace !== undefined) {
    fail("options '--namespace' and '--all-namespaces' cannot be used together.")
  }
  if (all && !yes && !dryRun && !isInteractive()) {
    fail("option '--all' needs '--yes' where there is no terminal to ask at. See first with '--dry-run'.")
  }
}

async function release(resourceName: string, name: string | undefined, args: ReleaseArguments): Promise<void> {
  const [{ CommandCluster, toCommandError }, { findHeld, releaseAll }] = await Promise.all([
    import('../cluster.ts'),
    import('./release-objects.ts'),
  ])
  await using loaded = await loadOperatorFiles(args)
  const finalizer = args.finalizer ?? loaded.operator.settings.persistence.finalizer
  await using cluster = await CommandCluster.open(args)
  const resource = await cluster.find(resourceName)
  const namespace = args.allNamespaces ? undefined : (args.namespace ?? cluster.namespace)
  const action = { verb: 'release', resource, name, namespace, verbs: [name === undefined ? 'list' : 'get', 'patch'] }
  const query = { finalizer, resource, name, namespace: resource.namespaced ? namespace : undefined }
  const held = await findHeld(cluster.session, query).catch(async (error) => {
    throw await cluster.explainError(error, action)
  })
  if (held.length === 0) {
    if (name === undefined && query.namespace !== undefined) await cluster.checkNamespace(query.namespace, action)
    return print(describeNothing(resource, name, finalizer))
  }
  if (!(await isConfirmed(held, finalizer, args))) return
  const released = await releaseAll(cluster.session, held, query, ({ name, namespace }, error) =>
    printNote(printable(messageOf(toCommandError(error, { ...action, name, namespace })))),
  )
  print(summarize(released))
  if (released.failed === 0) return
  throw new KopfError('KOPF_RELEASE', `Cannot release ${count(released.failed)}: the reasons are above`)
}

function describeNothing({ plural }: Resource, name: string | undefined, finalizer: string): string {
  const who = name === undefined ? `None of these ${plural} has` : `${plural} "${name}" does not have`
  return `${who} the finalizer "${finalizer}": there is nothing to release.`
}

/** Prints the objects that will be released, and asks for confirmation on a terminal. */
async function isConfirmed(
  held: readonly HeldByFinalizer[],
  finalizer: string,
  args: ReleaseArguments,
): Promise<boolean> {
  const lines = held
    .slice(0, maxShown)
    .map((one) => `  ${printable(nameOf(one))}${one.isDeleting ? ' (being deleted)' : ''}`)
  if (held.length > maxShown) lines.push(`  … and ${held.length - maxShown} more`)
  const notDeleting = held.filter(({ isDeleting }) => !isDeleting).length
  printNote(`The finalizer "${printable(finalizer)}" will be removed from ${count(held.length)}:\n${lines.join('\n')}`)
  if (notDeleting > 0)
    printNote(`Not being deleted: ${notDeleting} of ${held.length}. A running operator adds the finalizer again.`)
  if (args.dryRun) {
    print('Nothing was changed: this was a dry run.')
    return false
  }
  if (args.yes || !isInteractive()) return true
  if (await confirm(`Release ${count(held.length)}?`)) return true
  print('Nothing was changed.')
  return false
}

function summarize({ released, gone }: Released): string {
  const parts = [`Released ${count(released)}`]
  if (gone > 0) parts.push(`${count(gone)} were deleted or released in the meantime`)
  return `${parts.join('; ')}.`
}

function count(number: number): string {
  return `${number} ${number === 1 ? 'object' : 'objects'}`
}

function nameOf({ namespace, name }: HeldByFinalizer): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
