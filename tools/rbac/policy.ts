/** Reads the RBAC bootstrap policy of a server, without fields that differ between servers. Used by generate.ts and by a test. */

const root = '/apis/rbac.authorization.k8s.io/v1'
/** The label of every bootstrap role and binding. */
const bootstrapLabels = 'kubernetes.io/bootstrapping=rbac-defaults'

interface Stored {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Record<string, string>
  }
  readonly rules?: unknown
  readonly aggregationRule?: unknown
  readonly roleRef?: unknown
  readonly subjects?: unknown
}

/** Lists the objects of a collection path. */
export type ListObjects = (path: string) => Promise<readonly object[]>

/** The objects by plural, in the order in which a server has to create them, without the fields that are the same in all. */
export async function readBootstrapPolicy(list: ListObjects): Promise<Record<string, object[]>> {
  const policy: Record<string, object[]> = {}
  for (const plural of ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings']) {
    const objects = (await list(`${root}/${plural}?labelSelector=${encodeURIComponent(bootstrapLabels)}`)) as Stored[]
    policy[plural] = objects.map(compact)
  }
  return policy
}

function compact({ metadata, rules, aggregationRule, roleRef, subjects }: Stored): object {
  const { name, namespace, labels = {} } = metadata
  const { 'kubernetes.io/bootstrapping': _, ...others } = labels
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(Object.keys(others).length === 0 ? {} : { labels: others }),
    // The rules of an aggregated role are computed from other roles, so they are not stored.
    ...(aggregationRule === undefined ? (rules ? { rules } : {}) : { aggregationRule }),
    ...(roleRef === undefined ? {} : { roleRef }),
    ...(subjects === undefined ? {} : { subjects }),
  }
}
