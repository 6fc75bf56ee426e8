/**
 * Storage files consist of frames, one per durable write. A head of fixed length holds the length and checksum of the frame; lines of
 * text follow. Only the last frame of a file can be torn, because a frame is started only after the previous one is synced.
 */
import { crc32 } from 'node:zlib'
import type { Disk } from './disk.ts'

/** `~0000001234 89abcdef`, and a line break. */
const headPattern = /^~(\d{10}) ([\da-f]{8})\n$/
const headLength = 21

export function toFrame(lines: readonly string[]): Buffer {
  const body = `${lines.join('\n')}\n`
  const length = Buffer.byteLength(body)
  const frame = Buffer.allocUnsafe(headLength + length)
  frame.write(body, headLength)
  frame.write(toHead(length, crc32(frame.subarray(headLength))), 'latin1')
  return frame
}

function toHead(length: number, checksum: number): string {
  return `~${String(length).padStart(10, '0')} ${checksum.toString(16).padStart(8, '0')}\n`
}

export interface StorageFrame {
  readonly lines: readonly Buffer[]
  /** Offset in the file where the frame ends. */
  readonly end: number
}

/** The offset of the first invalid frame. `isTail`: no valid frame follows, so a crash can be the cause. */
export interface Defect {
  readonly offset: number
  readonly isTail: boolean
}

/** Yields the frames of a file up to `length`; returns the defect that ends the reading, if there is one. */
export async function* readFrames(
  disk: Disk,
  name: string,
  length: number,
): AsyncGenerator<StorageFrame, Defect | undefined, undefined> {
  let offset = 0
  while (offset < length) {
    const frame = await readFrame(disk, name, offset, length)
    if (frame === undefined) return { offset, isTail: await isTail(disk, name, offset, length) }
    yield frame
    offset = frame.end
  }
  return undefined
}

async function readFrame(disk: Disk, name: string, offset: number, length: number): Promise<StorageFrame | undefined> {
  const head = headPattern.exec((await disk.read(name, offset, headLength)).toString('latin1'))
  if (head === null) return undefined
  const end = offset + headLength + Number(head[1])
  if (end > length) return undefined
  const body = await disk.read(name, offset + headLength, Number(head[1]))
  if (crc32(body) !== Number.parseInt(head[2]!, 16)) return undefined
  return { lines: toLines(body), end }
}

function toLines(body: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf(10, start)
    lines.push(body.subarray(start, end))
    start = end + 1
  }
  return lines
}

/** True if no valid frame follows the invalid one at the offset. */
async function isTail(disk: Disk, name: string, offset: number, length: number): Promise<boolean> {
  const rest = (await disk.read(name, offset, length - offset)).toString('latin1')
  for (let at = rest.indexOf('~', 1); at >= 0; at = rest.indexOf('~', at + 1)) {
    if (!headPattern.test(rest.slice(at, at + headLength))) continue
    if ((await readFrame(disk, name, offset + at, length)) !== undefined) return false
  }
  return true
}
