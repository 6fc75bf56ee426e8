/** Creates the CRDs of a test and waits until they are served; deletes them from a real cluster. Called by cluster-contents.ts. */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import type { SelectionOptions } from '../../client/client-options.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { SelectorKeywords } from '../../kube/resources/resources.ts'
import { waitFor } from '../waiting/wait-for.ts'
import type { ClusterBackend } from './backend.ts'

const crdsResource = ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'] as const

interface CrdSpecFields {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

/** The resources that a CRD defines, one for each served version. */
export function resourcesOf(crd: KubeObject): SelectorKeywords[] {
  const { group, names, versions } = crd['spec'] as CrdSpecFields
  return versions.filter(({ served }) => served).map(({ name }) => ({ group, version: name, plural: names.plural }))
}

/** Creates a CRD. Returns false if it exists already. Waits for a CRD of an earlier test that is being deleted. */
export async function installCrd(backend: ClusterBackend, crd: KubeObject): Promise<boolean> {
  const name = crd.metadata.name!
  const { found } = await waitFor(
    backend,
    {},
    {
      check: async () => {
        try {
          await backend.client.create(crd)
          return { found: false }
        } catch (error) {
          if (!isAlreadyExists(error)) throw error
          return (await isTerminating(backend, name)) ? undefined : { found: true }
        }
      },
      describeProblem: () => `the CRD ${name} of an earlier test is not deleted: its objects may have finalizers`,
    },
  )
  return !found
}

async function isTerminating(backend: ClusterBackend, name: string): Promise<boolean> {
  try {
    return (await backend.client.get(crdsResource, name)).metadata.deletionTimestamp !== undefined
  } catch (error) {
    ignoreGone(error)
    return true
  }
}

/**
 * Waits for the condition `Established`. Before it, the server may still respond for an earlier CRD of the same name, and stop
 * with the next request.
 */
function untilEstablished(backend: ClusterBackend, name: string): Promise<boolean> {
  return waitFor(
    backend,
    {},
    {
      check: async () => {
        const { status } = (await backend.client.get(crdsResource, name)) as { status?: CrdConditions }
        return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') || undefined
      },
      describeProblem: () => `the cluster does not accept the CRD ${name}: see its conditions`,
    },
  )
}

interface CrdConditions {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
}

/** Waits until all resources of the CRD can be listed. */
export async function untilServed(backend: ClusterBackend, crd: KubeObject): Promise<void> {
  await untilEstablished(backend, crd.metadata.name!)
  for (const resource of resourcesOf(crd)) await untilListed(backend, resource)
}

function untilListed(backend: ClusterBackend, resource: SelectorKeywords): Promise<boolean> {
  const { plural, group, version } = resource
  return waitFor(
    backend,
    {},
    {
      check: async () => {
        try {
          await backend.client.list(resource)
          return true
        } catch (error) {
          return ignoreGone(error)
        }
      },
      describeProblem: () => `the cluster does not serve ${plural}.${version}.${group}, although it has the CRD`,
    },
  )
}

/**
 * Removes finalizers from the objects in the namespaces of the test, so that the namespaces can be deleted: the operators that would remove
 * the finalizers have stopped.
 */
export async function releaseObjects(backend: ClusterBackend, crds: readonly KubeObject[]): Promise<void> {
  for (const crd of crds) {
    if ((crd['spec'] as CrdSpecFields).scope === 'Cluster') continue
    for (const namespace of backend.namespaces.values()) await releaseIn(backend, crd, { namespace })
  }
}

async function releaseIn(backend: ClusterBackend, crd: KubeObject, selection: SelectionOptions): Promise<void> {
  const [resource] = resourcesOf(crd)
  if (resource === undefined) return
  const objects = (await backend.client.list(resource, selection).catch(ignoreGone)) ?? []
  for (const { metadata } of objects as KubeObject[]) {
    const { name, namespace, finalizers = [] } = metadata
    if (finalizers.length === 0) continue
    const place = namespace === undefined ? {} : { namespace }
    await backend.client.patch(resource, name!, { metadata: { finalizers: null } }, place).catch(ignoreGone)
  }
}

/** Removes conversion webhooks from CRDs that the kit has created: if their server has stopped, objects can be neither listed nor deleted. */
export async function removeConversions(backend: ClusterBackend, installed: readonly KubeObject[]): Promise<void> {
  const conversion = { strategy: 'None', webhook: null }
  for (const { metadata } of installed) {
    await backend.client.patch(crdsResource, metadata.name!, { spec: { conversion } }).catch(ignoreGone)
  }
}

/** Deletes the CRDs that the kit has created, with all their objects, in other namespaces than those of the test too. */
export async function uninstall(backend: ClusterBackend, installed: readonly KubeObject[]): Promise<void> {
  for (const crd of installed) {
    await releaseIn(backend, crd, { namespace: null })
    await backend.client.delete(crdsResource, crd.metadata.name!).catch(ignoreGone)
  }
}

/** A test may have deleted an object or a CRD itself. */
function ignoreGone(error: unknown): undefined {
  if (isNotFound(error) || (error as { code?: string }).code === 'KOPF_RESOURCE') return undefined
  throw error
}
