/** The groups of settings about talking to the cluster; the other groups are in settings-groups.ts. Types only. */
import type { Duration } from '../util/duration.ts'
import type { Backoffs } from './settings-checks.ts'
import type { SelectorMap } from './settings-selectors.ts'

/** Lists and watches. */
export interface WatchingSettings {
  /** How long the server is asked to keep one watch open; null for as long as it likes. Default: null. */
  serverTimeout: Duration | null
  /** How long we keep one watch open; null for as long as the server does. Default: null. */
  clientTimeout: Duration | null
  /**
   * How long connecting a watch may take; null for `networking.connectTimeout`, then `networking.requestTimeout`.
   * Default: null.
   */
  connectTimeout: Duration | null
  /** The pause before a watch is opened again. Default: 0.1. */
  reconnectBackoff: Duration
  /**
   * How long a watch may be silent before it counts as dead. Servers send bookmarks every minute. Default: 70.
   */
  inactivityTimeout: Duration
  /**
   * How many objects to ask for at once when listing; null for all of them.
   * Default: 500. (Kopf asks for all at once, which costs both sides memory.)
   */
  chunkSize: number | null
  /**
   * Whether to let the server stream the objects that are there (`sendInitialEvents`) where it can, rather than list them.
   * Default: true. (Kopf: false.) Servers that cannot are listed.
   */
  initialStreaming: boolean
  /**
   * The largest object that is handled, in bytes of its JSON; null for no limit. No handler is called for a larger one, which its
   * condition `Handled`, an Event and the log say. Default: 3145728, more than an API server stores of a custom resource.
   */
  maxObjectBytes: number | null
  /**
   * Label selectors for the server to filter by, per resource; all that match a resource apply.
   * Default: empty. Example: `settings.watching.labelSelectors.set('pods', 'app=web')`.
   */
  labelSelectors: SelectorMap
  /** Field selectors, likewise. Example: `settings.watching.fieldSelectors.set('pods', 'spec.nodeName=n1')`. */
  fieldSelectors: SelectorMap
  /** Shard selectors, likewise; of those that match a resource the first one applies. */
  shardSelectors: SelectorMap
}

/** Requests in general. */
export interface NetworkingSettings {
  /** How long a request may take, watches excepted; null for ever. Default: 300. */
  requestTimeout: Duration | null
  /** How long connecting may take; null for as long as the request. Default: null. */
  connectTimeout: Duration | null
  /**
   * The waits between the attempts of one request; there is one attempt more than waits. Default: 1, 1, 2, 3, 5, 8,
   * 13, 21.
   */
  errorBackoffs: Backoffs
  /** Whether the server's `Retry-After` replaces our wait, rather than being the least of it. Default: false. */
  enforceRetryAfter: boolean
  /**
   * Whether `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment count, unless a connection says. Default:
   * false.
   */
  trustEnv: boolean
}
