/** Encodes objects, lists and watch events in the requested form: complete, as a Table, or metadata only; JSON or YAML. */
import { Buffer } from 'node:buffer'
import { formatGroupVersion, type KubeObject } from '../kube/objects.ts'
import { parseJsonText, toJsonText } from '../util/json/json-text.ts'
import { formatYaml } from '../util/yaml.ts'
import type { ApiResponse, ResourceCall } from './call.ts'
import { goPackageOf } from './decode.ts'
import { type ListPage, listText } from './list-page.ts'
import { checkRoute, isPrettyRequest, type Negotiated, negotiate, parseIncludeObject } from './negotiation.ts'
import { presentObject, presentText } from './present.ts'
import type { ApiResource } from './resource.ts'
import { StatusError } from './status.ts'
import type { Stored } from './storage/stored.ts'
import { toObjectTable, toPartialList, toPartialObject, toTable, toTableEvent, wrongShape } from './tables/table.ts'
import type { EventType, WatchPlan } from './watch-stream.ts'

type ResourceContent = 'object' | 'list' | 'watch'

function formOf({ headers, resource }: ResourceCall, subject: ResourceContent): Negotiated {
  const { accept } = headers
  if (!resource.isCustom) checkRoute(accept, subject)
  return negotiate(accept, subject)
}

/** Must be called before a write: a client that accepts no representation must not change anything. */
export function checkAcceptable(call: ResourceCall): void {
  formOf(call, 'object')
}

async function answer(call: ResourceCall, status: number, form: Negotiated, body: unknown): Promise<ApiResponse> {
  const headers = { 'content-type': form.contentType }
  if (form.format === 'yaml') {
    return { status, headers, body: formatYaml(body) }
  }
  const isPretty = form.isPretty || isPrettyRequest(call.query.get('pretty'), call.headers['user-agent'])
  return { status, headers, body: isPretty ? toPrettyText(body) : `${toJsonText(body)}\n` }
}

function toPrettyText(body: unknown): string {
  try {
    return JSON.stringify(body, undefined, 2)
  } catch {
    // JSON.stringify cannot write bigints; exact integers are more important than indentation.
    return toJsonText(body)
  }
}

export function objectAnswer(call: ResourceCall, status: number, object: KubeObject): Promise<ApiResponse> {
  const form = formOf(call, 'object')
  return answer(call, status, form, formObject(call, form, object))
}

/** Responds with a stored state; usually its text is sent without parsing. */
export function storedAnswer(call: ResourceCall, status: number, stored: Stored): ApiResponse | Promise<ApiResponse> {
  return writtenAnswer(call, status, { stored })
}

/** Responds with the result of a write; a dry run has an object only. */
export function writtenAnswer(
  call: ResourceCall,
  status: number,
  { stored, object }: Shown,
): ApiResponse | Promise<ApiResponse> {
  const form = formOf(call, 'object')
  if (stored !== undefined && isPlain(call, form)) {
    const body = `${presentText(call.resource, stored)}\n`
    return { status, headers: { 'content-type': form.contentType }, body }
  }
  return answer(call, status, form, formObject(call, form, object ?? presentObject(call.resource, stored!)))
}

type Shown =
  | { readonly stored: Stored; readonly object?: KubeObject }
  | { readonly stored?: Stored; readonly object: KubeObject }

/** True if the stored JSON text can be sent unchanged. */
function isPlain({ query, headers }: ResourceCall, { as, format, isPretty }: Negotiated): boolean {
  if (as !== undefined || format !== 'json' || isPretty) return false
  return !isPrettyRequest(query.get('pretty'), headers['user-agent'])
}

function formObject(call: ResourceCall, form: Negotiated, object: KubeObject): unknown {
  switch (form.as) {
    case 'Table':
      return toObjectTable(object, call.resource.columns, tableOptions(call, form))
    case 'PartialObjectMetadata':
      return toPartialObject(object, form.version!)
    case 'PartialObjectMetadataList':
      // In kube-apiserver, the internal type of custom resources could be a list, so the error is about missing items.
      if (call.resource.isCustom) throw new StatusError(500, '', 'content is not a list')
      throw wrongShape(form.as, goTypeOf(call.resource, false))
    default:
      return object
  }
}

function tableOptions(call: ResourceCall, form: Negotiated): Parameters<typeof toObjectTable>[2] {
  return {
    includeObject: parseIncludeObject(call.query.get('includeObject')),
    version: form.version!,
    now: new Date(call.clock.now()),
  }
}

/** The Go type of kube-apiserver, for messages. */
function goTypeOf(resource: ApiResource, isList: boolean): string {
  const { isCustom, kind, listKind } = resource
  if (isCustom) return isList ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured'
  return `*${goPackageOf(resource)}.${isList ? listKind : kind}`
}

export function listAnswer(call: ResourceCall, page: ListPage): ApiResponse | Promise<ApiResponse> {
  const form = formOf(call, 'list')
  const isPretty = form.isPretty || isPrettyRequest(call.query.get('pretty'), call.headers['user-agent'])
  if (form.as === undefined && form.format === 'json' && !isPretty) {
    return { status: 200, headers: { 'content-type': form.contentType }, body: joined(listText(call.resource, page)) }
  }
  return answer(call, 200, form, formList(call, form, page))
}

function formList(call: ResourceCall, form: Negotiated, page: ListPage): unknown {
  const meta = {
    resourceVersion: String(page.version),
    continue: page.continue,
    remainingItemCount: page.remaining,
  }
  if (form.as === undefined) return parseJsonText([...listText(call.resource, page)].join(''))
  const objects = page.items.map((stored) => presentObject(call.resource, stored))
  switch (form.as) {
    case 'Table':
      return toTable(objects, call.resource.columns, { ...tableOptions(call, form), ...meta })
    case 'PartialObjectMetadataList':
      return toPartialList(objects, { ...meta, version: form.version! })
    default:
      throw wrongShape('PartialObjectMetadata', goTypeOf(call.resource, true))
  }
}

const chunkCharacters = 64 * 1024

/** Sends a short list as one string, a long one in chunks. */
function joined(pieces: Iterable<string>): string | AsyncIterable<Uint8Array> {
  const iterator = pieces[Symbol.iterator]()
  let text = ''
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    text += next.value
    if (text.length > chunkCharacters) return chunked(text, iterator)
  }
  return text
}

async function* chunked(start: string, rest: Iterator<string>): AsyncGenerator<Uint8Array, void, undefined> {
  let text = start
  for (let next = rest.next(); !next.done; next = rest.next()) {
    text += next.value
    if (text.length < chunkCharacters) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

export interface WatchEncoder extends Pick<WatchPlan, 'encode' | 'bookmark'> {
  readonly contentType: string
}

/** The encoder for the events of one watch. */
export function watchEncoder(call: ResourceCall): WatchEncoder {
  const form = formOf(call, 'watch')
  const { contentType } = form
  if (form.as === undefined) return { contentType, encode: plainEncoder(call), bookmark: bookmarker(call) }
  if (form.as === 'PartialObjectMetadataList') return { contentType, encode: nothing, bookmark: nothing }
  let isFirst = true
  const shape = (object: KubeObject): unknown => {
    if (form.as !== 'Table') return toPartialObject(object, form.version!)
    const table = toTableEvent(object, call.resource.columns, { ...tableOptions(call, form), isFirst })
    isFirst = false
    return table
  }
  return {
    contentType,
    encode: (type, stored) => line(type, toJsonText(shape(presentObject(call.resource, stored)))),
    bookmark: (version, isEnd) =>
      line('BOOKMARK', JSON.stringify(shape(bookmarkObject(call, version, isEnd) as unknown as KubeObject))),
  }
}

/** A watch event cannot be shown as a list. kube-apiserver notices that after the response has started, and sends nothing. */
function nothing(): Uint8Array {
  return new Uint8Array(0)
}

function plainEncoder({ resource, watches }: ResourceCall): WatchPlan['encode'] {
  const { lines } = watches
  return (type: EventType, stored: Stored) => {
    // Encoded once per change for all watches.
    const known = lines.get(stored)
    if (known?.type === type && known.resource === resource) return known.bytes
    const bytes = line(type, presentText(resource, stored))
    lines.set(stored, { type, resource, bytes })
    return bytes
  }
}

function bookmarker(call: ResourceCall): NonNullable<WatchPlan['bookmark']> {
  return (version, isEnd) => line('BOOKMARK', JSON.stringify(bookmarkObject(call, version, isEnd)))
}

/** The object of a bookmark event: its kind, and the version that a watch can resume from. */
function bookmarkObject({ resource }: ResourceCall, version: number, isEndOfInitial: boolean): Record<string, unknown> {
  const annotations = isEndOfInitial ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  return {
    kind: resource.kind,
    apiVersion: formatGroupVersion(resource.group, resource.version),
    metadata: { resourceVersion: String(version), ...annotations },
  }
}

function line(type: string, object: string): Uint8Array {
  return Buffer.from(`{"type":"${type}","object":${object}}\n`)
}
