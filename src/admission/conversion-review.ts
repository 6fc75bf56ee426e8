/**
 * Objects from one version of their resource to another, when the API server asks for it: step by step, along the
 * conversions there are. An object that cannot be converted is named with its reason; the others are not held up by it.
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
  /** Of a kind of a group. */
  readonly conversionsFor: (group: string, kind: string) => readonly ConversionHandler[]
  readonly subjectOf: (body: KubeObject) => ArgsSource
  /** Aborted when the operator has no more time for answers. */
  readonly signal: AbortSignal
}

/** So many at once: functions that ask elsewhere must not ask for a whole list at a time. */
const atOnce = 10
const maxNamed = 3

/** Rejects with the reason of the signal where nobody waits for the answer any more. */
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
  for (let from = 0; from < request.objects.length; from += atOnce) {
    if (from > 0) await nextTurn()
    signal.throwIfAborted()
    const some = request.objects.slice(from, from + atOnce)
    const results = await Promise.allSettled(
      some.map((object) => convert(converting, object, request.desiredApiVersion)),
    )
    for (const result of results) {
      if (result.status === 'fulfilled') converted.push(result.value)
      else failures.push(describeError(result.reason))
    }
  }
  return toConversionReview(review, request, failures.length === 0 ? converted : { failure: summarize(failures) })
}

function summarize(failures: readonly string[]): string {
  const named = failures.slice(0, maxNamed).join('; ')
  return failures.length > maxNamed ? `${named}; and ${failures.length - maxNamed} more` : named
}

async function convert(converting: ConversionContext, object: KubeObject, apiVersion: string): Promise<KubeObject> {
  const present = parseGroupVersion(object.apiVersion)
  const desired = parseGroupVersion(apiVersion)
  const { kind, metadata } = object
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
  const what = `Cannot convert ${kind} "${name}" from ${object.apiVersion} to ${apiVersion}`
  if (present === undefined || desired === undefined || present.group !== desired.group) {
    throw new Error(`${what}: they are not versions of one group`)
  }
  const handlers = converting.conversionsFor(present.group, kind)
  const route = findConversionPath(handlers, present.version, desired.version)
  if (route === undefined) throw new Error(`${what}: there is no conversion between them; register it with on.convert`)
  let converted = object
  for (const step of route) converted = await convertStep(converting, step, { object: converted, what })
  return converted
}

interface ConversionStep {
  readonly object: KubeObject
  readonly what: string
}

async function convertStep(
  converting: ConversionContext,
  handler: ConversionHandler,
  { object, what }: ConversionStep,
): Promise<KubeObject> {
  const source = converting.subjectOf(object)
  const { conversion } = handler
  const context = { ...converting, logger: source.logger, object: () => toObserved(source.resource, object) }
  const { outcome } = await callHandler(context, handler, {
    start: { startedMs: converting.clock.now(), retries: 0 },
    args: (own) => assignAll(objectArgs(source), conversion, own),
    finish: (result) => overlay(object, result, conversion.to),
  })
  if (outcome.type === 'done') return outcome.result as KubeObject
  throw new Error(`${what}: ${describeError(outcome.error)}`)
}

/** What was not named stays as it is. Of the metadata the API server accepts only other labels and annotations. */
function overlay(object: KubeObject, result: unknown, version: string): KubeObject {
  const fields = toPlainJson(result)
  if (!isPlainObject(fields)) {
    throw new TypeError(
      'The conversion returned no object: return what is different in the other version, such as { spec }',
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
  return { apiVersion: formatGroupVersion(group, version), kind, metadata: relabelled(metadata, fields), ...converted }
}

function relabelled(metadata: KubeObject['metadata'], fields: JsonObject): KubeObject['metadata'] {
  const given = isPlainObject(fields['metadata']) ? fields['metadata'] : {}
  const { labels = metadata.labels, annotations = metadata.annotations } = given as Partial<KubeObject['metadata']>
  const { labels: _labels, annotations: _annotations, ...rest } = metadata
  return { ...rest, ...(labels && { labels }), ...(annotations && { annotations }) }
}

/** From one version to another by the conversions there are: the fewest of them, and the first registered among equals. Pure. */

/** Empty where there is nothing to convert; undefined where there is no way. */
export function findConversionPath(
  handlers: readonly ConversionHandler[],
  from: string,
  to: string,
): readonly ConversionHandler[] | undefined {
  const routes = new Map<string, readonly ConversionHandler[]>([[from, []]])
  // What is found on the way is looked at in its turn: maps are walked to their end, wherever that is by then.
  for (const [version, route] of routes) {
    if (version === to) return route
    for (const handler of handlers) {
      const { conversion } = handler
      if (conversion?.from === version && !routes.has(conversion.to)) routes.set(conversion.to, [...route, handler])
    }
  }
  return undefined
}
