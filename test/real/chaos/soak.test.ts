/**
 * A short soak (see soak.ts for the long one): the operator is a process of its own, on a control plane of its own.
 * KOPF_SOAK_SEED and KOPF_SOAK_SECONDS (in all) say which and how long.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { type RowName, runRow } from './soak-row.ts'

const seed = process.env['KOPF_SOAK_SEED'] ?? '1'
const seconds = Number(process.env['KOPF_SOAK_SECONDS'] ?? 20)
const short: readonly RowName[] = ['none', 'all']

let plane: ControlPlane
beforeAll(async () => {
  plane = await startControlPlane()
}, 60_000)
afterAll(() => plane.stop())

test.each(short)(
  'no object is left wrong, with these faults on the way: %s',
  async (row) => {
    const { wrong, exits, requests, changes, log } = await runRow({ plane, row, seed, seconds: seconds / short.length })
    expect({ wrong, exits }, log.slice(-5000)).toEqual({ wrong: [], exits: 0 })
    expect(changes).toBeGreaterThan(0)
    // Beside the changes there are discovery, a list for each process and each lost version, and retries.
    expect(requests).toBeLessThan(changes * 6 + 200)
  },
  (seconds + 120) * 1000,
)
