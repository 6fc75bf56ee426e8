/**
 * The number of writes for a change, by the audit log of a real API server: one for any number of handlers, and one more for the
 * finalizer before the handlers and for the status subresource. The cases and the measurement are those of the benchmark of
 * operators, (a).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BenchCluster } from '../../bench/lib/bench-cluster.ts'
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

let cluster: BenchCluster

beforeAll(async () => {
  cluster = await BenchCluster.start({ audit: 'RequestResponse', isPinned: false })
})

afterAll(() => cluster?.[Symbol.asyncDispose]())

/** If the state is stored in the status, one request has both the state and the status from handlers. */
function expectedWrites({ status, finalizer }: Case, storage: Storage): Writes {
  const forStatus = status === 'yes' && storage === 'annotations' ? 1 : 0
  const forFinalizer = finalizer === 'yes' ? 1 : 0
  return { create: 1 + forFinalizer + forStatus, update: 1 + forStatus, resume: 0, delete: forFinalizer }
}

describe.each<Storage>(['annotations', 'status'])('the state stored in the %s', (storage) => {
  let requests: Requests

  beforeAll(async () => {
    requests = await measureRequests(cluster, toOurs('source'), storage)
  }, 60_000)

  test.each(cases.map((each) => [nameOf(each), each] as const))(
    'the case %s takes the expected number of writes',
    (name, each) => {
      expect(requests.writes.get(name)).toEqual(expectedWrites(each, storage))
    },
  )

  test('every write changes the object', () => {
    expect(requests.noops).toBe(0)
  })

  test('all handlers share one watch, and no list follows', () => {
    expect(requests.watches).toEqual([1, 1])
    expect(requests.listsAfterStart).toBe(0)
  })
})
