/** The bootstrap policy of a server, as far as it is the same on all: for generate.ts, and for the test that compares. */

const root = '/apis/rbac.authorization.k8s.io/v1'
/** What all of them have. */
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

/** What a list of this path holds. */
export type ListObjects = (path: string) => Promise<readonly object[]>

/** By plural, in the order in which they are to be created; of each object what is not the same for all. */
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
    // What is gathered from others will be gathered again.
    ...(aggregationRule === undefined ? (rules ? { rules } : {}) : { aggregationRule }),
    ...(roleRef === undefined ? {} : { roleRef }),
    ...(subjects === undefined ? {} : { subjects }),
  }
}
