/**
 * The log files, written one after the other: `0000000003.log`. The first line of each names its predecessor and the predecessor's
 * valid length; bytes beyond that were never acknowledged. Called by journal.ts, which decides what to write and when.
 */
import { type Disk, type NewFile, writeAll } from './disk.ts'
import { toFrame } from './frames.ts'

export interface Segment {
  readonly number: number
  readonly length: number
}

export function segmentName(number: number): string {
  return `${String(number).padStart(10, '0')}.log`
}

/** Undefined if the name is not that of a log file. */
export function segmentNumber(name: string): number | undefined {
  return /^\d{10}\.log$/.test(name) ? Number.parseInt(name, 10) : undefined
}

export function parseSegmentHead(line: Buffer): { readonly after: Segment } | undefined {
  const match = /^log after (\d+) (\d+)$/.exec(line.toString('latin1'))
  return match === null ? undefined : { after: { number: Number(match[1]), length: Number(match[2]) } }
}

interface OpenSegment {
  readonly file: NewFile
  readonly number: number
  /** Everything up to here is durable. */
  length: number
}

export class SegmentWriter {
  readonly #disk: Disk

  /** The last file with valid content; number 0 if there is none. */
  #last: Segment

  /** The number of the next file. Never reused, even if a file was removed. */
  #next: number
  #open: OpenSegment | undefined

  constructor(disk: Disk, { next, last }: { readonly next: number; readonly last: Segment }) {
    this.#disk = disk
    this.#next = next
    this.#last = last
  }

  /** The number of the next file. */
  get next(): number {
    return this.#next
  }

  /** The length of the open file; 0 if there is none. */
  get length(): number {
    return this.#open?.length ?? 0
  }

  /** Resolves when the lines survive a power loss. If it rejects, the caller must call `abandon`. */
  async write(lines: readonly string[]): Promise<void> {
    const segment = this.#open ?? (await this.#begin())
    const isNew = segment.length === 0
    const frame = toFrame(isNew ? [this.#head(), ...lines] : lines)
    await writeAll(segment.file, frame)
    await segment.file.sync()
    if (isNew) await this.#disk.syncNames()
    segment.length += frame.length
  }

  /** Closes the file. The next write starts another one. */
  async finish(): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    this.#open = undefined
    if (segment.length > 0) this.#last = { number: segment.number, length: segment.length }
    await segment.file.close()
  }

  /** After a failure, the file is not written again: its content on disk is unknown. */
  async abandon(): Promise<void> {
    const segment = this.#open
    await this.finish().catch(ignore)
    if (segment === undefined) return
    // The next file records where this one ends. The truncation covers a server that stops before there is a next file.
    const name = segmentName(segment.number)
    if (segment.length > 0) await this.#disk.truncate(name, segment.length).catch(ignore)
    else await this.#disk.remove(name).catch(ignore)
  }

  async #begin(): Promise<OpenSegment> {
    const number = this.#next
    this.#next += 1
    const file = await this.#disk.create(segmentName(number))
    this.#open = { file, number, length: 0 }
    return this.#open
  }

  #head(): string {
    return `log after ${this.#last.number} ${this.#last.length}`
  }
}

function ignore(): void {}
