/**
 * `kopf crd --check` and `--check-cluster`: compares the CRDs of an operator with those in files or in a cluster, and prints the differences by
 * their severity. kube/crds/compare decides which differences are breaking.
 */
import { isNotFound } from '../../../client/api-error.ts'
import { KopfError } from '../../../errors.ts'
import { compareCrds, newCrd } from '../../../kube/crds/compare/compare-crds.ts'
import type { CrdDifference, Severity } from '../../../kube/crds/compare/crd-difference.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { toJsonText } from '../../../util/json/json-text.ts'
import { CommandCluster, toCommandError } from '../../cluster.ts'
import type { ClusterArguments } from '../../options/cluster.ts'
import { isCrd, readManifest } from '../../read-manifests.ts'
import { outputPalette, print, printable, printNote } from '../../terminal.ts'

export interface CheckArguments extends ClusterArguments {
  readonly check?: readonly string[]
  readonly checkCluster?: boolean
  readonly failOn: 'any' | 'breaking'
  readonly output: 'text' | 'json'
}

/** A file or a cluster with CRDs to compare. */
interface CrdSource {
  readonly name: string
  find(crd: KubeObject): Promise<KubeObject | undefined>
}

/** A difference between a CRD of the operator and that of a source. */
interface FoundDifference extends CrdDifference {
  readonly source: string
  readonly crd: string
}

/** Prints the differences. Throws KOPF_DRIFT if there are some that `--fail-on` names. */
export async function checkCrds(crds: readonly KubeObject[], args: CheckArguments): Promise<void> {
  const found: FoundDifference[] = []
  for (const file of args.check ?? []) found.push(...(await compare(crds, await openFile(file))))
  if (args.checkCluster) found.push(...(await compareWithCluster(crds, args)))
  const breaking = found.filter(({ severity }) => severity === 'breaking')
  const compatible = found.filter(({ severity }) => severity === 'compatible')
  if (args.output === 'json') print(toJsonText({ breaking, compatible }))
  else for (const group of [breaking, compatible]) printGroup(group)
  if (found.length === 0) {
    printNote(`No difference: ${crds.map(({ metadata }) => metadata.name).join(', ')}`)
    return
  }
  const summary =
    `The CRDs differ from those of the operator (${count(found.length, 'difference')}): ` +
    (breaking.length === 0
      ? 'none is breaking'
      : `${breaking.length} of them ${breaking.length === 1 ? 'is' : 'are'} breaking`)
  if (args.failOn === 'breaking' && breaking.length === 0) printNote(summary)
  else
    throw new KopfError(
      'KOPF_DRIFT',
      `${summary}; print them again with \`npx kopf crd\`, review the changes, and apply them`,
    )
}

async function compare(crds: readonly KubeObject[], source: CrdSource): Promise<FoundDifference[]> {
  const found: FoundDifference[] = []
  for (const crd of crds) {
    const existing = await source.find(crd)
    const differences = existing === undefined ? [newCrd] : compareCrds(existing, crd)
    for (const one of differences) found.push({ source: source.name, crd: crd.metadata.name!, ...one })
  }
  return found
}

/** In a file, a CRD with another plural or group is found by its kind: this is a breaking change of the name, not a new CRD. */
async function openFile(file: string): Promise<CrdSource> {
  const { objects } = await readManifest(file)
  const crds = objects.filter(isCrd) as KubeObject[]
  return {
    name: file,
    async find({ metadata: { name }, spec }) {
      const exact = crds.find(({ metadata }) => metadata?.name === name)
      return exact ?? crds.find((other) => isRenamed(other.spec as CrdNaming, spec as CrdNaming))
    },
  }
}

interface CrdNaming {
  readonly group?: string
  readonly names?: { readonly kind?: string; readonly plural?: string }
}

function isRenamed(before: CrdNaming | undefined, { group, names }: CrdNaming): boolean {
  if (before?.names?.kind !== names?.kind) return before?.group === group && before?.names?.plural === names?.plural
  return before?.group === group || before?.names?.plural === names?.plural
}

async function compareWithCluster(crds: readonly KubeObject[], args: ClusterArguments): Promise<FoundDifference[]> {
  await using cluster = await CommandCluster.open(args)
  const resource = await cluster.find(['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'])
  return await compare(crds, {
    name: 'the cluster',
    async find({ metadata }) {
      const name = metadata.name!
      try {
        return (await cluster.client.get(resource, name)) as KubeObject
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw toCommandError(error, { verb: 'compare', resource, name, verbs: ['get'] })
      }
    },
  })
}

const titles: Readonly<Record<Severity, string>> = { breaking: 'Breaking', compatible: 'Compatible' }

function printGroup(group: readonly FoundDifference[]): void {
  const [first] = group
  if (first === undefined) return
  const { bold, dim, green, red } = outputPalette()
  const paint = first.severity === 'breaking' ? red : green
  print(bold(paint(`${titles[first.severity]} (${group.length}):`)))
  for (const one of group) {
    const where = `${one.source}: ${one.crd}${one.version === undefined ? '' : ` ${one.version}`}`
    print(`  ${dim(printable(where))}: ${printable(describe(one))}${dim(`: ${printable(one.reason)}`)}`)
  }
}

/** The words for a thing that is added or removed. */
const subjects: Readonly<Record<string, string>> = {
  crd: 'the CRD',
  version: 'the version',
  field: 'the field',
  subresource: 'the subresource',
  'selectable field': 'the selectable field',
  schema: 'the schema of the field',
}

function describe({ path, property, change, before, after }: CrdDifference): string {
  if (property === 'crd') return 'is not there'
  const place = path === '' ? '' : `${path}: `
  if (change !== undefined) return `${place}${subjects[property] ?? property} is ${change}`
  const subject = property === '' ? path : `${place}${property}`
  if (after === undefined) return `${subject} is ${brief(before)}, and is removed`
  return `${subject} is ${before === undefined ? 'not set' : brief(before)}, and becomes ${brief(after)}`
}

const maxLength = 100

function brief(value: unknown): string {
  const text = toJsonText(value)
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

function count(number: number, noun: string): string {
  return `${number} ${number === 1 ? noun : `${noun}s`}`
}
