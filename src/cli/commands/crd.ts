/** `kopf crd`: the definitions (CRDs) of an operator as YAML, and whether a file or a cluster still has them as they are. */
import type { Command } from 'commander'
import { isNotFound } from '../../client/api-error.ts'
import { KopfError } from '../../errors.ts'
import { toCrds } from '../../kube/crd.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { CustomResource } from '../../kube/resources.ts'
import type { Operator } from '../../operator.ts'
import { formatYaml } from '../../util/yaml.ts'
import { addClusterOptions, type ClusterArguments } from '../cluster-options.ts'
import { findDrift } from '../drift.ts'
import { collect } from '../embedded.ts'
import { addExamples } from '../help.ts'
import { isDefinition, readManifest } from '../manifests.ts'
import { print, printable, remark } from '../terminal.ts'

interface CrdArguments extends ClusterArguments {
  readonly module?: readonly string[]
  readonly check?: readonly string[]
  readonly checkCluster?: boolean
}

/** Where definitions may be that are to agree with ours. */
interface Place {
  readonly name: string
  find(name: string): Promise<KubeObject | undefined>
}

export function addCrdCommand(program: Command): void {
  const command = program
    .command('crd')
    .summary('print the definitions (CRDs) of an operator, or check them for drift')
    .description(
      'Prints the CustomResourceDefinitions of all resources that the operator of these files has made with ' +
        'defineResource, as YAML for `kubectl apply -f -`. With --check or --check-cluster it prints nothing, but tells ' +
        'where a file or a cluster has something else, and exits with 1 then.',
    )
    .argument('[files...]', 'TypeScript or JavaScript; their default export is an operator')
    .optionsGroup('Operator:')
    .option('-m, --module <name>', 'load this module too: what import takes; can be repeated', collect)
    .optionsGroup('Drift:')
    .option('--check <file>', 'compare with the definitions in this YAML or JSON file; can be repeated', collect)
    .option('--check-cluster', 'compare with the definitions that the cluster has')
  addClusterOptions(command)
  addExamples(command, [
    'kopf crd operator.ts > crds.yaml',
    'kopf crd operator.ts | kubectl apply -f -',
    'kopf crd operator.ts --check crds.yaml',
    'kopf crd operator.ts --check-cluster --context production',
  ]).action(async (files: readonly string[]) => crd(command, files, command.opts<CrdArguments>()))
}

async function crd(command: Command, files: readonly string[], args: CrdArguments): Promise<void> {
  if (files.length + (args.module ?? []).length === 0) command.error('error: name the file of an operator')
  // Only now: help and wrong usage need none of it.
  const { loadOperator } = await import('../load.ts')
  await using loaded = await loadOperator({ files, modules: args.module ?? [], folder: process.cwd() })
  const definitions = definitionsOf(loaded.operator, [...files, ...(args.module ?? [])])
  if (args.check === undefined && !args.checkCluster) {
    print(toYaml(definitions))
    return
  }
  const drift: string[] = []
  for (const file of args.check ?? []) drift.push(...(await compare(definitions, await openFile(file))))
  if (args.checkCluster) drift.push(...(await compareWithCluster(definitions, args)))
  if (drift.length === 0) {
    remark(`No drift: ${definitions.map(({ metadata }) => metadata.name).join(', ')}`)
    return
  }
  for (const line of drift) print(printable(line))
  throw new KopfError(
    'KOPF_DRIFT',
    `The definitions have drifted from those of the operator (${drift.length} ${drift.length === 1 ? 'place' : 'places'}): ` +
      'print them anew with `kopf crd`, look at what changes, and apply them',
  )
}

function definitionsOf({ resources }: Operator, names: readonly string[]): KubeObject[] {
  if (resources.length > 0) return toCrds(resources as readonly CustomResource<object>[])
  throw new KopfError(
    'KOPF_CRD',
    `Cannot print definitions of ${names.join(', ')}: no handler is for a resource of defineResource; resources that ` +
      'are only named are defined by somebody else',
  )
}

function toYaml(objects: readonly KubeObject[]): string {
  return objects.map(formatYaml).join('---\n').trimEnd()
}

async function compare(definitions: readonly KubeObject[], place: Place): Promise<string[]> {
  const drift: string[] = []
  for (const definition of definitions) {
    const name = definition.metadata.name!
    const present = await place.find(name)
    const lines = present === undefined ? ['is not there'] : findDrift(definition, present)
    drift.push(...lines.map((line) => `${place.name}: ${name}: ${line}`))
  }
  return drift
}

async function openFile(file: string): Promise<Place> {
  const { objects } = await readManifest(file)
  const definitions = objects.filter(isDefinition) as KubeObject[]
  return { name: file, find: async (name) => definitions.find(({ metadata }) => metadata?.name === name) }
}

async function compareWithCluster(definitions: readonly KubeObject[], args: ClusterArguments): Promise<string[]> {
  const { Cluster, toCommandError } = await import('../cluster.ts')
  await using cluster = await Cluster.open(args)
  const resource = await cluster.find(['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'])
  return await compare(definitions, {
    name: 'the cluster',
    async find(name) {
      try {
        return (await cluster.client.get(resource, name)) as KubeObject
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw toCommandError(error, { verb: 'compare', resource, name, needs: ['get'] })
      }
    },
  })
}
