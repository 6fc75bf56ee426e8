/**
 * `kopf crd migrate`: moves stored objects to the storage version of their CRD, and removes old versions from `status.storedVersions`, so that these can be
 * removed from the CRD. The cluster does it (storage-version-migration.ts), or else this command rewrites the objects (rewrite-objects.ts).
 */
import { type Command, InvalidArgumentError } from 'commander'
import { isNotFound } from '../../../client/api-error.ts'
import { KopfError } from '../../../errors.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { Resource } from '../../../kube/resources/resources.ts'
import { systemClock, trySleep } from '../../../util/async/clock.ts'
import { describeError } from '../../../util/log/describe-error.ts'
import { untilSignal } from '../../../util/process/signals.ts'
import { suggestName } from '../../../util/text/did-you-mean.ts'
import type { CommandCluster } from '../../cluster.ts'
import { collect } from '../../embedded.ts'
import { addExamples } from '../../help.ts'
import { addClusterOptions, type ClusterArguments } from '../../options/cluster.ts'
import { createStatusLine, print, printable, printNote, terminalAbilities } from '../../terminal.ts'
import type { CheckArguments } from './check.ts'
import type { MigrationPlan, MigrationTarget } from './migration-plan.ts'
import type { RewriteCounts } from './rewrite-objects.ts'

interface MigrateArguments extends ClusterArguments {
  readonly module?: readonly string[]
  readonly crd?: readonly string[]
  readonly rate: number
  readonly rewrite?: boolean
  readonly dryRun?: boolean
}

/** Every API server sees a change of a CRD by its own watch. Objects that it writes before are stored in the old version. */
const propagationMs = 5000

const crdStatus = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions/status',
  namespaced: false,
}

/** The number of failures that are printed; all are counted. */
const maxShown = 20

export function addMigrateCommand(parent: Command): void {
  const command = parent
    .command('migrate')
    .summary('move stored objects to the storage version')
    .description(
      'Stores all objects in the storage version of their CRD, and then removes the other versions from ' +
        'status.storedVersions, so that they can be removed from the CRD. Uses StorageVersionMigration if the ' +
        'cluster has it, or else rewrites each object without a change. It can be stopped with Ctrl-C and run again.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Objects:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
    .option('--crd <name>', 'migrate the objects of this CRD, such as databases.example.com; can be repeated', collect)
    .optionsGroup('Writes:')
    .option('--rate <number>', 'rewrite at most this many objects per second', parseRate, 20)
    .option('--rewrite', 'rewrite the objects even if the cluster has StorageVersionMigration')
    .option('--dry-run', 'only print what would be done')
  addClusterOptions(command)
  addExamples(command, [
    'npx kopf crd migrate operator.ts --dry-run',
    'npx kopf crd migrate operator.ts --context production',
    'npx kopf crd migrate --crd databases.example.com --rate 5',
  ]).action(async (files: readonly string[]) => {
    // The parent command has some of the options, too, and takes them even if they follow the name of this command.
    const args = command.optsWithGlobals<MigrateArguments & CheckArguments>()
    if (args.check !== undefined || args.checkCluster)
      command.error("error: options '--check' and '--check-cluster' cannot be used with 'migrate'.")
    if (files.length + (args.module ?? []).length + (args.crd ?? []).length === 0) {
      command.error('error: nothing to migrate. Name the file of an operator, or a CRD with --crd.')
    }
    await migrateAll(files, args)
  })
}

function parseRate(text: string): number {
  const rate = Number(text)
  if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && rate > 0) return rate
  throw new InvalidArgumentError('Expected a number of writes per second, more than 0 and below 10000.')
}

async function migrateAll(files: readonly string[], args: MigrateArguments): Promise<void> {
  const { CommandCluster } = await import('../../cluster.ts')
  const names = await findNames(files, args)
  await using cluster = await CommandCluster.open(args)
  const plans: Array<{ readonly name: string; readonly plan: MigrationPlan }> = []
  for (const name of names) plans.push({ name, plan: await readPlan(cluster, name) })
  const targets = plans.flatMap(({ plan }) => (plan.type === 'migrate' ? [plan.target] : []))
  for (const { name, plan } of plans) {
    if (plan.type === 'done') print(`${name}: all objects are stored in ${plan.storage}: there is nothing to migrate.`)
  }
  if (targets.length > 0) await new Migration(cluster, args).run(targets)
}

async function findNames(files: readonly string[], { module = [], crd = [] }: MigrateArguments): Promise<Set<string>> {
  if (files.length + module.length === 0) return new Set(crd)
  const { loadCrds } = await import('./load-crds.ts')
  const crds = await loadCrds(files, module, 'migrate')
  return new Set([...crds.map(({ metadata }) => metadata.name!), ...crd])
}

async function readPlan(cluster: CommandCluster, name: string): Promise<MigrationPlan> {
  const [{ planMigration }, { crdsResource }, { toCommandError }] = await Promise.all([
    import('./migration-plan.ts'),
    import('../../../kube/resources/well-known.ts'),
    import('../../cluster.ts'),
  ])
  try {
    return planMigration((await cluster.client.get(crdsResource, name)) as KubeObject)
  } catch (error) {
    if (!isNotFound(error))
      throw toCommandError(error, { verb: 'migrate the objects of', resource: crdsResource, name, verbs: ['get'] })
    const known = (await cluster.resources()).map(({ plural, group }) => `${plural}.${group}`)
    const suggestion = suggestName(name, known)
    const advice = suggestion === undefined ? 'apply it first' : `did you mean "${suggestion}"?`
    throw new KopfError(
      'KOPF_NOT_FOUND',
      `Cannot migrate the objects of ${name}: the cluster has no such CRD; ${advice}`,
    )
  }
}

/** One run of the command, with the signals that stop it. */
class Migration {
  readonly #cluster: CommandCluster
  readonly #args: MigrateArguments
  readonly #stopping = new AbortController()
  readonly #line = terminalAbilities().canRedraw ? createStatusLine() : undefined

  constructor(cluster: CommandCluster, args: MigrateArguments) {
    this.#cluster = cluster
    this.#args = args
  }

  async run(targets: readonly MigrationTarget[]): Promise<void> {
    const { findMigrationResource } = await import('./storage-version-migration.ts')
    const api = this.#args.rewrite ? undefined : findMigrationResource(await this.#cluster.resources())
    if (this.#args.dryRun) return await this.#describe(targets, api)
    const over = new AbortController()
    void untilSignal({ until: over.signal }).then(() => this.#stopping.abort())
    try {
      this.#show(`Waiting ${propagationMs / 1000} s until all API servers have seen the current CRDs`)
      await trySleep(systemClock, propagationMs, this.#stopping.signal)
      for (const target of targets) await this.#migrate(target, api)
    } finally {
      over.abort()
      this.#line?.clear()
    }
  }

  async #describe(targets: readonly MigrationTarget[], api: Resource | undefined): Promise<void> {
    const { listPages } = await import('./rewrite-objects.ts')
    const how =
      api === undefined
        ? `by rewriting them, at most ${this.#args.rate} per second`
        : `by StorageVersionMigration (${api.version})`
    for (const target of targets) {
      const { objects, remaining } = (await listPages(this.#cluster.session, target.resource).next()).value
      const number = objects.length + remaining
      print(`${target.crd}: ${count(number)} would be stored in ${target.storage}, ${how}; ${describePruning(target)}`)
    }
    print('Nothing was changed: this was a dry run.')
  }

  async #migrate(target: MigrationTarget, api: Resource | undefined): Promise<void> {
    const [{ pruneStoredVersions }, { toCommandError }] = await Promise.all([
      import('./migration-plan.ts'),
      import('../../cluster.ts'),
    ])
    const how = (await this.#migrateByCluster(target, api)) ?? (await this.#rewrite(target))
    this.#throwIfStopped(target)
    await pruneStoredVersions(this.#cluster.session, target).catch((error) => {
      throw toCommandError(error, { verb: 'patch', resource: crdStatus, name: target.crd, verbs: ['patch'] })
    })
    print(`${target.crd}: ${how}; ${describePruning(target)}`)
  }

  /** Resolves to undefined if the cluster cannot do it. */
  async #migrateByCluster(target: MigrationTarget, api: Resource | undefined): Promise<string | undefined> {
    if (api === undefined) return undefined
    const { migrateByCluster } = await import('./storage-version-migration.ts')
    this.#show(`${target.crd}: waiting for the StorageVersionMigration`)
    const result = await migrateByCluster(this.#cluster.session, api, target, this.#stopping.signal)
    if (result.type === 'succeeded')
      return `the cluster has stored all objects in ${target.storage}, by StorageVersionMigration`
    if (result.type === 'unavailable')
      printNote(printable(`The cluster ${result.why}: the objects are rewritten instead`))
    return undefined
  }

  async #rewrite(target: MigrationTarget): Promise<string> {
    this.#throwIfStopped(target)
    const [{ countDone, rewriteObjects }, { toCommandError }] = await Promise.all([
      import('./rewrite-objects.ts'),
      import('../../cluster.ts'),
    ])
    let shown = 0
    const counts = await rewriteObjects(this.#cluster.session, target.resource, {
      rate: this.#args.rate,
      signal: this.#stopping.signal,
      onProgress: (current) => this.#show(`${target.crd}: ${countDone(current)} of ${count(current.total)}`),
      onFailure(name, error) {
        shown += 1
        if (shown <= maxShown) printNote(printable(`Cannot rewrite ${target.crd} ${name}: ${describeError(error)}`))
      },
    }).catch((error) => {
      throw toCommandError(error, { verb: 'rewrite', resource: target.resource, verbs: ['list', 'patch'] })
    })
    this.#throwIfStopped(target, countDone(counts))
    if (counts.failed === 0) return describeCounts(counts, target)
    throw new KopfError(
      'KOPF_MIGRATE',
      `Cannot migrate ${count(counts.failed)} of ${target.crd}: the reasons are above; status.storedVersions is still ` +
        `${target.storedVersions.join(', ')}; correct the objects and run the command again`,
    )
  }

  #show(text: string): void {
    this.#line?.show((columns) => text.slice(0, columns))
  }

  #throwIfStopped({ crd, storedVersions }: MigrationTarget, done = 0): void {
    if (!this.#stopping.signal.aborted) return
    throw new KopfError(
      'KOPF_STOPPED',
      `Stopped the migration of ${crd} after ${count(done)}; status.storedVersions is still ${storedVersions.join(', ')}; run the command ` +
        'again: objects that are migrated already are not written again',
    )
  }
}

function describeCounts({ rewritten, unchanged, skipped }: RewriteCounts, { storage }: MigrationTarget): string {
  const parts = [`${count(rewritten)} rewritten in ${storage}`]
  if (unchanged > 0) parts.push(`${unchanged} stored in it before`)
  if (skipped > 0) parts.push(`${skipped} changed or deleted meanwhile`)
  return parts.join(', ')
}

function describePruning({ storedVersions, storage }: MigrationTarget): string {
  return `status.storedVersions: ${storedVersions.join(', ')} -> ${storage}`
}

function count(number: number): string {
  return `${number} ${number === 1 ? 'object' : 'objects'}`
}
