/** An object at hand, and what handlers are told about it whatever has happened. Made once per state of the object. */
import type { Client } from '../../client/client.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { deepFreeze } from '../../util/json/deep-freeze.ts'
import { toWhole } from '../../util/json/lazy-json.ts'
import { createLiveView } from '../../util/live-view.ts'
import { type Logger, toHandlerLogger } from '../../util/log/log.ts'
import type { Indices, Recorder } from './args.ts'
import type { HandlerClock } from './handler-clock.ts'
import { type Workers, workersKey } from './workers.ts'

export interface ArgsSource {
  readonly resource: Resource
  readonly body: KubeObject
  /** For the framework's lines; handlers get their own one from it. */
  readonly logger: Logger
  readonly memo: object
  readonly client: Client
  readonly recorder: Recorder
  readonly indices: Indices
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
  readonly [workersKey]: Workers
}

/** Stanzas that are missing are empty, so that a handler can look into them at once. */
const nothing: object = Object.freeze({})

/** What views show of the latest state, by the names of the arguments. Shared by all objects: there may be very many. */
const shown = {
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

/** The same for those that run for as long as the object is there: wherever they look into it, they see its latest state. */
export function liveObjectArgs(source: ArgsSource, current: () => KubeObject): object {
  const { metadata } = source.body
  return {
    logger: toHandlerLogger(source.logger),
    memo: source.memo,
    client: source.client,
    resource: source.resource,
    body: createLiveView(current, shown.body),
    spec: createLiveView(current, shown.spec),
    status: createLiveView(current, shown.status),
    meta: createLiveView(current, shown.meta),
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    labels: createLiveView(current, shown.labels),
    annotations: createLiveView(current, shown.annotations),
    recorder: source.recorder,
    indices: source.indices,
    clock: source.clock,
    [workersKey]: source.workers,
  }
}

/** What every handler on an object gets. The body is frozen: what should be different belongs into the patch. */
export function objectArgs(source: ArgsSource): ObjectArguments {
  const { resource, memo, client, recorder, indices, clock, workers } = source
  const logger = toHandlerLogger(source.logger)
  // Large objects are parsed here, and stay so as long as the arguments are held.
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
    clock,
    [workersKey]: workers,
  }
}

/** The arguments that show the object and its parts. `body` is frozen. */
export function bodyArgs(body: KubeObject): BodyArguments {
  // What is asked of the API server is not always an object: the options of an `exec` have no metadata.
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
 * The same arguments with another state of the object, which is worked out when one of them is read: copying a status with an entry for
 * each of thousands of sub-handlers, for each of them, takes longer than most of them do. Nothing is replaced where `seen` is undefined.
 */
export function withSeen(args: object, seen: (() => BodyArguments) | undefined): object {
  if (seen === undefined) return args
  for (const name of bodyArgNames) {
    Object.defineProperty(args, name, { get: () => seen()[name], enumerable: true, configurable: true })
  }
  return args
}
