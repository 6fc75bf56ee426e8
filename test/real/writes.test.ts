/**
 * How many writes a change takes, by the audit log of a real API server: one, however many handlers there are, and one
 * more for each thing that needs a request of its own (the finalizer before the handlers, the status subresource).
 * The cases and their measurement are those of the benchmark of operators, (a).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toOurs } from '../../bench/operators/contenders.ts'
import {
  type Case,
  cases,
  measureRequests,
  nameOf,
  type Requests,
  type Storage,
  type Writes,
} from '../../bench/operators/scenarios/requests.ts'
import { World } from '../../bench/operators/world.ts'

let world: World

beforeAll(async () => {
  world = await World.start({ audit: 'RequestResponse', isPinned: false })
})

afterAll(() => world?.[Symbol.asyncDispose]())

/** With the state in the status, one request holds both the state and what handlers write there. */
function expectedWrites({ status, finalizer }: Case, storage: Storage): Writes {
  const forStatus = status === 'yes' && storage === 'annotations' ? 1 : 0
  const forFinalizer = finalizer === 'yes' ? 1 : 0
  return { create: 1 + forFinalizer + forStatus, update: 1 + forStatus, resume: 0, delete: forFinalizer }
}

describe.each<Storage>(['annotations', 'status'])('with the state in the %s', (storage) => {
  let requests: Requests

  beforeAll(async () => {
    requests = await measureRequests(world, toOurs('source'), storage)
  }, 60_000)

  test.each(cases.map((each) => [nameOf(each), each] as const))('%s takes as many writes as it must', (name, each) => {
    expect(requests.writes.get(name)).toEqual(expectedWrites(each, storage))
  })

  test('no write changes nothing', () => {
    expect(requests.noops).toBe(0)
  })

  test('one watch for all handlers, and no list after it', () => {
    expect(requests.watches).toEqual([1, 1])
    expect(requests.listsAfterStart).toBe(0)
  })
})
