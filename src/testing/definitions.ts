/** The definitions of a test's custom resources: put into the cluster at the start, and taken back from a real one. */
import { isAlreadyExists, isNotFound } from '../client/api-error.ts'
import { toCrds } from '../kube/crd.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { CustomResource } from '../kube/resources.ts'
import type { Site } from './site.ts'
import { waitFor } from './waiting.ts'

const definitions = ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'] as const

/** Those that were not there before. Resolves when they are served. */
export async function install(
  site: Site,
  resources: readonly CustomResource<object>[],
): Promise<readonly KubeObject[]> {
  const installed: KubeObject[] = []
  const crds = toCrds(resources)
  for (const crd of crds) if (await isNew(site, crd)) installed.push(crd)
  for (const crd of crds) await untilEstablished(site, crd.metadata.name!)
  for (const resource of resources) await untilServed(site, resource)
  return installed
}

/** Whether it was put there now. One that is on its way out, of a test before this one, is waited for. */
async function isNew(site: Site, crd: KubeObject): Promise<boolean> {
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

function untilServed(site: Site, resource: CustomResource<object>): Promise<boolean> {
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

/** No operator is left to let the objects go: whatever they were to be kept for, they go with the test. */
export async function releaseObjects(site: Site, resources: readonly CustomResource<object>[]): Promise<void> {
  for (const resource of resources) {
    if (resource.scope === 'Cluster') continue
    for (const { metadata } of (await site.client.list(resource)) as KubeObject[]) {
      if ((metadata.finalizers ?? []).length === 0) continue
      await site.client
        .patch(resource, metadata.name!, { metadata: { finalizers: null } })
        .catch((error) => ignoreGone(error))
    }
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
