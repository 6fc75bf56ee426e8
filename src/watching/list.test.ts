import { expect, test } from 'vitest'
import { createSession } from '../client/session.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { systemClock } from '../util/async/clock.ts'
import { weightOf } from '../util/json/lazy-json.ts'
import type { Transport } from '../util/transport.ts'
import { readPages } from './list.ts'

const things = { group: 'example.com', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true } as Resource
const total = 18
const item = { metadata: { name: 'a', managedFields: [{ manager: 'x' }] }, spec: { padding: 'x'.repeat(1024 * 1024) } }

/** Answers list requests like an API server: items up to the limit, and a continue token if there are more. */
function serve(limits: number[]): Transport {
  const send: Transport['send'] = async ({ path }) => {
    const query = new URL(path, 'http://server').searchParams
    const [from, limit] = [Number(query.get('continue') ?? 0), Number(query.get('limit'))]
    limits.push(limit)
    const next = Math.min(from + limit, total)
    const metadata = { resourceVersion: '7', continue: next < total ? String(next) : '' }
    const body = Buffer.from(JSON.stringify({ kind: 'ThingList', metadata, items: Array(next - from).fill(item) }))
    return { status: 200, headers: {}, body: inChunks(body) }
  }
  return { send } as Transport
}

async function* inChunks(body: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < body.length; start += 65_536) yield body.subarray(start, start + 65_536)
}

test('a page that is too long is requested again with fewer objects, and each object is kept as text', async () => {
  const limits: number[] = []
  const taken: KubeObject[] = []
  const networking = { requestTimeout: null, connectTimeout: null, errorBackoffs: [], enforceRetryAfter: false }
  const session = createSession({ transport: serve(limits), networking, clock: systemClock, userAgent: 'test' })
  const version = await readPages(
    {
      session,
      resource: things,
      keepsManagedFields: false,
      path: '/apis/example.com/v1/things',
      query: {},
      chunkSize: 500,
      take: (object) => void taken.push(object),
      warn: (problem) => expect.fail(problem),
    },
    new AbortController().signal,
  )
  expect(version).toBe('7')
  expect(limits).toEqual([500, 100, 20, 4, 4, 4, 4, 4])
  expect(taken).toHaveLength(total)
  expect(Object.getOwnPropertyDescriptor(taken[0], 'spec')?.get).toBeDefined()
  expect(weightOf(taken[0]!).bytes).toBeGreaterThan(1024 * 1024)
  expect(taken[0]).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Thing' })
  expect(taken[0]!.metadata).toEqual({ name: 'a' })
})
