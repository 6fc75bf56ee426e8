/** The embedded server on a simulated disk that can fail, for tests that are impossible with a real disk. */
import { ApiServer } from 'kopf/server'
import { openStore } from '../../src/server/storage/data.ts'
import { noServerState } from '../../src/server/storage/server-state.ts'
import type { Clock } from '../../src/util/async/clock.ts'
import type { UnreliableDisk } from './unreliable-disk.ts'

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export async function startOnDisk(disk: UnreliableDisk, clock: Clock): Promise<ApiServer> {
  const limits = { changes: 1000, characters: 1_000_000 }
  const { store, close } = await openStore(disk, { limits, clock, log: quiet, segmentBytes: 4000 })
  return new ApiServer({ clock }, { store, close, serverState: noServerState })
}
