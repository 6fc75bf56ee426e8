/** Objects, lists and watch events in the form the client asked for: whole, as a Table, or as metadata alone; JSON or YAML. */
import { Buffer } from 'node:buffer'
import { formatGroupVersion, type KubeObject } from '../kube/objects.ts'
import { parseJsonText, toJsonText } from '../util/json-text.ts'
import { formatYaml } from '../util/yaml.ts'
import type { Answer, Call } from './call.ts'
import { goPackageOf } from './decode.ts'
import { checkRoute, isPrettyRequest, type Negotiated, negotiate, parseIncludeObject } from './negotiation.ts'
import { listText, type Page } from './page.ts'
import { presentObject, presentText } from './present.ts'
import type { ServedResource } from './resource.ts'
import { StatusError } from './status.ts'
import type { Stored } from './storage/stored.ts'
import { toObjectTable, toPartialList, toPartialObject, toTable, toTableEvent, wrongShape } from './tables/table.ts'
import type { EventType, WatchPlan } from './watch-stream.ts'

type Subject = 'object' | 'list' | 'watch'

function formOf({ headers, resource }: Call, subject: Subject): Negotiated {
  const { accept } = headers
  if (!resource.isCustom) checkRoute(accept, subject)
  return negotiate(accept, subject)
}

/** To be called before anything is written: a client that accepts no answer must not have its way. */
export function checkAcceptable(call: Call): void {
  formOf(call, 'object')
}

async function answer(call: Call, status: number, form: Negotiated, body: unknown): Promise<Answer> {
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
    // Integers that only an int64 can hold are worth more than line breaks.
    return toJsonText(body)
  }
}

export function objectAnswer(call: Call, status: number, object: KubeObject): Promise<Answer> {
  const form = formOf(call, 'object')
  return answer(call, status, form, formObject(call, form, object))
}

/** The object as it is stored: mostly sent just as it is, without being read. */
export function storedAnswer(call: Call, status: number, stored: Stored): Answer | Promise<Answer> {
  return writtenAnswer(call, status, { stored })
}

/** What a write left behind; of a dry run only the object. */
export function writtenAnswer(call: Call, status: number, { stored, object }: Shown): Answer | Promise<Answer> {
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

/** JSON with nothing changed and nothing indented. */
function isPlain({ query, headers }: Call, { as, format, isPretty }: Negotiated): boolean {
  if (as !== undefined || format !== 'json' || isPretty) return false
  return !isPrettyRequest(query.get('pretty'), headers['user-agent'])
}

function formObject(call: Call, form: Negotiated, object: KubeObject): unknown {
  switch (form.as) {
    case 'Table':
      return toObjectTable(object, call.resource.columns, tableOptions(call, form))
    case 'PartialObjectMetadata':
      return toPartialObject(object, form.version!)
    case 'PartialObjectMetadataList':
      // The form in which the real server holds custom resources could be a list: it only finds no items.
      if (call.resource.isCustom) throw new StatusError(500, '', 'content is not a list')
      throw wrongShape(form.as, goTypeOf(call.resource, false))
    default:
      return object
  }
}

function tableOptions(call: Call, form: Negotiated): Parameters<typeof toObjectTable>[2] {
  return {
    includeObject: parseIncludeObject(call.query.get('includeObject')),
    version: form.version!,
    now: new Date(call.clock.now()),
  }
}

/** What the real server has in its hands, by its own name. */
function goTypeOf(resource: ServedResource, isList: boolean): string {
  const { isCustom, kind, listKind } = resource
  if (isCustom) return isList ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured'
  return `*${goPackageOf(resource)}.${isList ? listKind : kind}`
}

export function listAnswer(call: Call, page: Page): Answer | Promise<Answer> {
  const form = formOf(call, 'list')
  const isPretty = form.isPretty || isPrettyRequest(call.query.get('pretty'), call.headers['user-agent'])
  if (form.as === undefined && form.format === 'json' && !isPretty) {
    return { status: 200, headers: { 'content-type': form.contentType }, body: joined(listText(call.resource, page)) }
  }
  return answer(call, 200, form, formList(call, form, page))
}

function formList(call: Call, form: Negotiated, page: Page): unknown {
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

/** A short list is sent whole, a long one in pieces. */
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

/** How the events of one watch are written. */
export function watchEncoder(call: Call): WatchEncoder {
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

/** An event cannot be shown as a list; the real server finds out too late to say so. */
function nothing(): Uint8Array {
  return new Uint8Array(0)
}

function plainEncoder({ resource, watches }: Call): WatchPlan['encode'] {
  const { lines } = watches
  return (type: EventType, stored: Stored) => {
    // Many watchers see the same change: its bytes are made once.
    const known = lines.get(stored)
    if (known?.type === type && known.resource === resource) return known.bytes
    const bytes = line(type, presentText(resource, stored))
    lines.set(stored, { type, resource, bytes })
    return bytes
  }
}

function bookmarker(call: Call): NonNullable<WatchPlan['bookmark']> {
  return (version, isEnd) => line('BOOKMARK', JSON.stringify(bookmarkObject(call, version, isEnd)))
}

/** What a bookmark shows: the kind, and a version from which the watch can be taken up again. */
function bookmarkObject({ resource }: Call, version: number, isEndOfInitial: boolean): Record<string, unknown> {
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
