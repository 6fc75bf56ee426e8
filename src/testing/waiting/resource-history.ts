/**
 * The states of the objects of one resource, in order, as recorded from a watch. Written by cluster-history.ts, read by
 * replay.ts. Bounded: the oldest steps are merged into the starting state when there are too many.
 */

import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { weightOf } from '../../util/json/lazy-json.ts'
import { isOlder, laterVersion } from '../../watching/resource-version.ts'
import type { ReflectedEvent } from '../../watching/watch-events.ts'

export interface HistoryChange {
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly key: string
  readonly uid: string | undefined
  /** Undefined if the object was deleted. */
  readonly object: KubeObject | undefined
}

/** One event of the watch, or one list, which has many changes at once. */
export interface HistoryStep {
  readonly version: string
  readonly changes: readonly HistoryChange[]
}

/** Limits for one resource. A state counts as at least `smallBytes`. */
const maxSteps = 10_000
const maxBytes = 64 * 1024 * 1024
const smallBytes = 4 * 1024

export class ResourceHistory {
  /** The objects before the first step that is still kept. */
  readonly #start = new Map<string, KubeObject>()
  readonly #current = new Map<string, KubeObject>()
  readonly #steps: HistoryStep[] = []
  #dropped = 0
  #bytes = 0
  #version: string
  /** The changes of a list that is not complete yet. */
  #listing: HistoryChange[] = []
  #lists = 0
  #hasGaps = false

  /** Takes the version at which the watch is requested to begin. */
  constructor(startVersion: string) {
    this.#version = startVersion
  }

  /** The version up to which the watch is known; undefined until the first list is complete. */
  get version(): string | undefined {
    return this.#lists === 0 ? undefined : this.#version
  }

  /** Whether the server could not send all changes, so that the objects were listed again. */
  get hasGaps(): boolean {
    return this.#hasGaps
  }

  get start(): ReadonlyMap<string, KubeObject> {
    return this.#start
  }

  get current(): ReadonlyMap<string, KubeObject> {
    return this.#current
  }

  /** The number of the first step that is still kept. */
  get first(): number {
    return this.#dropped
  }

  /** The step of this number, counted from the beginning of the watch; undefined if it has not happened yet. */
  at(number: number): HistoryStep | undefined {
    return this.#steps[number - this.#dropped]
  }

  /** The version at which an object was deleted; undefined if the history does not contain the deletion. */
  deletionOf(uid: string): string | undefined {
    return this.#steps.findLast(({ changes }) => changes.some((one) => one.uid === uid && one.object === undefined))
      ?.version
  }

  take(event: ReflectedEvent): void {
    if (event.type === 'listed') {
      this.#lists += 1
      this.#hasGaps ||= this.#lists > 1 || isOlder(this.#version, event.version)
      this.#version = laterVersion(this.#version, event.version)
      this.#add({ version: event.version, changes: this.#listing })
      this.#listing = []
    } else if (event.type === 'applied' && event.event === null) {
      this.#listing.push(toChange(event.object, event.object))
    } else if (event.type === 'deleted' && event.missed) {
      // The server does not send the version of a missed deletion. The list without the object, or the event of an object with
      // the same name, follows.
      this.#add({ version: this.#version, changes: [toChange(event.object, undefined)] })
    } else {
      const { object } = event
      const version = object.metadata.resourceVersion ?? this.#version
      this.#version = laterVersion(this.#version, version)
      this.#add({ version, changes: [toChange(object, event.type === 'deleted' ? undefined : object)] })
    }
  }

  /** Called when the resource is no longer served: all its objects are gone. */
  recordEnd(): void {
    const changes = [...this.#current.values()].map((object) => toChange(object, undefined))
    if (changes.length > 0) this.#add({ version: this.#version, changes })
  }

  #add({ version, changes }: HistoryStep): void {
    const news = changes.filter(({ key, object }) => !isSameState(this.#current.get(key), object))
    applyChanges(this.#current, news)
    this.#steps.push({ version, changes: news })
    this.#bytes += bytesOf(news)
    while (this.#steps.length > maxSteps || (this.#bytes > maxBytes && this.#steps.length > 1)) this.#dropOldest()
  }

  #dropOldest(): void {
    const { changes } = this.#steps.shift()!
    applyChanges(this.#start, changes)
    this.#dropped += 1
    this.#bytes -= bytesOf(changes)
  }
}

export function applyChanges(objects: Map<string, KubeObject>, changes: readonly HistoryChange[]): void {
  for (const { key, object } of changes) {
    if (object === undefined) objects.delete(key)
    else objects.set(key, object)
  }
}

export function toKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Whether the state after the step is not newer than this version. */
export function isUpTo(step: HistoryStep, version: string | undefined): boolean {
  return version !== undefined && !isOlder(version, step.version)
}

function toChange({ metadata }: { readonly metadata: ObjectMeta }, object: KubeObject | undefined): HistoryChange {
  return { key: toKey(metadata.namespace, metadata.name!), uid: metadata.uid, object }
}

function isSameState(known: KubeObject | undefined, object: KubeObject | undefined): boolean {
  if (known === undefined || object === undefined) return known === object
  const { uid, resourceVersion } = known.metadata
  return uid === object.metadata.uid && resourceVersion === object.metadata.resourceVersion
}

function bytesOf(changes: readonly HistoryChange[]): number {
  return changes.reduce((sum, { object }) => sum + Math.max(smallBytes, object ? weightOf(object).bytes : 0), 0)
}
