/**
 * Reads the body of a watch. `readWatchLines` splits it into lines for watching/; `readWatchEvents` also parses the lines, for `client.watch`. Neither
 * reconnects. A last line without a line break is dropped: the connection may have broken in the middle of it.
 */
import { KopfError } from '../errors.ts'
import { dropNullFields, type JsonObject } from '../kube/objects.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import { tryParseJsonText } from '../util/json/json-text.ts'
import { ApiError, fromStatus } from './api-error.ts'
import type { ClientEvent } from './client-options.ts'
import type { ApiCall, Session } from './session.ts'

const newline = 10
const carriageReturn = 13

/** A larger buffer is released after its line, since most lines are small. */
const maxRetainedBytes = 64 * 1024

/**
 * The maximum length of a line. Requests are limited to 3 MiB, and Go's JSON writes a character such as "<" as six bytes, so an event stays
 * below 20 MiB; the limit leaves room for servers with higher limits.
 */
const maxLineBytes = 64 * 1024 * 1024

/**
 * Yields all lines that one chunk completes as one array, since a turn of the event loop per line would cost more than the splitting. A chunk that
 * completes no line yields nothing.
 */
export async function* readWatchLines(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number = maxLineBytes,
): AsyncGenerator<readonly string[], void, undefined> {
  const partial = new PartialLine(maxBytes)
  for await (const bytes of body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const lines = cutLines(chunk, partial)
    if (lines.length > 0) yield lines
  }
}

function cutLines(chunk: Buffer, partial: PartialLine): string[] {
  const lines: string[] = []
  let start = 0
  for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
    const line = partial.isEmpty ? decodeLine(chunk, start, end) : partial.complete(chunk.subarray(start, end))
    if (line !== '') lines.push(line)
    start = end + 1
  }
  if (start < chunk.length) partial.add(chunk.subarray(start))
  return lines
}

/** Decodes a whole line at once, since a multi-byte character may be split between two chunks. */
function decodeLine(bytes: Buffer, start: number, end: number): string {
  const last = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end
  const first = hasByteOrderMark(bytes, start, last) ? start + 3 : start
  return first === last ? '' : bytes.toString('utf8', first, last)
}

/** Whether the bytes begin with a UTF-8 byte order mark, which JSON.parse does not accept. */
function hasByteOrderMark(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === 0xef && end - start >= 3 && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
}

/** The start of a line whose end has not arrived. Grows by doubling, so that a byte is copied a few times and not once per chunk. */
class PartialLine {
  readonly #maxBytes: number
  #bytes = Buffer.alloc(0)
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(part: Buffer): void {
    const needed = this.#length + part.length
    if (needed > this.#maxBytes) throw lineTooLongError(this.#maxBytes)
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length, 1024))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    part.copy(this.#bytes, this.#length)
    this.#length = needed
  }

  complete(end: Buffer): string {
    this.add(end)
    const line = decodeLine(this.#bytes, 0, this.#length)
    this.#length = 0
    if (this.#bytes.length > maxRetainedBytes) this.#bytes = Buffer.alloc(0)
    return line
  }
}

function lineTooLongError(maxBytes: number): KopfError {
  const why = `a line is longer than ${maxBytes} bytes; check that this is the address of a Kubernetes API server`
  return new KopfError('KOPF_WATCH_LINE', `Cannot continue to read a watch: ${why}`)
}

const eventTypes: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])

/** The parsed events of one watch. Throws an ApiError for an ERROR event. */
export async function* readWatchEvents(
  session: Session,
  call: ApiCall,
  outer: AbortSignal | undefined,
): AsyncGenerator<ClientEvent<JsonObject>, void, undefined> {
  const body = await session.stream(call, outer ?? new AbortController().signal)
  for await (const lines of readWatchLines(body)) {
    for (const line of lines) yield toClientEvent(call, line)
  }
}

function toClientEvent(call: ApiCall, line: string): ClientEvent<JsonObject> {
  const event = tryParseJsonText(line)
  const object = isPlainObject(event) ? getOwn(event, 'object') : undefined
  const type = isPlainObject(event) ? getOwn(event, 'type') : undefined
  if (type === 'ERROR') throw fromStatus(call, 500, object)
  if (eventTypes.has(type) && isPlainObject(object))
    return { type, object: dropNullFields(object) } as unknown as ClientEvent<JsonObject>
  const message = `a line of ${line.length} characters in the watch is no event; expected an object with "type" and "object"`
  throw new ApiError({ method: call.method, path: call.path, status: 200, reason: 'NotAnEvent', message })
}
