/**
 * The files of the log, written one after the other: `0000000003.log`. The first line of each says which one it follows, and
 * how much of that one counts: what came behind it was never kept. Called by journal.ts, which decides what is written when.
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

/** Undefined where it is another file. */
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
  /** Up to here everything is kept. */
  length: number
}

export class SegmentWriter {
  readonly #disk: Disk

  /** The last file with something that counts; of the number 0 where there is none. */
  #last: Segment

  /** The number of the next file: never one that was used before, whatever has become of it. */
  #next: number
  #open: OpenSegment | undefined

  constructor(disk: Disk, { next, last }: { readonly next: number; readonly last: Segment }) {
    this.#disk = disk
    this.#next = next
    this.#last = last
  }

  /** The number of the file that is begun next. */
  get next(): number {
    return this.#next
  }

  /** How long the present file is; 0 where there is none. */
  get length(): number {
    return this.#open?.length ?? 0
  }

  /** Resolves when the lines outlive a loss of power. Where it rejects, `abandon` has to follow. */
  async write(lines: readonly string[]): Promise<void> {
    const segment = this.#open ?? (await this.#begin())
    const isNew = segment.length === 0
    const frame = toFrame(isNew ? [this.#head(), ...lines] : lines)
    await writeAll(segment.file, frame)
    await segment.file.sync()
    if (isNew) await this.#disk.syncNames()
    segment.length += frame.length
  }

  /** The next line begins another file. */
  async finish(): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    this.#open = undefined
    if (segment.length > 0) this.#last = { number: segment.number, length: segment.length }
    await segment.file.close()
  }

  /** After a failure, the file is not written to again: nobody can say what the disk has made of it. */
  async abandon(): Promise<void> {
    const segment = this.#open
    await this.finish().catch(ignore)
    if (segment === undefined) return
    // The next file says where this one ends. This is for a server that comes to an end before there is a next one.
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
