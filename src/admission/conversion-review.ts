/**
 * Handles one ConversionReview: converts each object to the desired version, step by step along the registered conversions. The response names the
 * objects that cannot be converted, with the reasons. Called by create-review.ts.
 */

import { type ArgsSource, objectArgs } from '../handlers/args/object-args.ts'
import type { ConversionHandler } from '../handlers/handler.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import { formatGroupVersion, type JsonObject, type KubeObject, parseGroupVersion } from '../kube/objects.ts'
import { readConversionReview, toConversionReview } from '../kube/reviews.ts'
import { toObserved } from '../objects/context.ts'
import { toPlainJson } from '../patching/patch.ts'
import type { WebhookRequestInfo } from '../settings/webhook-server.ts'
import { assignAll } from '../util/assign-all.ts'
import { withAnySignal } from '../util/async/any-signal.ts'
import { nextTurn } from '../util/async/clock.ts'
import { isPlainObject, setOwn } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'

export interface ConversionContext extends Omit<CallContext, 'logger' | 'object'> {
  /** The conversion handlers for a kind. */
  readonly conversionsFor: (group: string, kind: string) => readonly ConversionHandler[]
  readonly argsSourceOf: (body: KubeObject) => ArgsSource
  /** Aborted when the operator stops and no longer sends responses. */
  readonly signal: AbortSignal
}

/** The number of objects that are converted in parallel: handlers that send requests must not send one for each object of a list at once. */
const maxParallel = 10
/** The number of failures in the message of the response. */
const maxNamedFailures = 3

/** Resolves to the ConversionReview with the response. Rejects with the reason of a signal if the caller no longer waits. */
export function reviewConversion(
  converting: ConversionContext,
  review: unknown,
  info: WebhookRequestInfo,
): Promise<object> {
  const signals = info.signal === undefined ? [converting.signal] : [converting.signal, info.signal]
  return withAnySignal(signals, (signal) => convertAll(converting, review, signal()))
}

async function convertAll(converting: ConversionContext, review: unknown, signal: AbortSignal): Promise<object> {
  const request = readConversionReview(review)
  const converted: KubeObject[] = []
  const failures: string[] = []
  for (let from = 0; from < request.objects.length; from += maxParallel) {
    if (from > 0) await nextTurn()
    signal.throwIfAborted()
    const batch = request.objects.slice(from, from + maxParallel)
    const results = await Promise.allSettled(
      batch.map((object) => convert(converting, object, request.desiredApiVersion)),
    )
    for (const result of results) {
      if (result.status === 'fulfilled') converted.push(result.value)
      else failures.push(describeError(result.reason))
    }
  }
  return toConversionReview(review, request, failures.length === 0 ? converted : { failure: summarize(failures) })
}

function summarize(failures: readonly string[]): string {
  const named = failures.slice(0, maxNamedFailures).join('; ')
  return failures.length > maxNamedFailures ? `${named}; and ${failures.length - maxNamedFailures} more` : named
}

async function convert(converting: ConversionContext, object: KubeObject, apiVersion: string): Promise<KubeObject> {
  const current = parseGroupVersion(object.apiVersion)
  const desired = parseGroupVersion(apiVersion)
  const { kind, metadata } = object
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
  const failure = `Cannot convert ${kind} "${name}" from ${object.apiVersion} to ${apiVersion}`
  if (current === undefined || desired === undefined || current.group !== desired.group) {
    throw new Error(`${failure}: they are not versions of one group`)
  }
  const handlers = converting.conversionsFor(current.group, kind)
  const path = findConversionPath(handlers, current.version, desired.version)
  if (path === undefined)
    throw new Error(`${failure}: there is no conversion between them; register it with on.convert`)
  let converted = object
  for (const step of path) converted = await convertStep(converting, step, { object: converted, failure })
  return converted
}

interface ConversionStep {
  readonly object: KubeObject
  /** The beginning of the error message. */
  readonly failure: string
}

async function convertStep(
  converting: ConversionContext,
  handler: ConversionHandler,
  { object, failure }: ConversionStep,
): Promise<KubeObject> {
  const source = converting.argsSourceOf(object)
  const { conversion } = handler
  const context = { ...converting, logger: source.logger, object: () => toObserved(source.resource, object) }
  const { outcome } = await callHandler(context, handler, {
    start: { startedMs: converting.clock.now(), retries: 0 },
    args: (own) => assignAll(objectArgs(source), conversion, own),
    finish: (result) => mergeResult(object, result, conversion.to),
  })
  if (outcome.type === 'done') return outcome.result as KubeObject
  throw new Error(`${failure}: ${describeError(outcome.error)}`)
}

/** The object with the fields that the handler returned; null removes a field. Of the metadata, the API server allows changes of labels and annotations only. */
function mergeResult(object: KubeObject, result: unknown, version: string): KubeObject {
  const fields = toPlainJson(result)
  if (!isPlainObject(fields)) {
    throw new TypeError(
      'The conversion returned no object: return the fields that differ in the other version, such as { spec }',
    )
  }
  const { apiVersion, kind, metadata, ...rest } = object
  const converted = rest as unknown as JsonObject
  for (const [key, value] of Object.entries(fields)) {
    if (key === 'apiVersion' || key === 'kind' || key === 'metadata') continue
    if (value === null) delete converted[key]
    else setOwn(converted, key, value)
  }
  const { group } = parseGroupVersion(apiVersion)!
  return { apiVersion: formatGroupVersion(group, version), kind, metadata: withLabels(metadata, fields), ...converted }
}

function withLabels(metadata: KubeObject['metadata'], fields: JsonObject): KubeObject['metadata'] {
  const given = isPlainObject(fields['metadata']) ? fields['metadata'] : {}
  const { labels = metadata.labels, annotations = metadata.annotations } = given as Partial<KubeObject['metadata']>
  const { labels: _labels, annotations: _annotations, ...rest } = metadata
  return { ...rest, ...(labels && { labels }), ...(annotations && { annotations }) }
}

/**
 * The shortest chain of conversions between two versions; of several, the first registered. Empty if the versions are equal, undefined if there is no
 * chain. Pure.
 */
export function findConversionPath(
  handlers: readonly ConversionHandler[],
  from: string,
  to: string,
): readonly ConversionHandler[] | undefined {
  const paths = new Map<string, readonly ConversionHandler[]>([[from, []]])
  // A breadth-first search: the loop over the map also visits the entries that are added during the loop.
  for (const [version, path] of paths) {
    if (version === to) return path
    for (const handler of handlers) {
      const { conversion } = handler
      if (conversion?.from === version && !paths.has(conversion.to)) paths.set(conversion.to, [...path, handler])
    }
  }
  return undefined
}
