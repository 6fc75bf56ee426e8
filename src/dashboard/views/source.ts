/** What all views read: the run, the numbers of the dashboard, and the objects. One per dashboard. */

import type { ObjectRef } from '../../journal/entries.ts'
import { formatGroupVersion } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import type { ObjectStates } from '../../metrics/object-states.ts'
import { objectKey, type ServedResource } from '../../objects/state/served-resource.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import type { ObservedObject } from '../../observer.ts'
import { monotonicMs, monotonicNow, nextTurn } from '../../util/async/clock.ts'
import { LruMap } from '../../util/lru-map.ts'
import type { LogLines } from '../log-lines.ts'
import type { ObjectRecords } from '../object-facts.ts'
import type { ObjectState, OverviewView, Sample } from '../protocol.ts'
import type { RunFacts } from '../run-facts.ts'
import type { Statistics } from '../statistics.ts'
import type { Viewer, ViewerScope } from '../viewer.ts'
import type { ViewParameters } from './query.ts'

export interface ViewSource {
  readonly run: RunFacts
  readonly statistics: Statistics
  readonly facts: ObjectRecords
  readonly states: ObjectStates
  readonly logs: LogLines
  readonly objects: DashboardObjects
  readonly startedAtMs: number
  readonly history: () => readonly Sample[]
}

export interface ViewRequest {
  readonly query: ViewParameters
  readonly viewer: Viewer
}

const maxFound = 500

/** The objects that the operator watches. */
export class DashboardObjects {
  readonly #context: RunContext
  /** Objects by the name of the resource and their own: searching takes time linear in their number. */
  readonly #found = new LruMap<string, WatchedObject>(maxFound)

  constructor(context: RunContext) {
    this.#context = context
  }

  /** The served resources whose objects are handled, by name. */
  get served(): readonly ServedResource[] {
    const all = [...(this.#context()?.served.values() ?? [])].filter(({ isOnlyIndexed }) => !isOnlyIndexed)
    return all.sort((a, b) => (formatResource(a.resource) < formatResource(b.resource) ? -1 : 1))
  }

  servedAs(name: string | undefined): ServedResource | undefined {
    return this.served.find(({ resource }) => formatResource(resource) === name)
  }

  /** The served resource of a kind. */
  resourceOf(apiVersion: string, kind: string): Resource | undefined {
    for (const { resource } of this.#context()?.served.values() ?? []) {
      if (resource.kind === kind && formatGroupVersion(resource.group, resource.version) === apiVersion) return resource
    }
    return undefined
  }

  /** The state of an object of an event. */
  bodyOf({ resource, uid }: ObservedObject): WatchedObject['body'] | undefined {
    return uid === undefined ? undefined : this.#context()?.served.find(resource, uid)?.body
  }

  find({ resource, namespace, name }: ObjectRef): WatchedObject | undefined {
    const served = this.servedAs(resource)
    if (served === undefined) return undefined
    const key = `${resource} ${namespace ?? ''}/${name}`
    const known = this.#found.get(key)
    if (known !== undefined && served.objects.get(objectKey(known.body)) === known) return known
    for (const object of served.objects.values()) {
      const { metadata } = object.body
      if (metadata.name !== name || metadata.namespace !== namespace) continue
      this.#found.set(key, object)
      return object
    }
    return undefined
  }
}

type RunContext = ViewSource['run']['context']

/** Where the viewer may list the objects of a resource. */
export function scopeOf(viewer: Viewer, { resource, objects }: ServedResource): Promise<ViewerScope> {
  return viewer.scopeOf(resource, () => {
    const namespaces = new Set<string>()
    for (const { body } of objects.values()) {
      if (body.metadata.namespace !== undefined) namespaces.add(body.metadata.namespace)
    }
    return namespaces
  })
}

const sliceMs = 5
const objectsPerCheck = 500

/** Gives the event loop a turn every few milliseconds of a long walk. */
export class Slices {
  #count = 0
  #beganMs = monotonicMs()

  /** Undefined if the walk can go on. */
  next(): Promise<void> | undefined {
    this.#count += 1
    if (this.#count % objectsPerCheck !== 0 || monotonicMs() - this.#beganMs < sliceMs) return undefined
    return nextTurn().then(() => {
      this.#beganMs = monotonicMs()
    })
  }
}

export function viewQueue({ run }: ViewSource): OverviewView['queue'] {
  const queue = run.context()?.queue
  if (queue === undefined) return { waiting: 0, active: 0, longestWaitSeconds: 0 }
  const { size, waiting, waitingSinceMs } = queue
  const waitedMs = waitingSinceMs === undefined ? 0 : monotonicNow(run.clock) - waitingSinceMs
  return { waiting, active: size - waiting, longestWaitSeconds: Math.round(waitedMs / 1000) }
}

export function stateOf({ states }: Pick<ViewSource, 'states'>, { uid }: ObservedObject): ObjectState {
  return uid === undefined ? 'handled' : states.stateOf(uid)
}
