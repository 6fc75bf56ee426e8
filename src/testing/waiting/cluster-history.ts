/**
 * Holds the watches of a test cluster: one for each resource and namespace that the test waits for. The first wait opens a watch,
 * which starts at the version at which the cluster was started; all watches end with the cluster. Used by cluster-waits.ts.
 */

import { isNotFound } from '../../client/api-error.ts'
import { collectionPath } from '../../client/paths.ts'
import type { Session } from '../../client/session.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { createSettings } from '../../settings/settings.ts'
import type { Clock } from '../../util/async/clock.ts'
import type { Duration } from '../../util/text/duration.ts'
import { reflect } from '../../watching/reflector.ts'
import type { WatchState } from '../../watching/watch-observer.ts'
import { ResourceHistory } from './resource-history.ts'

/**
 * Access to the cluster for the watches. Their requests do not use the identity of operators and do not update the last-seen
 * versions.
 */
interface HistorySource {
  readonly session: Session
  readonly clock: Clock
}

export interface WatchedHistory {
  readonly history: ResourceHistory
  /** Resolves when the objects are listed, or when the first attempt has failed. */
  readonly opened: Promise<void>
  /** The last error of a watch that is broken at the moment; undefined if it works. */
  problem: unknown
}

/**
 * The server closes a watch after this time, and the reflector opens it again. It is long because a test may skip days. There is
 * no inactivity timeout: on a skipping clock, hours without an event are normal.
 */
const serverTimeout: Duration = '24h'

export class ClusterHistory {
  /** The resource version at which the test began. */
  readonly startVersion: string
  readonly #source: HistorySource
  readonly #watches = new Map<string, WatchedHistory>()
  readonly #runs: Promise<void>[] = []
  readonly #closing = new AbortController()

  constructor(source: HistorySource, startVersion: string) {
    this.#source = source
    this.startVersion = startVersion
  }

  /** The history of a resource in one namespace, or in all namespaces (undefined). */
  watch(resource: Resource, namespace: string | undefined): WatchedHistory {
    const path = collectionPath(resource, namespace)
    const known = this.#watches.get(path) ?? this.#open(resource, namespace)
    this.#watches.set(path, known)
    return known
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#runs)
  }

  #open(resource: Resource, namespace: string | undefined): WatchedHistory {
    const { session, clock } = this.#source
    const history = new ResourceHistory(this.startVersion)
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const watched: WatchedHistory = { history, opened, problem: undefined }
    const watchStateChanged = (state: WatchState) => {
      watched.problem = state.type === 'broken' ? state.error : undefined
      if (state.type === 'broken' && isNotFound(state.error)) history.recordEnd()
      if (state.type !== 'listing') open()
    }
    const watching = { ...createSettings().watching, serverTimeout, inactivityTimeout: null }
    const observer = { watchStateChanged, watchWarned: () => {} }
    const options = { session, clock, resource, namespace, watching, observer, startAt: this.startVersion }
    const run = reflect({ ...options, keepsManagedFields: true }, (event) => history.take(event), this.#closing.signal)
    this.#runs.push(run)
    return watched
  }
}
