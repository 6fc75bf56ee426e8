/**
 * Restores the state from the files of a data directory: the latest snapshot and all changes since. A frame torn by a crash at the
 * very end was never acknowledged and is cut off; any other damage is an error and the files are left unchanged.
 */
import type { Logger } from '../../util/log/log.ts'
import { damaged, incomplete } from './damage.ts'
import type { Disk } from './disk.ts'
import { type Defect, readFrames } from './frames.ts'
import { parseRecord, type StoredRecord, toState } from './records.ts'
import { parseSegmentHead, type Segment, segmentName, segmentNumber } from './segments.ts'
import { draftSuffix, loadSnapshot, snapshotName, snapshotNumber } from './snapshots.ts'
import type { ServerStore } from './store.ts'
import { withVersion } from './stored.ts'

/** Where the log continues. */
export interface LogPosition {
  readonly next: number
  readonly last: Segment
  /** Size of the snapshot, and of the log since then. */
  readonly snapshotBytes: number
  readonly logBytes: number
  readonly segments: number
}

export async function replay(disk: Disk, store: ServerStore, log: Logger): Promise<LogPosition> {
  const names = await disk.list()
  const numbers = names.map(segmentNumber).filter((number) => number !== undefined)
  const base = Math.max(0, ...names.map((name) => snapshotNumber(name) ?? 0))
  const snapshotBytes = base === 0 ? 0 : await loadSnapshot(disk, base, store)
  const chain = await findChain(disk, { numbers: numbers.filter((number) => number >= base), base }, log)
  await removeOthers(disk, names, { base, chain })
  let logBytes = 0
  for (const [index, segment] of chain.entries()) {
    const length = await replaySegment(disk, segment, { store, log, isLast: index === chain.length - 1 })
    chain[index] = { ...segment, length }
    logBytes += length
  }
  const last = chain.at(-1) ?? { number: 0, length: 0 }
  const next = Math.max(base, last.number + 1, ...numbers.map((number) => number + 1), 1)
  return { next, last, snapshotBytes, logBytes, segments: chain.length }
}

/** The valid log files, oldest first: from the last file back to the snapshot, since each file names its predecessor. */
async function findChain(
  disk: Disk,
  { numbers, base }: { readonly numbers: readonly number[]; readonly base: number },
  log: Logger,
): Promise<Segment[]> {
  const chain: Segment[] = []
  const isThere = new Set(numbers)
  let wanted: Segment | undefined
  for (const number of numbers.toSorted((one, other) => other - one)) {
    if (wanted !== undefined && number !== wanted.number) continue
    const length = wanted?.length ?? (await disk.size(segmentName(number)))
    const head = await readHead(disk, number, length)
    if (head === undefined) {
      // The next file records a length for this one, so its head must have been durable.
      if (wanted !== undefined) throw damaged(disk, segmentName(number), 0, whatIsWrong)
      log.warn(`Removing "${segmentName(number)}" from the data: a crash has left it before anything was kept in it`)
      continue
    }
    chain.unshift({ number, length })
    wanted = head.after
    if (wanted.number < Math.max(base, 1)) break
    if (!isThere.has(wanted.number)) throw incomplete(disk, segmentName(wanted.number))
  }
  return chain
}

/** Undefined if a crash has torn the head before anything was acknowledged. */
async function readHead(disk: Disk, number: number, length: number): Promise<{ readonly after: Segment } | undefined> {
  const name = segmentName(number)
  const { done, value } = await readFrames(disk, name, length).next()
  if (done) {
    if (value === undefined || value.isTail) return undefined
    throw damaged(disk, name, 0, whatIsWrong)
  }
  const head = parseSegmentHead(value.lines[0]!)
  if (head === undefined) throw damaged(disk, name, 0, 'it is no log')
  return head
}

/** Removes files that are obsolete or were never completed. */
async function removeOthers(
  disk: Disk,
  names: readonly string[],
  { base, chain }: { readonly base: number; readonly chain: readonly Segment[] },
): Promise<void> {
  const needed = new Set([
    ...(base === 0 ? [] : [snapshotName(base)]),
    ...chain.map(({ number }) => segmentName(number)),
  ])
  for (const name of names) {
    const isOurs = segmentNumber(name) ?? snapshotNumber(name) ?? (name.endsWith(draftSuffix) || undefined)
    if (isOurs !== undefined && !needed.has(name)) await disk.remove(name)
  }
}

interface Replaying {
  readonly store: ServerStore
  readonly log: Logger
  readonly isLast: boolean
}

const whatIsWrong = 'its checksum is wrong'

/** Returns the valid length of the segment. */
async function replaySegment(disk: Disk, { number, length }: Segment, replaying: Replaying): Promise<number> {
  const { store, log, isLast } = replaying
  const name = segmentName(number)
  const frames = readFrames(disk, name, length)
  let offset = 0
  for (;;) {
    const { done, value } = await frames.next()
    if (done) {
      if (value === undefined) return length
      if (!isLast || !value.isTail) throw damaged(disk, name, value.offset, whatIsWrong)
      await cutOff(disk, name, { length, defect: value }, log)
      return value.offset
    }
    const records = offset === 0 ? value.lines.slice(1) : value.lines
    for (const line of records) if (!repeat(store, line)) throw damaged(disk, name, offset, 'it makes no sense')
    offset = value.end
  }
}

async function cutOff(
  disk: Disk,
  name: string,
  { length, defect }: { readonly length: number; readonly defect: Defect },
  log: Logger,
): Promise<void> {
  const bytes = length - defect.offset
  log.warn(
    `Cutting off the last ${bytes} bytes of "${name}": a crash has torn them, and nothing in them was acknowledged`,
  )
  await disk.truncate(name, defect.offset)
}

/** False if the change does not follow the ones before it. Changes that the snapshot contains are skipped. */
function repeat(store: ServerStore, line: Buffer): boolean {
  const record = parseRecord(line)
  if (record === undefined) return false
  if (record.version <= store.floor) return true
  if (record.version !== store.version + 1) return false
  return record.verb === 'del' ? repeatDeletion(store, record) : repeatWrite(store, record)
}

function repeatWrite(store: ServerStore, record: StoredRecord): boolean {
  const collection = store.collection(record.collection)
  const current = toState(record, collection.name)
  if (current === undefined) return false
  const previous = collection.get(current.key)
  const type = previous === undefined ? 'ADDED' : 'MODIFIED'
  store.replay({ type, version: record.version, current, previous })
  return true
}

function repeatDeletion(store: ServerStore, { collection, text: key, version }: StoredRecord): boolean {
  const previous = store.collection(collection).get(key)
  if (previous === undefined) return false
  store.replay({ type: 'DELETED', version, current: withVersion(previous, version), previous })
  return true
}
