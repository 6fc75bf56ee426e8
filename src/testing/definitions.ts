/** CRDs of a test: put into the cluster at the start, and taken back from a real one. */
import { isAlreadyExists, isNotFound } from '../client/api-error.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { SelectorKeywords } from '../kube/resources.ts'
import type { Site } from './site.ts'
import { waitFor } from './waiting.ts'

const definitions = ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'] as const

interface CrdSpec {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

/** What a CRD defines, in the versions that are served. */
export function resourcesOf(crd: KubeObject): SelectorKeywords[] {
  const { group, names, versions } = crd['spec'] as CrdSpec
  return versions.filter(({ served }) => served).map(({ name }) => ({ group, version: name, plural: names.plural }))
}

/** Whether it was put there now. One that is on its way out, of a test before this one, is waited for. */
export async function installCrd(site: Site, crd: KubeObject): Promise<boolean> {
  const name = crd.metadata.name!
  const { found } = await waitFor(
    site,
    {},
    {
      look: async () => {
        try {
          await site.client.create(crd)
          return { found: false }
        } catch (error) {
          if (!isAlreadyExists(error)) throw error
          return (await isTerminating(site, name)) ? undefined : { found: true }
        }
      },
      complain: () => `the definition ${name} of an earlier test does not go: objects of it may be held by finalizers`,
    },
  )
  return !found
}

async function isTerminating(site: Site, name: string): Promise<boolean> {
  try {
    return (await site.client.get(definitions, name)).metadata.deletionTimestamp !== undefined
  } catch (error) {
    ignoreGone(error)
    return true
  }
}

/** Before that, what answers may be what is left of an earlier definition of the same name, and gone with the next request. */
function untilEstablished(site: Site, name: string): Promise<boolean> {
  return waitFor(
    site,
    {},
    {
      look: async () => {
        const { status } = (await site.client.get(definitions, name)) as { status?: DefinitionStatus }
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
export async function untilServed(site: Site, crd: KubeObject): Promise<void> {
  await untilEstablished(site, crd.metadata.name!)
  for (const resource of resourcesOf(crd)) await untilListed(site, resource)
}

function untilListed(site: Site, resource: SelectorKeywords): Promise<boolean> {
  const { plural, group, version } = resource
  return waitFor(
    site,
    {},
    {
      look: async () => {
        try {
          await site.client.list(resource)
          return true
        } catch (error) {
          if (isNotFound(error) || (error as { code?: string }).code === 'KOPF_RESOURCE') return undefined
          throw error
        }
      },
      complain: () => `the cluster does not serve ${plural}.${version}.${group}, although it has their definition`,
    },
  )
}

/** No operator is left to remove finalizers: the objects in the namespaces of the test go with it. */
export async function releaseObjects(site: Site, crds: readonly KubeObject[]): Promise<void> {
  for (const crd of crds) {
    const [resource] = resourcesOf(crd)
    if (resource === undefined || (crd['spec'] as CrdSpec).scope === 'Cluster') continue
    for (const namespace of site.namespaces.values()) await releaseIn(site, resource, namespace)
  }
}

async function releaseIn(site: Site, resource: SelectorKeywords, namespace: string): Promise<void> {
  for (const { metadata } of (await site.client.list(resource, { namespace })) as KubeObject[]) {
    if ((metadata.finalizers ?? []).length === 0) continue
    await site.client
      .patch(resource, metadata.name!, { metadata: { finalizers: null } }, { namespace })
      .catch((error) => ignoreGone(error))
  }
}

export async function uninstall(site: Site, installed: readonly KubeObject[]): Promise<void> {
  for (const { metadata } of installed) {
    await site.client.delete(definitions, metadata.name!).catch((error) => ignoreGone(error))
  }
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error
}
