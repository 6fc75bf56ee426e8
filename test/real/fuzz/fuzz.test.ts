/**
 * The same random requests to a real API server and to the one of this package, and the same answers expected.
 * A failure prints a seed and the shortest sequence that shows it; such a sequence goes into kept-cases.ts.
 * The same seed every time, so that nothing fails for a change that did not cause it: to look for more, set
 * KOPF_FUZZ_SEED to another, and KOPF_FUZZ_RUNS to more sequences than the few that every change has to pass.
 */
import fc from 'fast-check'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Api } from '../../support/api.ts'
import { installCrd } from '../../support/crds.ts'
import { families, sequences } from './arbitraries.ts'
import type { Command } from './commands.ts'
import { findDifference, type Servers } from './compare.ts'
import { definitions } from './definitions.ts'
import { keptCases } from './kept-cases.ts'
import { ownershipCases } from './ownership-cases.ts'
import { describeDifference } from './report.ts'
import { ruleCases } from './rule-cases.ts'
import { ruledObjects } from './rules.ts'
import { strategicPatches } from './strategic.ts'

const seed = Number(process.env['KOPF_FUZZ_SEED'] ?? 1363)
const numRuns = Number(process.env['KOPF_FUZZ_RUNS'] ?? 120)
const maxCommands = 24

/** Finding the shortest sequence takes long; where it takes longer than this, the shortest found so far is shown. */
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

describe('both servers answer the same to what once made a difference', () => {
  test.each([...keptCases, ...ownershipCases, ...ruleCases])('$name', ({ commands }) => expectSameAnswers(commands))
})

/** Looks for the shortest sequence that makes a difference, and fails with it. */
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

describe(`both servers answer the same to random requests (seed ${seed})`, { timeout: timeLimitMs * 2 }, () => {
  test('about anything', () => expectSameAnswersToAll(sequences(maxCommands), 0.5))
  test('about owners and dependents', () => expectSameAnswersToAll(families(maxCommands / 2), 0.25))
  test('about strategic merge patches', () => expectSameAnswersToAll(strategicPatches(maxCommands), 0.15))
  test('about rules in CEL', () => expectSameAnswersToAll(ruledObjects(maxCommands), 0.1))
})
