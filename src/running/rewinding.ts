/**
 * Versions that go back: a cluster restored from a backup counts from a lower number again, and what we know is then from a
 * past that never was. That shows at the end of a list at the earliest, when its objects have been passed over as old already.
 */
import type { ReflectedEvent } from '../core/watching/events.ts'
import { isOlder } from '../core/watching/versions.ts'
import type { KubeObject } from '../kube/objects.ts'
import { formatResource } from '../kube/selectors.ts'
import { copyWith } from '../util/lazy-json.ts'
import type { Logger } from '../util/log.ts'
import { keyOf, type Served } from './memories.ts'

/** For one stream. */
export class Rewinding {
  readonly #served: Served
  /** What a list has brought, by uid, while something newer was known. */
  readonly #older = new Map<string, KubeObject>()

  constructor(served: Served) {
    this.#served = served
  }

  note(event: Exclude<ReflectedEvent, { type: 'listed' }>): void {
    if (event.type === 'deleted' && this.#older.size === 0) return
    const key = keyOf(event.object)
    const isPast =
      event.type === 'applied' &&
      event.event === null &&
      isOlder(event.object.metadata.resourceVersion, this.#versionOf(key))
    if (isPast) this.#older.set(key, event.object)
    else this.#older.delete(key)
  }

  /** A list is complete: answers with the objects that have to be looked at anew, if versions have gone back. */
  end({ version, rewound }: Extract<ReflectedEvent, { type: 'listed' }>, logger: Logger): readonly KubeObject[] {
    const older = [...this.#older]
    this.#older.clear()
    // A list shows every object as of its version, or later: had we written since, that would be newer than the list.
    const isContradicted = older.some(([key]) => !isOlder(version, this.#versionOf(key)))
    if (!rewound && !isContradicted) return []
    const name = formatResource(this.#served.resource)
    logger.warn(`The versions of ${name} have gone back, as after a restored backup: all objects are looked at anew.`)
    forgetVersions(this.#served)
    return older.map(([, object]) => object)
  }

  #versionOf(key: string): string | undefined {
    const { memories, unseen } = this.#served
    const memory = memories.get(key)
    if (memory === undefined) return unseen.get(key)
    return memory.body.metadata.resourceVersion ?? memory.indexed?.version
  }
}

/** Whatever comes next is news. */
export function forgetVersions(served: Served): void {
  served.unseen.clear()
  for (const memory of served.memories.values()) {
    const metadata = copyWith(memory.body.metadata, { resourceVersion: undefined })
    memory.body = copyWith(memory.body, { metadata })
    memory.expected = undefined
    memory.held = undefined
    if (memory.indexed !== undefined) memory.indexed.version = undefined
    if (memory.essence !== undefined) memory.essence = { ...memory.essence, version: undefined }
  }
}
