/**
 * A short soak (soak.ts is the long one): the operator is a separate process, on a control plane for this test only.
 * KOPF_SOAK_SEED sets the seed, and KOPF_SOAK_SECONDS the total time.
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
  'the soak leaves no object in a wrong state, with the faults: %s',
  async (row) => {
    const { wrong, exits, requests, changes, log } = await runRow({ plane, row, seed, seconds: seconds / short.length })
    expect({ wrong, exits }, log.slice(-5000)).toEqual({ wrong: [], exits: 0 })
    expect(changes).toBeGreaterThan(0)
    // Besides writes, there are requests for discovery, a list for each process and each expired version, and retries.
    expect(requests).toBeLessThan(changes * 6 + 200)
  },
  (seconds + 120) * 1000,
)
