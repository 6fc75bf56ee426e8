/** Opens a data directory: restores its objects and writes all further changes to it. Called once, before the server is created. */
import { type Clock, systemClock } from '../../util/async/clock.ts'
import { createLogger, defaultLogSink, type Logger } from '../../util/log/log.ts'
import { openDirectory } from './directory.ts'
import { createDisk, type Disk } from './disk.ts'
import type { HistoryLimits } from './history.ts'
import { Journal } from './journal.ts'
import { replay } from './replay.ts'
import type { ServerState } from './server-state.ts'
import { ServerStore } from './store.ts'

export interface Data {
  readonly store: ServerStore
  readonly serverState: ServerState
  /** Writes pending changes and unlocks the directory. */
  close(): Promise<void>
}

const segmentBytes = 16 * 1024 * 1024

export async function openData(path: string, limits: HistoryLimits, clock: Clock = systemClock): Promise<Data> {
  const directory = openDirectory(path)
  try {
    const log = createLogger(defaultLogSink(), 'kopf.server.data')
    const { store, close } = await openStore(createDisk(directory.folder), { limits, clock, log, segmentBytes })
    return { store, serverState: directory, close: () => close().finally(() => directory.close()) }
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

/** Restores a store from the files; from then on every change is written to them. */
export async function openStore(
  disk: Disk,
  { limits, clock, log, segmentBytes }: StoreOptions,
): Promise<{ readonly store: ServerStore; close(): Promise<void> }> {
  const store = new ServerStore(limits)
  const position = await replay(disk, store, log)
  const journal = new Journal({ disk, store, clock, log, segmentBytes }, position)
  store.useLog(journal)
  return { store, close: () => journal.close() }
}
