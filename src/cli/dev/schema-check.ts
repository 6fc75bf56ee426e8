/**
 * Finds existing objects that do not fit a changed CRD. The server accepts the CRD, and rejects these objects only when they are written, which would
 * appear as failing handlers. Used by session-objects.ts.
 */
import { ApiError } from '../../client/api-error.ts'
import { collectionPath } from '../../client/paths.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { CommandCluster } from '../cluster.ts'
import { printable } from '../terminal.ts'

/** The objects that are checked. */
const maxObjects = 50
const maxNamed = 5

interface CheckedCrdSpec {
  readonly group: string
  readonly names: { readonly kind: string; readonly plural: string }
  readonly versions: ReadonlyArray<{ readonly name: string; readonly storage?: boolean }>
}

/** A sentence with the names of the objects that do not fit; undefined if all fit. */
export async function describeMisfits(cluster: CommandCluster, crd: KubeObject): Promise<string | undefined> {
  const { group, names, versions } = crd['spec'] as unknown as CheckedCrdSpec
  const version = versions.find(({ storage }) => storage)?.name ?? versions[0]!.name
  const resource = await cluster.find({ group, version, plural: names.plural })
  const query = { limit: maxObjects }
  const page = await cluster.session.request({ method: 'GET', path: collectionPath(resource), query })
  const misfits: string[] = []
  for (const object of (page as { items?: KubeObject[] }).items ?? []) {
    const why = await findMisfit(cluster, { ...object, apiVersion: `${group}/${version}`, kind: names.kind })
    const { name, namespace } = object.metadata
    if (why !== undefined) misfits.push(`${namespace === undefined ? '' : `${namespace}/`}${name} (${why})`)
  }
  if (misfits.length === 0) return undefined
  const shown = misfits.slice(0, maxNamed).join(', ')
  const more = misfits.length > maxNamed ? ` and ${misfits.length - maxNamed} more` : ''
  const count = misfits.length === 1 ? 'an existing object' : `${misfits.length} existing objects`
  return printable(`The new schema of ${names.plural}.${group} does not fit ${count}: ${shown}${more}.`)
}

/**
 * Creates a copy of the object with `dryRun`: an update would not validate the fields that it does not change (ratcheting, Kubernetes 1.30).
 * Returns the problem of the first field.
 */
async function findMisfit(cluster: CommandCluster, object: KubeObject): Promise<string | undefined> {
  const { metadata, ...others } = object
  const { namespace } = metadata
  const copy = { ...others, metadata: { generateName: 'kopf-dev-', ...(namespace !== undefined && { namespace }) } }
  try {
    await cluster.client.create(copy as KubeObject, { dryRun: true })
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 422) return undefined
    const [cause] = (error.details['causes'] ?? []) as ReadonlyArray<{
      readonly field?: string
      readonly message?: string
    }>
    return cause === undefined ? error.message : `${cause.field}: ${cause.message}`
  }
}
