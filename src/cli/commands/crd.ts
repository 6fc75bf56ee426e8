/** `kopf crd`: prints the CRDs of an operator as YAML, or compares them with those in files or in a cluster. */
import type { Command } from 'commander'
import { isNotFound } from '../../client/api-error.ts'
import { KopfError } from '../../errors.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import type { Operator } from '../../operator.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { toJsonPatch } from '../../util/json/json-patch.ts'
import { formatYaml } from '../../util/yaml.ts'
import { collect } from '../embedded.ts'
import { addExamples } from '../help.ts'
import { addClusterOptions, type ClusterArguments } from '../options/cluster.ts'
import { isCrd, readManifest } from '../read-manifests.ts'
import { print, printable, printNote } from '../terminal.ts'

interface CrdArguments extends ClusterArguments {
  readonly module?: readonly string[]
  readonly check?: readonly string[]
  readonly checkCluster?: boolean
}

/** A file or a cluster with CRDs to compare. */
interface CrdSource {
  readonly name: string
  find(name: string): Promise<KubeObject | undefined>
}

export function addCrdCommand(program: Command): void {
  const command = program
    .command('crd')
    .summary('print the CRDs of an operator, or compare them with a file or a cluster')
    .description(
      'Prints the CustomResourceDefinitions of all resources that the operator in these files defines with defineResource, ' +
        'as YAML for `kubectl apply -f -`. With --check or --check-cluster, it prints the differences from a file or a ' +
        'cluster instead, and exits with 1 if there are any.',
    )
    .argument('[files...]', 'TypeScript or JavaScript files whose default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'also load this module, by a name or path as in an import; can be repeated', collect)
    .optionsGroup('Drift:')
    .option('--check <file>', 'compare with the CRDs in this YAML or JSON file; can be repeated', collect)
    .option('--check-cluster', 'compare with the CRDs in the cluster')
  addClusterOptions(command)
  addExamples(command, [
    'kopf crd operator.ts > crds.yaml',
    'kopf crd operator.ts | kubectl apply -f -',
    'kopf crd operator.ts --check crds.yaml',
    'kopf crd operator.ts --check-cluster --context production',
  ]).action(async (files: readonly string[]) => crdCommand(command, files, command.opts<CrdArguments>()))
}

async function crdCommand(command: Command, files: readonly string[], args: CrdArguments): Promise<void> {
  if (files.length + (args.module ?? []).length === 0)
    command.error('error: no operator. Name a file, or a module with --module.')
  // Imported late: help and usage errors do not need it.
  const { loadOperator } = await import('../loading/load.ts')
  await using loaded = await loadOperator({ files, modules: args.module ?? [], folder: process.cwd() })
  const crds = crdsOf(loaded.operator, [...files, ...(args.module ?? [])])
  if (args.check === undefined && !args.checkCluster) {
    print(toYaml(crds))
    return
  }
  const drift: string[] = []
  for (const file of args.check ?? []) drift.push(...(await compare(crds, await openFile(file))))
  if (args.checkCluster) drift.push(...(await compareWithCluster(crds, args)))
  if (drift.length === 0) {
    printNote(`No drift: ${crds.map(({ metadata }) => metadata.name).join(', ')}`)
    return
  }
  for (const line of drift) print(printable(line))
  throw new KopfError(
    'KOPF_DRIFT',
    `The definitions have drifted from those of the operator (${drift.length} ${drift.length === 1 ? 'place' : 'places'}): ` +
      'print them again with `kopf crd`, review the changes, and apply them',
  )
}

function crdsOf({ resources }: Operator, names: readonly string[]): KubeObject[] {
  if (resources.length > 0) return toCrds(resources as readonly CustomResource<object>[])
  throw new KopfError(
    'KOPF_CRD',
    `Cannot print definitions of ${names.join(', ')}: no handler is for a resource of defineResource; resources that ` +
      'are only named have their CRDs elsewhere',
  )
}

function toYaml(objects: readonly KubeObject[]): string {
  return objects.map(formatYaml).join('---\n').trimEnd()
}

async function compare(crds: readonly KubeObject[], source: CrdSource): Promise<string[]> {
  const drift: string[] = []
  for (const crd of crds) {
    const name = crd.metadata.name!
    const existing = await source.find(name)
    const lines = existing === undefined ? ['is not there'] : findDrift(crd, existing)
    drift.push(...lines.map((line) => `${source.name}: ${name}: ${line}`))
  }
  return drift
}

async function openFile(file: string): Promise<CrdSource> {
  const { objects } = await readManifest(file)
  const crds = objects.filter(isCrd) as KubeObject[]
  return { name: file, find: async (name) => crds.find(({ metadata }) => metadata?.name === name) }
}

async function compareWithCluster(crds: readonly KubeObject[], args: ClusterArguments): Promise<string[]> {
  const { CommandCluster, toCommandError } = await import('../cluster.ts')
  await using cluster = await CommandCluster.open(args)
  const resource = await cluster.find(['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'])
  return await compare(crds, {
    name: 'the cluster',
    async find(name) {
      try {
        return (await cluster.client.get(resource, name)) as KubeObject
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw toCommandError(error, { verb: 'compare', resource, name, verbs: ['get'] })
      }
    },
  })
}

/**
 * Describes the differences between the CRD of the operator and an existing one, one line each. Ignores fields that the API server sets, and
 * `conversion`, which operators write at run time.
 */
function findDrift(desired: KubeObject, existing: KubeObject): string[] {
  const before = comparable(existing)
  const operations = toJsonPatch(before, comparable(desired))
  return operations.map((operation) => {
    const keys = operation.path.slice(1).split('/').map(unescapeKey)
    const where = ['spec', ...keys].join('.')
    const found = valueAt(before, keys)
    if (operation.op === 'remove') return `${where} is ${brief(found)}, and the operator does not have it`
    if (operation.op === 'add') return `${where} is missing, and should be ${brief(operation.value)}`
    return `${where} is ${brief(found)}, and should be ${brief(operation.value)}`
  })
}

/** The compared part of a CRD. Versions are keyed by name, since their order has no meaning. */
function comparable({ spec = {} }: KubeObject): Json {
  const { conversion: _, preserveUnknownFields: __, versions, names, ...rest } = spec as CrdFields
  const listed = Array.isArray(versions) ? (versions as CrdFields[]) : []
  return {
    ...rest,
    names: isPlainObject(names) ? withoutEmpty(names) : {},
    versions: Object.fromEntries(listed.map(({ name, ...version }) => [String(name), version])),
  } as Json
}

type CrdFields = Record<string, Json>

function withoutEmpty(fields: CrdFields): CrdFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !(Array.isArray(value) && value.length === 0)))
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

function valueAt(value: Json, keys: readonly string[]): Json | undefined {
  let found: Json | undefined = value
  for (const key of keys) found = isPlainObject(found) ? (found as CrdFields)[key] : undefined
  return found
}

const maxLength = 100

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
