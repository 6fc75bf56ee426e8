/**
 * The state at one moment in a file: `0000000007.snapshot` holds the state before the log of that number. Written in the background,
 * under a draft name until complete. All older files are obsolete then.
 */
import { damaged } from './damage.ts'
import { type Disk, writeAll } from './disk.ts'
import { readFrames, toFrame } from './frames.ts'
import { parseRecord, toState, toStateRecord } from './records.ts'
import type { ServerStore } from './store.ts'
import type { Stored } from './stored.ts'

export interface Snapshot {
  readonly number: number
  readonly version: number
  readonly states: readonly Stored[]
}

export function snapshotName(number: number): string {
  return `${String(number).padStart(10, '0')}.snapshot`
}

/** Undefined if the name is not that of a snapshot. */
export function snapshotNumber(name: string): number | undefined {
  return /^\d{10}\.snapshot$/.test(name) ? Number.parseInt(name, 10) : undefined
}

/** Suffix of files that are not complete. */
export const draftSuffix = '.draft'

/** Written per step, so that other work gets its turn in between. */
const frameCharacters = 256 * 1024

/** Returns the size of the draft. The draft is durable when this resolves; the caller renames it. */
export async function writeDraft(disk: Disk, snapshot: Snapshot, signal: AbortSignal): Promise<number> {
  const file = await disk.create(`${snapshotName(snapshot.number)}${draftSuffix}`)
  let size = 0
  try {
    for (const lines of parts(snapshot)) {
      signal.throwIfAborted()
      const frame = toFrame(lines)
      await writeAll(file, frame)
      size += frame.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return size
}

function* parts({ version, states }: Snapshot): Iterable<readonly string[]> {
  let lines = [`snapshot ${version}`]
  let characters = 0
  for (const stored of states) {
    lines.push(toStateRecord(stored))
    characters += stored.json.length
    if (characters < frameCharacters) continue
    yield lines
    lines = []
    characters = 0
  }
  yield [...lines, `end ${states.length}`]
}

/**
 * Puts all objects of the snapshot into the store and returns the file's size. A snapshot gets its name when complete, so any defect
 * is damage.
 */
export async function loadSnapshot(disk: Disk, number: number, store: ServerStore): Promise<number> {
  const name = snapshotName(number)
  const size = await disk.size(name)
  const frames = readFrames(disk, name, size)
  const reader = new SnapshotReader(store)
  let offset = 0
  for (;;) {
    const { done, value } = await frames.next()
    if (done) break
    for (const line of value.lines) if (!reader.take(line)) throw damaged(disk, name, offset, 'it makes no sense')
    offset = value.end
  }
  if (!reader.isWhole || offset < size) throw damaged(disk, name, offset, 'something is missing or changed')
  return size
}

class SnapshotReader {
  isWhole = false
  readonly #store: ServerStore
  #count = -1

  constructor(store: ServerStore) {
    this.#store = store
  }

  /** False if the line is not valid at this position. */
  take(line: Buffer): boolean {
    if (this.isWhole) return false
    return this.#count < 0 ? this.#begin(line) : this.#restore(line) || this.#end(line)
  }

  #begin(line: Buffer): boolean {
    const match = /^snapshot (\d+)$/.exec(line.toString('latin1'))
    if (match === null) return false
    this.#store.startAt(Number(match[1]))
    this.#count = 0
    return true
  }

  #restore(line: Buffer): boolean {
    const record = parseRecord(line)
    if (record === undefined || record.verb === 'del') return false
    const stored = toState(record, this.#store.collection(record.collection).name)
    if (stored === undefined) return false
    this.#store.restore(stored)
    this.#count += 1
    return true
  }

  #end(line: Buffer): boolean {
    this.isWhole = line.toString('latin1') === `end ${this.#count}`
    return this.isWhole
  }
}
