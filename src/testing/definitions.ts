/** The definitions of a test's custom resources: put into the cluster at the start, and taken back from a real one. */
import { isAlreadyExists, isNotFound } from '../client/api-error.ts'
import { toCrds } from '../kube/crd.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { CustomResource } from '../kube/resources.ts'
import type { Site } from './site.ts'
import { waitFor } from './waiting.ts'

/** Those that were not there before. Resolves when they are served. */
export async function install(
  site: Site,
  resources: readonly CustomResource<object>[],
): Promise<readonly KubeObject[]> {
  const installed: KubeObject[] = []
  for (const crd of toCrds(resources)) {
    try {
      await site.client.create(crd)
      installed.push(crd)
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
  }
  for (const resource of resources) await untilServed(site, resource)
  return installed
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

export async function uninstall(site: Site, definitions: readonly KubeObject[]): Promise<void> {
  for (const { metadata } of definitions) {
    await site.client
      .delete(['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'], metadata.name!)
      .catch((error) => ignoreGone(error))
  }
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error
}
