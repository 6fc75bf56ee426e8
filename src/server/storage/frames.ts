/**
 * What all files of the storage are made of: frames, one for each time that something was made durable. A head of fixed
 * length says how long the frame is and what its checksum is; then come lines of text. Only the last frame of a file can be
 * torn, for none is begun before the one before it is safe.
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

export interface Frame {
  readonly lines: readonly Buffer[]
  /** Where the frame ends in its file. */
  readonly end: number
}

/** Where a file stops making sense, and whether that can be the doing of a crash: nothing that makes sense follows. */
export interface Defect {
  readonly offset: number
  readonly isTail: boolean
}

/** The frames of a file up to `length`, and a defect at the end where there is one. */
export async function* readFrames(
  disk: Disk,
  name: string,
  length: number,
): AsyncGenerator<Frame, Defect | undefined, undefined> {
  let offset = 0
  while (offset < length) {
    const frame = await readFrame(disk, name, offset, length)
    if (frame === undefined) return { offset, isTail: await isTail(disk, name, offset, length) }
    yield frame
    offset = frame.end
  }
  return undefined
}

async function readFrame(disk: Disk, name: string, offset: number, length: number): Promise<Frame | undefined> {
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

/** Whether no sound frame is behind the one at the offset, which is not sound. */
async function isTail(disk: Disk, name: string, offset: number, length: number): Promise<boolean> {
  const rest = (await disk.read(name, offset, length - offset)).toString('latin1')
  for (let at = rest.indexOf('~', 1); at >= 0; at = rest.indexOf('~', at + 1)) {
    if (!headPattern.test(rest.slice(at, at + headLength))) continue
    if ((await readFrame(disk, name, offset + at, length)) !== undefined) return false
  }
  return true
}
