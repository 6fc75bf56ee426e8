/**
 * Sends the same random requests to a real and to the embedded API server, and expects the same answers.
 * A failure prints its seed and the shortest failing sequence; such a sequence goes into kept-cases.ts.
 * The seed is fixed, so that a failure is caused by the present change. To search further, set KOPF_FUZZ_SEED to another
 * seed, and KOPF_FUZZ_RUNS to a higher number of sequences.
 */
import fc from 'fast-check'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Api } from '../../../support/api.ts'
import { installCrd } from '../../../support/crds.ts'
import { ruledObjects } from './cel-rule-sequences.ts'
import { families, sequences } from './command-sequences.ts'
import type { Command } from './commands.ts'
import { findDifference, type Servers } from './compare-servers.ts'
import { describeDifference } from './describe-difference.ts'
import { definitions } from './fuzzed-resources.ts'
import { ownershipCases } from './kept-apply-cases.ts'
import { keptCases } from './kept-cases.ts'
import { ruleCases } from './kept-cel-cases.ts'
import { strategicPatches } from './strategic-patch-sequences.ts'

const seed = Number(process.env['KOPF_FUZZ_SEED'] ?? 1363)
const numRuns = Number(process.env['KOPF_FUZZ_RUNS'] ?? 120)
const maxCommands = 24

/** The time limit for shrinking; after it, the shortest sequence found so far is printed. */
const timeLimitMs = process.env['KOPF_FUZZ_RUNS'] === undefined ? 90_000 : 3_600_000

let embeddedServer: RunningServer
let servers: Servers

beforeAll(async () => {
  const { url, caPem, admin } = inject('realCluster')
  embeddedServer = await startServer()
  servers = {
    real: new Api({ url, caPem, credentials: admin, keepsManagedFields: true }),
    embedded: new Api({
      url: embeddedServer.url,
      caPem: embeddedServer.ca!,
      credentials: { token: embeddedServer.token! },
      keepsManagedFields: true,
    }),
  }
  for (const api of [servers.real, servers.embedded]) {
    for (const definition of definitions) await installCrd(api, definition)
  }
})

afterAll(async () => {
  servers.real.close()
  servers.embedded.close()
  await embeddedServer.stop()
})

async function expectSameAnswers(commands: readonly Command[]): Promise<void> {
  const difference = await findDifference(servers, commands)
  if (difference !== undefined) expect.fail(describeDifference(commands, difference))
}

describe('sequences that once made a difference', () => {
  const kept = [...keptCases, ...ownershipCases, ...ruleCases].map(({ name, commands }) => [name, commands] as const)

  test.each(kept)('both servers give the same answers: %s', (_, commands) => expectSameAnswers(commands))
})

/** Fails with the shortest sequence that makes a difference. */
async function expectSameAnswersToAll(sequences: fc.Arbitrary<Command[]>, share: number): Promise<void> {
  const found = await fc.check(fc.asyncProperty(sequences, expectSameAnswers), {
    seed,
    numRuns: Math.ceil(numRuns * share),
    interruptAfterTimeLimit: timeLimitMs * share,
  })
  if (found.counterexample === null) return
  const [commands] = found.counterexample
  const difference = await findDifference(servers, commands)
  expect.fail(
    difference === undefined
      ? `Not seen a second time (KOPF_FUZZ_SEED=${seed}): ${(found.errorInstance as Error).message}`
      : `KOPF_FUZZ_SEED=${seed}\n${describeDifference(commands, difference)}`,
  )
}

describe(`random requests (seed ${seed})`, { timeout: timeLimitMs * 2 }, () => {
  test('both servers give the same answers to random requests of all kinds', () =>
    expectSameAnswersToAll(sequences(maxCommands), 0.5))
  test('both servers give the same answers to random requests with owners and dependents', () =>
    expectSameAnswersToAll(families(maxCommands / 2), 0.25))
  test('both servers give the same answers to random strategic merge patches', () =>
    expectSameAnswersToAll(strategicPatches(maxCommands), 0.15))
  test('both servers give the same answers to random CEL rules', () =>
    expectSameAnswersToAll(ruledObjects(maxCommands), 0.1))
})
