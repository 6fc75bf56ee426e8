/** Custom resources for the suites: a definition with few words, and its installation. */

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
  /** One version, `v1`, with this schema; anything goes in it unless said otherwise. */
  readonly schema?: Tree
  readonly subresources?: Tree
  /** Fields added to the one version. */
  readonly version?: Tree
  /** In place of the one version. */
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

/** Who converts may be gone already: then a definition could not go, and no namespace either, since all objects are listed for it. */
export const unconverted: Tree = { spec: { conversion: { strategy: 'None', webhook: null } } }

/** Creates the definition and waits until every served version of it answers. */
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
    // The cache for lists and watches is filled after that; until then it asks to come again (429).
    await eventually(async () => expectStatus(await api.get(path, { resourceVersion: 0 }), 200))
    await eventually(async () => expectStatus(await api.get(`/apis/${group}/${version['name']}`), 200))
  }
}
