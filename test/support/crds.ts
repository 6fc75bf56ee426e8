/** Builds and installs CRDs for the suites. */

import type { Body, Tree } from './answers.ts'
import type { Api } from './api.ts'
import { eventually, expectStatus } from './expectations.ts'

export const crdsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

export interface CrdOptions {
  readonly group: string
  readonly kind: string
  readonly plural?: string
  readonly scope?: 'Namespaced' | 'Cluster'
  readonly names?: Tree
  /** The schema of the single version `v1`. Default: any content. */
  readonly schema?: Tree
  readonly subresources?: Tree
  /** Additional fields of the single version. */
  readonly version?: Tree
  /** Replaces the single version. */
  readonly versions?: readonly Tree[]
  readonly spec?: Tree
}

export const anything: Tree = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export function crd(options: CrdOptions): Tree {
  const { group, kind, schema = anything, subresources } = options
  const plural = options.plural ?? `${kind.toLowerCase()}s`
  const single = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    ...(subresources === undefined ? {} : { subresources }),
    ...options.version,
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: options.scope ?? 'Namespaced',
      names: { plural, kind, ...options.names },
      versions: options.versions ?? [single],
      ...options.spec,
    },
  }
}

/**
 * A patch that removes the conversion webhook. If its server has stopped, the CRD and the namespaces of its objects cannot be
 * deleted, since their deletion lists all objects.
 */
export const unconverted: Tree = { spec: { conversion: { strategy: 'None', webhook: null } } }

/** Creates the CRD and waits until all its versions are served. */
export async function installCrd(api: Api, definition: Tree): Promise<Body> {
  const created = expectStatus(await api.post(crdsPath, definition), 201)
  await crdServed(api, created)
  return created
}

/** Waits until each version with `served: true` can be listed. */
export async function crdServed(api: Api, definition: Body): Promise<void> {
  const { group, names, versions } = definition.spec as { group: string; names: Tree; versions: Tree[] }
  for (const version of versions.filter(({ served }) => served)) {
    const path = `/apis/${group}/${version['name']}/${names['plural']}`
    await eventually(async () => expectStatus(await api.get(path, { limit: 1 }), 200))
    // The watch cache is filled later; until then the server answers lists from the cache with 429.
    await eventually(async () => expectStatus(await api.get(path, { resourceVersion: 0 }), 200))
    await eventually(async () => expectStatus(await api.get(`/apis/${group}/${version['name']}`), 200))
  }
}
