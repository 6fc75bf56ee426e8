/**
 * The resources known to `kopf manifests`: those of the given cluster; without one, the built-in kinds of the embedded server. In both cases also
 * the CRDs of the operator and of the given files.
 */
import { KopfError } from '../../errors.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import type { CustomResource, Resource } from '../../kube/resources/resources.ts'
import { canHaveCustomResources } from '../../kube/resources/well-known.ts'
import type { Operator } from '../../operator.ts'
import { ApiServer } from '../../server/api-server.ts'
import { loadObjects } from '../../server/load.ts'
import { CommandCluster } from '../cluster.ts'
import { rethrowFrom } from '../embedded.ts'
import type { ClusterArguments } from '../options/cluster.ts'
import { isCrd, orderManifests, readManifest } from '../read-manifests.ts'

export interface KnownForPlan extends ClusterArguments {
  /** Files with CRDs. */
  readonly crd?: readonly string[]
}

export async function discoverForPlan(operator: Operator, args: KnownForPlan): Promise<readonly Resource[]> {
  const defined = await readDefinedResources(operator, args.crd ?? [])
  if (!isClusterNamed(args)) return defined
  await using cluster = await CommandCluster.open(args)
  const served = await cluster.resources()
  const isServed = (one: Resource) => served.some(({ group, plural }) => group === one.group && plural === one.plural)
  return [...served, ...defined.filter((one) => canHaveCustomResources(one.group) && !isServed(one))]
}

/** Uses a cluster only if it is given explicitly: the output must not depend on the current context. */
function isClusterNamed({ kubeconfig, context }: ClusterArguments): boolean {
  return kubeconfig !== undefined || context !== undefined
}

async function readDefinedResources({ resources }: Operator, files: readonly string[]): Promise<readonly Resource[]> {
  const manifests = await Promise.all(files.map(readManifest))
  const crds = manifests.map(({ objects, ...rest }) => ({ ...rest, objects: objects.filter(isCrd) }))
  const empty = crds.find(({ objects }) => objects.length === 0)
  if (empty !== undefined) {
    const why = 'there is no CustomResourceDefinition in it; name a file that has one'
    throw new KopfError('KOPF_FILE', `Cannot use --crd "${empty.file}": ${why}`)
  }
  const api = new ApiServer({ open: true })
  try {
    for (const { file, objects } of orderManifests(toCrds(resources as CustomResource<object>[]), crds)) {
      await loadObjects(api, objects).catch((error) => rethrowFrom(file, error))
    }
    return await new CommandCluster(api).resources()
  } finally {
    await api.close()
  }
}
