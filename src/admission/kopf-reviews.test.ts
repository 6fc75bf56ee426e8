/** Compares with the responses and configurations of Kopf as recorded by tools/kopf-vectors/admission.py. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { applyJsonPatch } from '../../test/support/json-patch.ts'
import { AdmissionError, PermanentError, TemporaryError, WebhookError } from '../errors.ts'
import { createHandler } from '../handler-definitions.ts'
import { ABSENT, PRESENT } from '../handlers/filters.ts'
import { Registry } from '../handlers/registry.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { WebhookClientConfig } from '../settings/webhook-server.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { type ReviewContext, reviewAdmission } from './admission-review.ts'
import { buildWebhooks } from './build-webhooks.ts'

interface HandlerData {
  readonly id: string
  readonly kind: 'validate' | 'mutate'
  readonly plural: string
  readonly options: JsonObject
  readonly does: ReadonlyArray<readonly [string, ...unknown[]]>
}

interface Expected {
  readonly error?: string
  readonly review?: { readonly response: JsonObject }
  /** Null if the response has no patch. */
  readonly after: KubeObject | null
  readonly calls: number
  readonly seen: readonly JsonObject[]
}

interface Vectors {
  readonly reviews: ReadonlyArray<{
    readonly name: string
    readonly handlers: readonly HandlerData[]
    readonly reviews: ReadonlyArray<{
      readonly webhook: string | null
      readonly review: { readonly request: JsonObject }
      readonly expected: Expected
    }>
  }>
  readonly webhooks: {
    readonly handlers: readonly HandlerData[]
    readonly built: ReadonlyArray<{ readonly config: WebhookClientConfig; readonly webhooks: readonly JsonObject[] }>
  }
}

const file = new URL('./testdata/kopf-reviews.json', import.meta.url)
const vectors = parseJsonText(readFileSync(file, 'utf8')) as unknown as Vectors

function resource(plural: string, kind: string): Resource {
  return {
    group: 'example.com',
    version: 'v1',
    plural,
    kind,
    singular: kind.toLowerCase(),
    shortcuts: [],
    categories: [],
    subresources: [],
    namespaced: true,
    preferred: true,
    verbs: ['list', 'watch'],
  }
}

const resources = [resource('widgets', 'Widget'), resource('gadgets', 'Gadget')]
const tokens: Readonly<Record<string, unknown>> = { '<present>': PRESENT, '<absent>': ABSENT }

function toOptions(options: JsonObject): object {
  const read = (value: unknown): unknown => {
    if (typeof value === 'string') return tokens[value] ?? value
    return value
  }
  const patterns = (value: unknown) => Object.fromEntries(Object.entries(value as object).map(([k, v]) => [k, read(v)]))
  const isMeta = (name: string) => name === 'labels' || name === 'annotations'
  const entries = Object.entries(options).filter(([, value]) => value !== null)
  return Object.fromEntries(entries.map(([name, value]) => [name, isMeta(name) ? patterns(value) : read(value)]))
}

interface Given {
  readonly warnings: unknown[]
  readonly patch: { [key: string]: unknown; readonly fns: unknown[] }
  readonly [name: string]: unknown
}

function toFunction({ does }: HandlerData, seen: Given[]): (args: Given) => unknown {
  return (args) => {
    seen.push(args)
    for (const [step, ...rest] of does) {
      if (step === 'warn') args.warnings.push(rest[0])
      else if (step === 'patch') fill(args.patch, rest[0] as JsonObject)
      else if (step === 'append') args.patch.fns.push(appending(rest as [string, string, unknown]))
      else if (step === 'raise') throw toError(rest as [string, string, number?])
      else if (step === 'return') return rest[0]
    }
    return undefined
  }
}

function fill(target: { [key: string]: unknown }, changes: JsonObject): void {
  for (const [key, value] of Object.entries(changes)) target[key] = structuredClone(value)
}

function appending([stanza, list, item]: [string, string, unknown]) {
  return (body: Record<string, Record<string, unknown[]>>) => void body[stanza]![list]!.push(item)
}

function toError([type, message, status]: [string, string, (number | null)?]): Error {
  if (type === 'admission') return new AdmissionError(message, status == null ? {} : { status })
  if (type === 'permanent') return new PermanentError(message)
  return type === 'temporary' ? new TemporaryError(message) : new TypeError(message)
}

function register(handlers: readonly HandlerData[], seen: Given[]): Registry {
  const registry = new Registry()
  for (const data of handlers) {
    const options = { id: data.id, ...toOptions(data.options) }
    registry.add(createHandler(data.kind, ['example.com', 'v1', data.plural], options, toFunction(data, seen)))
  }
  return registry
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function reviewingOf(handlers: readonly HandlerData[], seen: Given[]): ReviewContext {
  const registry = register(handlers, seen)
  const ended = { returned() {}, settled() {} }
  const nothing = { memo: {}, client: {}, recorder: {}, indices: {}, workers: {}, clock: {} } as never
  return {
    clock: { now: () => 0, sleep: () => Promise.resolve() },
    observer: undefined,
    tracing: undefined,
    watch: { begin: () => ended },
    defaultBackoffMs: 0,
    signal: new AbortController().signal,
    resources: () => resources.filter(({ plural }) => handlers.some((handler) => handler.plural === plural)),
    handlersFor: (one) => registry.handlersFor(one),
    argsSourceOf: (resource, body) => ({ resource, body, logger: silent, ...(nothing as object) }) as never,
  }
}

/** Intended differences from Kopf, by the name of the case and the number of the review. */
const deviations: Readonly<Record<string, (expected: Expected) => Expected>> = {
  // A path without a handler is a configuration error; Kopf hides it by allowing the request.
  'ids 3': () => ({ error: 'UnknownResourceError', after: null, calls: 0, seen: [] }),
  'ids 4': () => ({ error: 'UnknownResourceError', after: null, calls: 0, seen: [] }),
  'ids 5': () => ({ error: 'UnknownResourceError', after: null, calls: 0, seen: [] }),
  // Kopf matches filters with the new object only, so that removing a label bypasses the handlers for objects with this label.
  'filters 3': (expected) => alsoCalling(expected, { absent: 2, 'no-value': 7 }),
  'filters 4': (expected) => alsoCalling(expected, { label: 0, present: 1, note: 3, field: 5, 'some-value': 8 }),
  // The API server omits an empty subresource, so that an empty text means no subresource.
  'subresources 3': (expected) => ({ ...expected, calls: 2, review: warning(expected, ['None', '*']) }),
  // The API server rejects a request if a validating webhook returns a patch.
  'a patch of a validation 0': (expected) => {
    const { patchType: _patchType, ...response } = expected.review!.response
    return { ...expected, after: null, review: { ...expected.review, response } }
  },
  // If the object is malformed, its name and namespace are taken from the request.
  'arguments 5': (expected) => ({
    ...expected,
    seen: expected.seen.map((args) => ({ ...args, name: 'one', namespace: 'default' })),
  }),
}

function warning({ review }: Expected, warnings: string[]): NonNullable<Expected['review']> {
  return { ...review, response: { ...review!.response, warnings } }
}

/** Adds handlers to the expected calls by the index of their warnings; `seen` is empty since Kopf recorded no arguments for them. */
function alsoCalling(expected: Expected, added: Readonly<Record<string, number>>): Expected {
  const warnings = [...(expected.review!.response['warnings'] as string[])]
  for (const [id, index] of Object.entries(added)) warnings.splice(index, 0, id)
  return { ...expected, calls: warnings.length, seen: [], review: warning(expected, warnings) }
}

const statuses: Readonly<Record<string, number>> = { MissingDataError: 400, UnknownResourceError: 404 }

describe.each(vectors.reviews)('admission reviews compared with Kopf: $name', ({ name, handlers, reviews }) => {
  const cases = reviews.map((one, number) => {
    const deviate = deviations[`${name} ${number}`] ?? ((expected) => expected)
    return { ...one, number, expected: deviate(one.expected) }
  })

  test.each(cases)(
    'the admission review $number for webhook $webhook is answered as by Kopf',
    async ({ webhook, review, expected }) => {
      const seen: Given[] = []
      const info = { headers: { a: 'b' }, ...(webhook === null ? {} : { webhook }) }
      const answering = reviewAdmission(reviewingOf(handlers, seen), structuredClone(review), info)
      const refused = statuses[expected.error ?? '']
      if (refused !== undefined) {
        await expect(answering).rejects.toBeInstanceOf(WebhookError)
        await expect(answering).rejects.toMatchObject({ status: refused })
        return
      }
      const answer = (await answering) as { response: JsonObject }
      const { patch, ...response } = answer.response
      // Replacing a scalar with an object fails the whole review in Kopf; here the patch applies.
      if (expected.error !== undefined) {
        expect(patched(review.request, patch)).toMatchObject({ spec: { size: { a: 1 } } })
        return
      }
      expect({ ...answer, response }).toEqual(expected.review)
      expect(withoutEmpty(patched(review.request, patch))).toEqual(expected.after)
      expect(seen).toHaveLength(expected.calls)
      expected.seen.forEach((args, index) => {
        expect(toSeen(seen[index]!, args)).toEqual({ ...args, diff: inOrder(args['diff'] as readonly unknown[]) })
      })
    },
  )
})

function patched({ object, oldObject }: JsonObject, patch: unknown): unknown {
  if (patch === undefined) return null
  const edits = parseJsonText(Buffer.from(patch as string, 'base64').toString())
  return applyJsonPatch((object ?? oldObject)!, edits as never)
}

/** Kopf removes objects that became empty; a merge patch keeps them. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, withoutEmpty(inner)] as const)
  const isEmpty = (inner: unknown) => typeof inner === 'object' && inner !== null && Object.keys(inner).length === 0
  return Object.fromEntries(entries.filter(([, inner]) => Array.isArray(inner) || !isEmpty(inner)))
}

/** Converts arguments to JSON with null for undefined. The diff is sorted since its order in Kopf is random. */
function toSeen(args: Given, names: JsonObject): object {
  const diff = inOrder(args['diff'] as readonly unknown[])
  const entries = Object.keys(names).map((name) => [name, (name === 'diff' ? diff : args[name]) ?? null])
  return JSON.parse(
    JSON.stringify(Object.fromEntries(entries), (_key, value: unknown) => (value === undefined ? null : value)),
  )
}

function inOrder(diff: readonly unknown[]): readonly unknown[] {
  return diff.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
}

describe('webhook configurations compared with Kopf', () => {
  const registry = register(vectors.webhooks.handlers, [])

  test.each(vectors.webhooks.built)('webhooks are configured as by Kopf with $config', ({ config, webhooks }) => {
    const ours = buildWebhooks({
      handlers: registry.ofCategory('admission'),
      resources,
      suffix: 'auto.kopf.dev',
      clientConfig: config,
    })
    expect(ours.map(withoutDefaults)).toEqual(webhooks.map(withValidNames))
  })

  /** Removes the fields that the API server defaults. The operator writes them explicitly to detect foreign changes. */
  function withoutDefaults({ namespaceSelector, reinvocationPolicy, objectSelector, ...rest }: JsonObject): object {
    expect(namespaceSelector).toEqual({})
    expect([undefined, 'Never']).toContain(reinvocationPolicy)
    const hasSelector = Object.keys(objectSelector as object).length > 0
    return {
      ...rest,
      objectSelector: hasSelector ? objectSelector : null,
      clientConfig: withoutPort(rest['clientConfig']),
    }
  }

  function withoutPort(config: unknown): unknown {
    const { service, ...rest } = config as { service?: { port?: number; path: string } }
    if (service === undefined) return config
    const { port, path, ...others } = service
    const isDigested = /-[0-9a-f]{8}$/.test(path)
    const known = isDigested ? path.replace(/[^/]*$/, 'made-valid') : path
    return { ...rest, service: { ...others, path: known, ...(port === 443 ? {} : { port }) } }
  }

  /** The API server rejects a configuration with capital letters in names, or with invalid names in service paths. */
  function withValidNames(webhook: JsonObject): object {
    const { service, ...rest } = webhook['clientConfig'] as { service?: { path: string } }
    const path = service?.path.replace(/[^/]*(_|%|[A-Z]).*$/, 'made-valid')
    return {
      ...webhook,
      name: String(webhook['name']).toLowerCase(),
      clientConfig: { ...rest, ...(service && { service: { ...service, path } }) },
    }
  }
})
