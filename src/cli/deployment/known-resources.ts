/**
 * What a cluster serves, for a command that need not have one: built-in kinds as the embedded server has them, and the definitions
 * of the operator and of files. Where a cluster is named, what that one serves, and the operator's own definitions.
 */
import { toCrds } from '../../kube/crd.ts'
import { canBeCustom } from '../../kube/groups.ts'
import type { CustomResource, Resource } from '../../kube/resources.ts'
import type { Operator } from '../../operator.ts'
import { ApiServer } from '../../server/api-server.ts'
import { loadObjects } from '../../server/load.ts'
import { Cluster } from '../cluster.ts'
import type { ClusterArguments } from '../cluster-options.ts'
import { rethrowFrom } from '../embedded.ts'
import { isDefinition, orderManifests, readManifest } from '../manifests.ts'

export interface Knowledge extends ClusterArguments {
  /** Files with definitions. */
  readonly crd?: readonly string[]
}

export async function learnResources(operator: Operator, args: Knowledge): Promise<readonly Resource[]> {
  const defined = await learnDefined(operator, args.crd ?? [])
  if (!isClusterNamed(args)) return defined
  await using cluster = await Cluster.open(args)
  const served = await cluster.resources()
  const isServed = (one: Resource) => served.some(({ group, plural }) => group === one.group && plural === one.plural)
  return [...served, ...defined.filter((one) => canBeCustom(one.group) && !isServed(one))]
}

/** Only one that was named is asked: what is printed must not depend on which one happens to be the current. */
function isClusterNamed({ kubeconfig, context }: ClusterArguments): boolean {
  return kubeconfig !== undefined || context !== undefined
}

async function learnDefined({ resources }: Operator, files: readonly string[]): Promise<readonly Resource[]> {
  const manifests = await Promise.all(files.map(readManifest))
  const definitions = manifests.map(({ objects, ...rest }) => ({ ...rest, objects: objects.filter(isDefinition) }))
  const api = new ApiServer({ open: true })
  try {
    for (const { file, objects } of orderManifests(toCrds(resources as CustomResource<object>[]), definitions)) {
      await loadObjects(api, objects).catch((error) => rethrowFrom(file, error))
    }
    return await new Cluster(api).resources()
  } finally {
    await api.close()
  }
}
