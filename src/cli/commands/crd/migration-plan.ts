/**
 * Decides from a CRD whether its stored objects need a migration, and removes old versions from `status.storedVersions` after it. Called by migrate.ts.
 */
import { isConflict } from '../../../client/api-error.ts'
import { type Located, objectPath } from '../../../client/paths.ts'
import type { Session } from '../../../client/session.ts'
import { KopfError } from '../../../errors.ts'
import { storedVersionsOf } from '../../../kube/crds/compare/compare-crds.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import { crdsResource } from '../../../kube/resources/well-known.ts'

export type MigrationPlan =
  /** All objects are stored in the storage version. */
  { readonly type: 'done'; readonly storage: string } | { readonly type: 'migrate'; readonly target: MigrationTarget }

export interface MigrationTarget {
  /** The name of the CRD. */
  readonly crd: string
  readonly uid: string | undefined
  /** Any change of the spec of the CRD increases it, so the storage version is the same while it is the same. */
  readonly generation: number | undefined
  readonly storage: string
  readonly storedVersions: readonly string[]
  /** The resource for requests, in the storage version if it is served. */
  readonly resource: Located
}

interface CrdSpec {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
  readonly versions: ReadonlyArray<{ readonly name: string; readonly served: boolean; readonly storage: boolean }>
}

/** Throws if no version is served: then no request can rewrite an object. */
export function planMigration(crd: KubeObject): MigrationPlan {
  const { group, scope, names, versions } = crd.spec as unknown as CrdSpec
  const name = crd.metadata.name!
  const storage = versions.find((version) => version.storage)!
  const storedVersions = storedVersionsOf(crd)
  if (storedVersions.every((version) => version === storage.name)) return { type: 'done', storage: storage.name }
  const served = storage.served ? storage : versions.find((version) => version.served)
  if (served === undefined) {
    throw new KopfError(
      'KOPF_MIGRATE',
      `Cannot migrate the objects of ${name}: none of its versions is served; serve one of them first`,
    )
  }
  const resource = { group, version: served.name, plural: names.plural, namespaced: scope === 'Namespaced' }
  const { uid, generation } = crd.metadata
  return { type: 'migrate', target: { crd: name, uid, generation, storage: storage.name, storedVersions, resource } }
}

const maxAttempts = 5

/**
 * Sets `status.storedVersions` to the storage version. Call it only after every object was written in that version. Throws if the CRD was changed
 * since the plan was made: its storage version may have been another one in between.
 */
export async function pruneStoredVersions(session: Session, target: MigrationTarget): Promise<void> {
  const path = objectPath(crdsResource, { name: target.crd })
  for (let attempt = 1; ; attempt += 1) {
    const crd = (await session.request({ method: 'GET', path })) as unknown as KubeObject
    const { uid, generation, resourceVersion } = crd.metadata
    if (uid !== target.uid || generation !== target.generation) throwChanged(target)
    if (planMigration(crd).type === 'done') return
    const body = { metadata: { resourceVersion }, status: { storedVersions: [target.storage] } }
    try {
      await session.request({
        method: 'PATCH',
        path: `${path}/status`,
        contentType: 'application/merge-patch+json',
        body,
      })
      return
    } catch (error) {
      // A controller of the API server has written the status in the meantime.
      if (!isConflict(error) || attempt >= maxAttempts) throw error
    }
  }
}

function throwChanged({ crd, storedVersions }: MigrationTarget): never {
  throw new KopfError(
    'KOPF_MIGRATE',
    `Cannot remove old versions from status.storedVersions of ${crd}: the CRD was changed while its objects were rewritten, so some may be stored ` +
      `in another version; the stored versions are still ${storedVersions.join(', ')}; run the command again`,
  )
}
