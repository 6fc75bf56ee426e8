/** Opens a data directory: finds out what was there, and keeps what comes. Called once, before the server that works on it. */
import { type Clock, systemClock } from '../../util/clock.ts'
import { createLogger, defaultLogSink, type Logger } from '../../util/log.ts'
import { openDirectory } from './directory.ts'
import { createDisk, type Disk } from './disk.ts'
import type { HistoryLimits } from './history.ts'
import { Journal } from './journal.ts'
import type { Keepsakes } from './keepsakes.ts'
import { replay } from './replay.ts'
import { Store } from './store.ts'

export interface Data {
  readonly store: Store
  readonly keepsakes: Keepsakes
  /** Writes what waits, and gives the directory free. */
  close(): Promise<void>
}

const segmentBytes = 16 * 1024 * 1024

export async function openData(path: string, limits: HistoryLimits, clock: Clock = systemClock): Promise<Data> {
  const directory = openDirectory(path)
  try {
    const log = createLogger(defaultLogSink(), 'kopf.server.data')
    const { store, close } = await openStore(createDisk(directory.folder), { limits, clock, log, segmentBytes })
    return { store, keepsakes: directory, close: () => close().finally(() => directory.close()) }
  } catch (error) {
    directory.close()
    throw error
  }
}

export interface StoreOptions {
  readonly limits: HistoryLimits
  readonly clock: Clock
  readonly log: Logger
  readonly segmentBytes: number
}

/** The store as the files describe it, and from now on kept in them. */
export async function openStore(
  disk: Disk,
  { limits, clock, log, segmentBytes }: StoreOptions,
): Promise<{ readonly store: Store; close(): Promise<void> }> {
  const store = new Store(limits)
  const position = await replay(disk, store, log)
  const journal = new Journal({ disk, store, clock, log, segmentBytes }, position)
  store.keepIn(journal)
  return { store, close: () => journal.close() }
}
