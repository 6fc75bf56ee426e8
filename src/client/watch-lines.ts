/**
 * The lines of a watch, cut from the bytes of its body: what watching reads events from. Knows lines, not events.
 * Lines come in arrays, as many as one chunk has completed: a turn of the event loop for each would cost more than
 * the cutting. Never hands out a line that has no end: the connection may have broken in the middle of it.
 */
import { KopfError } from '../errors.ts'

const newline = 10
const carriageReturn = 13

/** A buffer that one large line has left behind is not kept for the small ones to come. */
const keptBytes = 64 * 1024

/**
 * The longest line that is read. A request can have 3 MiB, and Go's JSON writes a character such as "<" as six bytes, so that one
 * object and its envelope stay below 20 MiB; the rest is for servers with higher limits. A longer line is no event.
 */
const maxLineBytes = 64 * 1024 * 1024

/** Never an empty array: nothing comes out of a chunk that completes no line. */
export async function* readWatchLines(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number = maxLineBytes,
): AsyncGenerator<readonly string[], void, undefined> {
  const tail = new Tail(maxBytes)
  for await (const bytes of body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const lines = cutLines(chunk, tail)
    if (lines.length > 0) yield lines
  }
}

function cutLines(chunk: Buffer, tail: Tail): string[] {
  const lines: string[] = []
  let start = 0
  for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
    const line = tail.isEmpty ? decodeLine(chunk, start, end) : tail.complete(chunk.subarray(start, end))
    if (line !== '') lines.push(line)
    start = end + 1
  }
  if (start < chunk.length) tail.add(chunk.subarray(start))
  return lines
}

/** Decoded whole: a character may have come in two chunks. */
function decodeLine(bytes: Buffer, start: number, end: number): string {
  const last = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end
  const first = hasMark(bytes, start, last) ? start + 3 : start
  return first === last ? '' : bytes.toString('utf8', first, last)
}

/** A byte order mark: not a part of the JSON that follows it. */
function hasMark(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === 0xef && end - start >= 3 && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
}

/** The beginning of a line whose end has not come yet. Grows by doubling: each byte is copied a few times, not once per chunk. */
class Tail {
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
    if (needed > this.#maxBytes) throw tooLong(this.#maxBytes)
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
    if (this.#bytes.length > keptBytes) this.#bytes = Buffer.alloc(0)
    return line
  }
}

function tooLong(maxBytes: number): KopfError {
  const why = `a line is longer than ${maxBytes} bytes; check that this is the address of a Kubernetes API server`
  return new KopfError('KOPF_WATCH_LINE', `Cannot go on reading a watch: ${why}`)
}
