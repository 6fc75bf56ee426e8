/** CRDs of a test: put into the cluster at the start, and taken back from a real one. */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import type { SelectionOptions } from '../../client/client-options.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { SelectorKeywords } from '../../kube/resources/resources.ts'
import { waitFor } from '../waiting/wait-for.ts'
import type { ClusterBackend } from './backend.ts'

const definitions = ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'] as const

interface CrdSpecFields {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

/** What a CRD defines, in the versions that are served. */
export function resourcesOf(crd: KubeObject): SelectorKeywords[] {
  const { group, names, versions } = crd['spec'] as CrdSpecFields
  return versions.filter(({ served }) => served).map(({ name }) => ({ group, version: name, plural: names.plural }))
}

/** Whether it was put there now. One that is on its way out, of a test before this one, is waited for. */
export async function installCrd(backend: ClusterBackend, crd: KubeObject): Promise<boolean> {
  const name = crd.metadata.name!
  const { found } = await waitFor(
    backend,
    {},
    {
      look: async () => {
        try {
          await backend.client.create(crd)
          return { found: false }
        } catch (error) {
          if (!isAlreadyExists(error)) throw error
          return (await isTerminating(backend, name)) ? undefined : { found: true }
        }
      },
      complain: () => `the definition ${name} of an earlier test does not go: objects of it may be held by finalizers`,
    },
  )
  return !found
}

async function isTerminating(backend: ClusterBackend, name: string): Promise<boolean> {
  try {
    return (await backend.client.get(definitions, name)).metadata.deletionTimestamp !== undefined
  } catch (error) {
    ignoreGone(error)
    return true
  }
}

/** Before that, what answers may be what is left of an earlier definition of the same name, and gone with the next request. */
function untilEstablished(backend: ClusterBackend, name: string): Promise<boolean> {
  return waitFor(
    backend,
    {},
    {
      look: async () => {
        const { status } = (await backend.client.get(definitions, name)) as { status?: DefinitionStatus }
        return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') || undefined
      },
      complain: () => `the cluster does not accept the definition ${name}: its conditions say why`,
    },
  )
}

interface DefinitionStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
}

/** When all its resources can be used. */
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
      look: async () => {
        try {
          await backend.client.list(resource)
          return true
        } catch (error) {
          return ignoreGone(error)
        }
      },
      complain: () => `the cluster does not serve ${plural}.${version}.${group}, although it has their definition`,
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
    await backend.client.patch(definitions, metadata.name!, { spec: { conversion } }).catch(ignoreGone)
  }
}

/** Deletes the CRDs that the kit has created, with all their objects, in other namespaces than those of the test too. */
export async function uninstall(backend: ClusterBackend, installed: readonly KubeObject[]): Promise<void> {
  for (const crd of installed) {
    await releaseIn(backend, crd, { namespace: null })
    await backend.client.delete(definitions, crd.metadata.name!).catch(ignoreGone)
  }
}

/** A test may have deleted an object or a CRD itself. */
function ignoreGone(error: unknown): undefined {
  if (isNotFound(error) || (error as { code?: string }).code === 'KOPF_RESOURCE') return undefined
  throw error
}
