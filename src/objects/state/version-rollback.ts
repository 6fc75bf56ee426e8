/**
 * Detects that resourceVersions have gone back because etcd was restored from a backup: known states are then newer than the current ones, which would be
 * ignored as outdated. The rollback shows only at the end of a list, so listed objects that looked outdated are kept until then. Used by cluster/.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { Logger } from '../../util/log/log.ts'
import { isOlder } from '../../watching/resource-version.ts'
import type { ReflectedEvent } from '../../watching/watch-events.ts'
import type { ObjectFeatures } from '../features.ts'
import { objectKey, type ServedResource } from './served-resource.ts'

/** The detection for one watch stream. */
export class VersionRollback {
  readonly #served: ServedResource
  readonly #features: ObjectFeatures
  /** Listed states that are older than the known ones, by object key. */
  readonly #older = new Map<string, KubeObject>()

  constructor(served: ServedResource, features: ObjectFeatures) {
    this.#served = served
    this.#features = features
  }

  record(event: Exclude<ReflectedEvent, { type: 'listed' }>): void {
    if (event.type === 'deleted' && this.#older.size === 0) return
    const key = objectKey(event.object)
    const isOutdated =
      event.type === 'applied' &&
      event.event === null &&
      isOlder(event.object.metadata.resourceVersion, this.#versionOf(key))
    if (isOutdated) this.#older.set(key, event.object)
    else this.#older.delete(key)
  }

  /** Called when a list is complete. If versions have gone back, returns the objects that have to be processed again. */
  listed({ version, rewound }: Extract<ReflectedEvent, { type: 'listed' }>, logger: Logger): readonly KubeObject[] {
    const older = [...this.#older]
    this.#older.clear()
    // A list has every object at the list's version or later. A known state that is newer than its listed one must then be newer than the list, too.
    const isContradicted = older.some(([key]) => !isOlder(version, this.#versionOf(key)))
    if (!rewound && !isContradicted) return []
    const name = formatResource(this.#served.resource)
    logger.warn(`The versions of ${name} have gone back, as after a restored backup: all objects are processed again.`)
    forgetVersions(this.#served, this.#features)
    return older.map(([, object]) => object)
  }

  #versionOf(key: string): string | undefined {
    const { objects, filteredOut } = this.#served
    const object = objects.get(key)
    if (object === undefined) return filteredOut.get(key)
    return object.state.version ?? this.#features.versionOf(object)
  }
}

/** Drops all known versions, so that every next state counts as new. */
export function forgetVersions(served: ServedResource, features: ObjectFeatures): void {
  served.filteredOut.clear()
  for (const object of served.objects.values()) {
    object.state.forgetVersion()
    features.versionsForgotten(object)
  }
}
