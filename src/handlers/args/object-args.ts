/** Creates the arguments that all handlers of an object have in common: the object, its parts, logger, memo, client and so on. */
import type { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { deepFreeze } from '../../util/json/deep-freeze.ts'
import { toWhole } from '../../util/json/lazy-json.ts'
import { createLiveView } from '../../util/live-view.ts'
import { type Logger, toHandlerLogger } from '../../util/log/log.ts'
import type { Indices, Recorder } from './args.ts'
import type { HandlerClock } from './handler-clock.ts'
import type { Metrics } from './metrics.ts'
import { type Workers, workersKey } from './workers.ts'

/** The object and the values from which its arguments are created. */
export interface ArgsSource {
  readonly resource: Resource
  readonly body: KubeObject
  /** The logger for lines of the framework. The logger of handlers is derived from it. */
  readonly logger: Logger
  readonly memo: object
  readonly client: Client
  readonly recorder: Recorder
  readonly indices: Indices
  readonly metrics: Metrics
  readonly clock: HandlerClock
  readonly workers: Workers
}

/** The arguments that show an object and its parts. */
export interface BodyArguments {
  readonly body: KubeObject
  readonly spec: object
  readonly status: object
  readonly meta: KubeObject['metadata']
  readonly labels: object
  readonly annotations: object
}

/** The arguments of all handlers of an object. */
export interface ObjectArguments extends Omit<ArgsSource, 'workers'>, BodyArguments {
  readonly name: string | undefined
  readonly namespace: string | undefined
  readonly uid: string | undefined
  readonly now: () => Date
  readonly [workersKey]: Workers
}

/** The value of a missing `spec`, `status` and so on: a handler can read fields of it without a check. */
const nothing: object = Object.freeze({})

/** The functions of the live arguments, by argument name. Shared by all objects, since functions per object would cost memory. */
const liveParts = {
  body: (body: KubeObject) => deepFreeze(body),
  spec: (body: KubeObject) => stanza(deepFreeze(body)['spec']),
  status: (body: KubeObject) => stanza(deepFreeze(body)['status']),
  meta: (body: KubeObject) => stanza(deepFreeze(body).metadata),
  labels: (body: KubeObject) => stanza(deepFreeze(body).metadata.labels),
  annotations: (body: KubeObject) => stanza(deepFreeze(body).metadata.annotations),
}

function stanza(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : nothing
}

/** The arguments of daemons: the object and its parts are views that show the latest state at each access. */
export function liveObjectArgs(source: ArgsSource, current: () => KubeObject): object {
  const { metadata } = source.body
  return {
    logger: toHandlerLogger(source.logger),
    memo: source.memo,
    client: source.client,
    resource: source.resource,
    body: createLiveView(current, liveParts.body),
    spec: createLiveView(current, liveParts.spec),
    status: createLiveView(current, liveParts.status),
    meta: createLiveView(current, liveParts.meta),
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    labels: createLiveView(current, liveParts.labels),
    annotations: createLiveView(current, liveParts.annotations),
    recorder: source.recorder,
    indices: source.indices,
    metrics: source.metrics,
    clock: source.clock,
    now: source.clock.date,
    [workersKey]: source.workers,
  }
}

/** The arguments of all handlers except daemons, for one state of the object. The body is frozen: changes belong into the patch. */
export function objectArgs(source: ArgsSource): ObjectArguments {
  const { resource, memo, client, recorder, indices, metrics, clock, workers } = source
  const logger = toHandlerLogger(source.logger)
  // A large object, which is kept as text, is parsed here. The parsed form is freed together with the arguments.
  const stanzas = bodyArgs(deepFreeze(toWhole(source.body)))
  const { name, namespace, uid } = stanzas.meta
  return {
    logger,
    memo,
    client,
    resource,
    ...stanzas,
    name,
    namespace,
    uid,
    recorder,
    indices,
    metrics,
    clock,
    now: clock.date,
    [workersKey]: workers,
  }
}

/** The arguments that show the object and its parts. `body` is frozen. */
export function bodyArgs(body: KubeObject): BodyArguments {
  // The body of an admission request is not always an object: the options of an `exec` have no metadata.
  const meta = (body.metadata ?? nothing) as KubeObject['metadata']
  return {
    body,
    spec: body['spec'] ?? nothing,
    status: body['status'] ?? nothing,
    meta,
    labels: meta.labels ?? nothing,
    annotations: meta.annotations ?? nothing,
  }
}

const bodyArgNames = ['body', 'spec', 'status', 'meta', 'labels', 'annotations'] as const

/**
 * Replaces the object and its parts in the arguments by another state, which is computed when the first of them is read: for thousands of
 * sub-handlers, copying the status for each of them would take longer than the handlers. With `seen` undefined, nothing is replaced.
 */
export function withSeen(args: object, seen: (() => BodyArguments) | undefined): object {
  if (seen === undefined) return args
  for (const name of bodyArgNames) {
    Object.defineProperty(args, name, { get: () => seen()[name], enumerable: true, configurable: true })
  }
  return args
}
