/**
 * Versions that go back: a cluster restored from a backup counts from a lower number again, and what we know is then from a
 * past that never was. That shows at the end of a list at the earliest, when its objects have been passed over as old already.
 */

import type { KubeObject } from '../../kube/objects.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { Logger } from '../../util/log/log.ts'
import { isOlder } from '../../watching/resource-version.ts'
import type { ReflectedEvent } from '../../watching/watch-events.ts'
import type { ObjectFeatures } from '../features.ts'
import { objectKey, type ServedResource } from './served-resource.ts'

/** For one stream. */
export class VersionRollback {
  readonly #served: ServedResource
  readonly #features: ObjectFeatures
  /** What a list has brought, by uid, while something newer was known. */
  readonly #older = new Map<string, KubeObject>()

  constructor(served: ServedResource, features: ObjectFeatures) {
    this.#served = served
    this.#features = features
  }

  record(event: Exclude<ReflectedEvent, { type: 'listed' }>): void {
    if (event.type === 'deleted' && this.#older.size === 0) return
    const key = objectKey(event.object)
    const isPast =
      event.type === 'applied' &&
      event.event === null &&
      isOlder(event.object.metadata.resourceVersion, this.#versionOf(key))
    if (isPast) this.#older.set(key, event.object)
    else this.#older.delete(key)
  }

  /** A list is complete: answers with the objects that have to be looked at anew, if versions have gone back. */
  listed({ version, rewound }: Extract<ReflectedEvent, { type: 'listed' }>, logger: Logger): readonly KubeObject[] {
    const older = [...this.#older]
    this.#older.clear()
    // A list shows every object as of its version, or later: had we written since, that would be newer than the list.
    const isContradicted = older.some(([key]) => !isOlder(version, this.#versionOf(key)))
    if (!rewound && !isContradicted) return []
    const name = formatResource(this.#served.resource)
    logger.warn(`The versions of ${name} have gone back, as after a restored backup: all objects are looked at anew.`)
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

/** Every state that comes next is news. */
export function forgetVersions(served: ServedResource, features: ObjectFeatures): void {
  served.filteredOut.clear()
  for (const object of served.objects.values()) {
    object.state.forgetVersion()
    features.versionsForgotten(object)
  }
}
