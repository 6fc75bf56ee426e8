/** GET of a collection: all objects, a selection, or a page, as of now or of an earlier version. */
import { Buffer } from 'node:buffer'
import type { ApiResponse, ResourceCall } from '../call.ts'
import { formatFieldError, invalid } from '../field-errors.ts'
import { parseJsonText } from '../json-text.ts'
import type { ListPage } from '../list-page.ts'
import { type ListOptions, parseListOptions, parseVersion } from '../options.ts'
import { listAnswer } from '../representation.ts'
import type { WebhookConverter } from '../resource.ts'
import { type ObjectSelection, selectionOf } from '../selection.ts'
import { badRequest, expired, StatusError, timedOut } from '../status.ts'
import type { Stored } from '../storage/stored.ts'

export function list(call: ResourceCall): ApiResponse | Promise<ApiResponse> {
  const options = parseListOptions(call.query, false)
  const page = readPage(call, options, selectionOf(call))
  return page instanceof Promise ? page.then((ready) => listAnswer(call, ready)) : listAnswer(call, page)
}

interface ListPosition {
  /** Undefined for the current version. */
  readonly version: number | undefined
  /** The first key of the page. */
  readonly start: string
}

/** All objects from the first key on, as of the version of the list. */
interface Listing {
  readonly rest: readonly Stored[]
  readonly version: number
  /** Infinity for the whole list. */
  readonly limit: number
  readonly selection: ObjectSelection
}

/** Returns a promise only if a conversion webhook must be called. */
export function readPage(
  call: ResourceCall,
  options: ListOptions,
  selection: ObjectSelection,
): ListPage | Promise<ListPage> {
  const listing = beginListing(call, options, selection)
  const { converter } = call.resource
  return converter === undefined ? cutPage(listing) : prepareListing(converter, listing).then(() => cutPage(listing))
}

function beginListing(call: ResourceCall, options: ListOptions, selection: ObjectSelection): Listing {
  const position = positionOf(call, options)
  const all = snapshot(call, selection.namespace, position)
  const rest = position.start === '' ? all : all.slice(firstFrom(all, position.start, selection.namespace))
  const version = position.version ?? call.store.version
  // A list with resourceVersion 0 ignores the limit, like a list from kube-apiserver's watch cache.
  const isWhole = options.limit <= 0 || (options.resourceVersion === '0' && options.continue === '')
  return { rest, version, limit: isWhole ? Number.POSITIVE_INFINITY : options.limit, selection }
}

/** Converts only the objects of this page, so that an object that cannot be converted does not affect earlier pages. */
async function prepareListing(converter: WebhookConverter, { rest, limit, selection }: Listing): Promise<void> {
  const candidates = rest.filter(selection.concerns)
  let missing = limit
  for (let from = 0; from < candidates.length && missing > 0; ) {
    const part = candidates.slice(from, from + missing)
    await converter.prepare(part)
    from += part.length
    missing -= part.filter(selection.matches).length
  }
}

function cutPage({ rest, version, limit, selection }: Listing): ListPage {
  const items: Stored[] = []
  let index = 0
  for (; index < rest.length && items.length < limit; index += 1) {
    const stored = rest[index]!
    if (selection.matches(stored)) items.push(stored)
  }
  if (index >= rest.length) return { items, version, continue: '', remaining: undefined }
  const last = keyInScope(rest[index - 1]!, selection.namespace)
  return {
    items,
    version,
    continue: encodeToken(version, `${last}\0`),
    // With selectors, the number of remaining matches is unknown.
    remaining: selection.isFiltered ? undefined : rest.length - limit,
  }
}

function keyInScope(stored: Stored, namespace: string): string {
  return namespace === '' ? stored.key : stored.name
}

function firstFrom(all: readonly Stored[], start: string, namespace: string): number {
  let low = 0
  let high = all.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keyInScope(all[middle]!, namespace) < start) low = middle + 1
    else high = middle
  }
  return low
}

function snapshot(call: ResourceCall, namespace: string, { version, start }: ListPosition): readonly Stored[] {
  const collection = call.store.collection(call.resource.collection)
  if (version === undefined) return collection.list(namespace)
  const then = collection.listAt(namespace, version)
  if (then !== undefined) return then
  if (start === '') throw tooOldVersion()
  throw tokenExpired(start)
}

export function tooOldVersion(): StatusError {
  return expired('The resourceVersion for the provided list is too old.')
}

function tokenExpired(start: string): StatusError {
  // With this token, the client can continue from the current state: the list is inconsistent but complete.
  return new StatusError(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    undefined,
    { continue: encodeToken(-1, start) },
  )
}

function positionOf(call: ResourceCall, options: ListOptions): ListPosition {
  if (options.continue !== '') return continuedFrom(call, options)
  const requested = parseVersion(options.resourceVersion)
  if (requested === undefined) throw badRequest(`invalid resource version: ${versionProblem(options.resourceVersion)}`)
  const current = call.readAt ?? call.store.version
  if (requested > current) throw tooLargeVersion(requested, current)
  const isExact = options.resourceVersionMatch === 'Exact'
  // Before resourceVersionMatch existed, a limit and a version requested exactly that version.
  const isLegacyExact = options.resourceVersionMatch === '' && options.limit > 0 && requested > 0
  return { version: isExact || isLegacyExact ? requested : call.readAt, start: '' }
}

function continuedFrom(call: ResourceCall, options: ListOptions): ListPosition {
  const token = decodeToken(options.continue)
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  if (token.version > call.store.version) throw tooLargeVersion(token.version, call.store.version)
  return { version: token.version < 0 ? undefined : token.version, start: token.start }
}

export function tooLargeVersion(requested: number, current: number): StatusError {
  return timedOut(`Too large resource version: ${requested}, current: ${current}`, 1, {
    reason: 'ResourceVersionTooLarge',
    message: 'Too large resource version',
  })
}

/** 0 if there is no version. */
export function checkedVersion(text: string): number {
  const version = parseVersion(text)
  if (version !== undefined) return version
  // kube-apiserver intends 400 here but sends 500.
  throw new StatusError(500, '', versionProblem(text))
}

function versionProblem(text: string): string {
  return formatFieldError(invalid('resourceVersion', text, `strconv.ParseUint: parsing "${text}": invalid syntax`))
}

function encodeToken(version: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start })).toString('base64url')
}

function parseToken(text: string): { v?: unknown; rv?: unknown; start?: unknown } {
  const wrong = /[^\w\r\n-]/.exec(text)?.index ?? (text.length % 4 === 1 ? text.length - 1 : undefined)
  if (wrong !== undefined) throw new SyntaxError(`illegal base64 data at input byte ${wrong}`)
  const token = parseJsonText(Buffer.from(text, 'base64url').toString('utf8'))
  return (token ?? {}) as ReturnType<typeof parseToken>
}

function decodeToken(text: string): { version: number; start: string } {
  const problem = (why: string) => badRequest(`invalid continue token: continue key is not valid: ${why}`)
  let token: { v?: unknown; rv?: unknown; start?: unknown }
  try {
    token = parseToken(text)
  } catch (error) {
    throw problem((error as Error).message)
  }
  if (token.v !== 'meta.k8s.io/v1') throw problem(`server does not recognize this encoded version ${token.v ?? ''}`)
  if (typeof token.rv !== 'number' || token.rv === 0) {
    throw problem('incorrect encoded start resourceVersion (version meta.k8s.io/v1)')
  }
  if (typeof token.start !== 'string' || token.start === '') {
    throw problem('encoded start key empty (version meta.k8s.io/v1)')
  }
  if (/(^|\/)\.{0,2}\//.test(`${token.start}/`.replace(/^\//, ''))) throw problem(token.start)
  return { version: token.rv, start: token.start }
}
