/** The embedded server on a disk that can be made to fail: for what cannot be had of a real one. */
import { ApiServer } from 'kopf/server'
import { openStore } from '../../src/server/storage/data.ts'
import { noKeepsakes } from '../../src/server/storage/keepsakes.ts'
import type { Clock } from '../../src/util/clock.ts'
import type { UnreliableDisk } from './unreliable-disk.ts'

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export async function startKept(disk: UnreliableDisk, clock: Clock): Promise<ApiServer> {
  const limits = { changes: 1000, characters: 1_000_000 }
  const { store, close } = await openStore(disk, { limits, clock, log: quiet, segmentBytes: 4000 })
  return new ApiServer({ clock }, { store, close, keepsakes: noKeepsakes })
}
