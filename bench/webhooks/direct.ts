/** Posts reviews directly to a webhook server, and measures rate, latency, CPU, stalls and memory. */
import { Connection } from '../lib/connection.ts'
import { check, cpuMs, quantile, rssBytes } from '../lib/measure.ts'
import type { Contender } from './contenders.ts'
import { reviewOf } from './reviews.ts'

export interface DirectLoad {
  /** The size of each of the two objects in a review. */
  readonly bytes: number
  readonly connections: number
  readonly seconds: number
}

export interface DirectResult {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMsPerReview: number
  readonly stallMs: number
  readonly rssBytes: number
}

/** The endpoints in the order in which an API server calls them, and a text that each response must contain. */
const endpoints = [
  { path: '/mutate?timeout=30s', expected: '"patchType"' },
  { path: '/validate?timeout=30s', expected: '"allowed":true' },
] as const

/** Posts reviews without measuring: the JavaScript engine needs some thousand calls to optimise the code. */
export async function warmUp({ access }: Contender, seconds: number): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 8 }, () => Connection.open(access)))
  await postFor(connections, reviewOf(1000), seconds)
  for (const connection of connections) connection.close()
}

/** Undefined if the server refuses reviews of this size. */
export async function measureDirect(contender: Contender, load: DirectLoad): Promise<DirectResult | undefined> {
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => Connection.open(contender.access)),
  )
  try {
    const body = reviewOf(load.bytes)
    const first = await connections[0]!.send({ method: 'POST', path: endpoints[0].path, body })
    if (first.status === 413) return undefined
    await postFor(connections, body, load.seconds / 4)
    await contender.stall()
    return await measure(contender, connections, { ...load, body })
  } finally {
    for (const connection of connections) connection.close()
  }
}

async function measure(
  { process, stall }: Contender,
  connections: readonly Connection[],
  { body, seconds }: DirectLoad & { readonly body: string },
): Promise<DirectResult> {
  const [began, cpuBefore] = [performance.now(), cpuMs([process.pid])]
  const latencies = await postFor(connections, body, seconds)
  const [tookMs, cpu] = [performance.now() - began, cpuMs([process.pid]) - cpuBefore]
  return {
    perSecond: latencies.length / (tookMs / 1000),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMsPerReview: cpu / latencies.length,
    stallMs: await stall(),
    rssBytes: rssBytes([process.pid]),
  }
}

async function postFor(connections: readonly Connection[], body: string, seconds: number): Promise<number[]> {
  const latencies: number[] = []
  const end = performance.now() + seconds * 1000
  const work = async (connection: Connection): Promise<void> => {
    for (let turn = 0; performance.now() < end; turn += 1) {
      const { path, expected } = endpoints[turn % 2]!
      const began = performance.now()
      const answer = await connection.send({ method: 'POST', path, body })
      latencies.push(performance.now() - began)
      check(answer.status === 200 && isThere(answer.body, expected), `${path}: ${answer.status} ${answer.body}`)
    }
  }
  await Promise.all(connections.map(work))
  return latencies
}

/** Python's JSON has a space after the colon. */
function isThere(body: Buffer, expected: string): boolean {
  return body.includes(expected) || body.includes(expected.replace(':', ': '))
}
