/** The run-wide collaborators, in one record. Made once in run.ts; everybody below asks for the part they need. */

import type { Session } from '../client/calls.ts'
import type { Client } from '../client/client.ts'
import type { Indices, Recorder } from '../core/handling/args.ts'
import type { HandlerClock } from '../core/handling/handler-clock.ts'
import type { CallWatch } from '../core/handling/invoke.ts'
import type { Lifecycle } from '../core/handling/lifecycles.ts'
import type { Subject } from '../core/handling/subject.ts'
import type { Workers } from '../core/handling/workers.ts'
import type { KeyedQueue } from '../core/queueing/keyed-queue.ts'
import type { Settings } from '../core/settings.ts'
import type { Background } from '../features/daemons/background.ts'
import type { Indexer } from '../features/indexing/indexer.ts'
import type { Kinship } from '../features/reconciling/kinship.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import type { Alarms } from '../util/alarms.ts'
import type { Clock } from '../util/clock.ts'
import { createLogger, type Logger, type LogSink } from '../util/log.ts'
import type { Backlog } from './backlog.ts'
import type { LargeObjects } from './large-objects.ts'
import type { Standing } from './leadership.ts'
import type { Memory } from './memories.ts'
import type { Pause } from './pause.ts'
import type { RunObserver } from './run-observer.ts'
import type { StepKeys } from './step-keys.ts'

/** What waits for an object: a state of it, its end, or that it is time to look again. */
export type Arrival =
  | {
      readonly type: 'seen'
      readonly event: null | 'ADDED' | 'MODIFIED'
      readonly object: KubeObject
      /** There are handlers that want to see every state. */
      readonly isSpied: boolean
    }
  | { readonly type: 'deleted'; readonly object: KubeObject; readonly missed: boolean }
  | { readonly type: 'wake' }

export interface Runtime {
  readonly session: Session
  readonly settings: Settings
  readonly clock: Clock
  readonly random: () => number
  readonly sink: LogSink
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly watchOf: (memory: Memory) => CallWatch
  readonly queue: KeyedQueue<Memory, Arrival>
  readonly alarms: Alarms<Memory>
  /** Who wants to see what the operator does, and how far it has caught up; undefined where nobody does. */
  readonly observer: Partial<RunObserver> | undefined
  readonly backlog: Backlog | undefined
  readonly background: Background<Memory>
  /** Whether it stands back for another operator: nothing new is begun meanwhile. */
  readonly pause: Pause
  /** Among the replicas of one operator. */
  readonly standing: Standing
  /** Aborted when the operator begins to stop: nothing new is begun then. */
  readonly stopping: AbortSignal
  /** Aborted when handlers have no more time. */
  readonly signal: AbortSignal
  /** Aborted when there is no more time to write what they have come to. */
  readonly writing: AbortSignal
  readonly clientIn: (namespace: string | undefined) => Client
  readonly recorderOf: (body: KubeObject) => Recorder
  readonly makeMemo: () => object
  readonly indices: Indices
  /** For handlers, and for daemons, which no caller waits for. */
  readonly handlerClock: HandlerClock
  readonly daemonClock: HandlerClock
  readonly workers: Workers
  /** Signs the results of steps. */
  readonly stepKeys: StepKeys
  /** Bounds the memory that large objects take while they are parsed. */
  readonly large: LargeObjects
  readonly indexer: Indexer
  /** What is known of the children of objects that are reconciled. */
  readonly kinship: Kinship
  /** What the operator is called as the owner of fields. */
  readonly fieldManager: string
  /** Says a thing once per resource. */
  readonly warnOnce: (resource: Resource, topic: string, message: string) => void
}

/** What is said by a local one is not posted as an event of the object. */
export function loggerOf(
  { sink }: Runtime,
  { apiVersion, kind, metadata }: KubeObject,
  { isLocal = false }: { readonly isLocal?: boolean } = {},
): Logger {
  const { name, namespace = null, uid } = metadata
  return createLogger(sink, 'kopf.objects', { object: { apiVersion, kind, name, uid, namespace }, isLocal })
}

/** The object at hand, with all that handlers are given. */
export function subjectOf(runtime: Runtime, memory: Memory, logger: Logger): Subject {
  const { body, served } = memory
  memory.memo ??= runtime.makeMemo()
  return {
    resource: served.resource,
    body,
    logger,
    memo: memory.memo,
    client: runtime.clientIn(body.metadata.namespace),
    recorder: runtime.recorderOf(body),
    indices: runtime.indices,
    clock: runtime.handlerClock,
    workers: runtime.workers,
  }
}
