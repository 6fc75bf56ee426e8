/** The load: the same requests for whichever server it is given. Every workload counts what came of it, and fails where it is wrong. */
import { type Access, Connection, type Request } from './connection.ts'
import { crdsPath, gadgetBody, gadgetCrd, gadgetsPath, mergePatch, statusPatch } from './fixtures.ts'
import { check, cpuMs, quantile } from './measure.ts'
import type { Target } from './targets.ts'

export interface Rate {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the server's processes. */
  readonly cpuMsPerOperation: number
}

/** Sends the requests in order, so many at a time, each connection having one under way. */
export async function sendAll(
  connections: readonly Connection[],
  requests: readonly Request[],
  status: number,
): Promise<number[]> {
  const latencies: number[] = []
  let next = 0
  const work = async (connection: Connection): Promise<void> => {
    while (next < requests.length) {
      const request = requests[next++]!
      const began = performance.now()
      const answer = await connection.send(request)
      latencies.push(performance.now() - began)
      check(answer.status === status, `${request.method} ${request.path}: ${answer.status} ${answer.body}`)
    }
  }
  await Promise.all(connections.map(work))
  return latencies
}

export async function openConnections(access: Access, count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, () => Connection.open(access)))
}

/** How fast a target answers these requests with that status. */
export async function measureRate(
  { access, pids }: Target,
  inFlight: number,
  requests: readonly Request[],
  status: number,
): Promise<Rate> {
  const connections = await openConnections(access, inFlight)
  try {
    // A request each beforehand: what it costs to connect is no part of this.
    await sendAll(connections, Array(inFlight).fill({ path: '/readyz' }), 200)
    const cpuBefore = cpuMs(pids)
    const began = performance.now()
    const latencies = await sendAll(connections, requests, status)
    const seconds = (performance.now() - began) / 1000
    return {
      perSecond: requests.length / seconds,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      cpuMsPerOperation: (cpuMs(pids) - cpuBefore) / requests.length,
    }
  } finally {
    for (const connection of connections) connection.close()
  }
}

export function createRequests(prefix: string, count: number, body: typeof gadgetBody = gadgetBody): Request[] {
  return Array.from({ length: count }, (_, index) => {
    return { method: 'POST', path: gadgetsPath, body: body(`${prefix}-${index}`, index) }
  })
}

export function patchRequests(prefix: string, count: number, observed: number): Request[] {
  return Array.from({ length: count }, (_, index) => ({
    method: 'PATCH',
    path: `${gadgetsPath}/${prefix}-${index}/status`,
    body: statusPatch(observed + index),
    contentType: mergePatch,
  }))
}

export async function installCrd(access: Access): Promise<void> {
  const connection = await Connection.open(access)
  const created = await connection.send({ method: 'POST', path: crdsPath, body: JSON.stringify(gadgetCrd) })
  check(created.status === 201, `the CRD was not created: ${created.body}`)
  // The real server takes a while before it serves what it has accepted, and refuses creations for longer than lists.
  for (;;) {
    const body = gadgetBody('probe', 0)
    const { status } = await connection.send({ method: 'POST', path: `${gadgetsPath}?dryRun=All`, body })
    if (status === 201) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  connection.close()
}

interface Gadget {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly size: number }
  readonly status?: { readonly observed: number }
}

/** Reads everything back: the objects must be there, each once, and must say what was last written. */
export async function checkGadgets(access: Access, prefix: string, count: number, observed?: number): Promise<void> {
  const connection = await Connection.open(access)
  const { body } = await connection.send({ path: gadgetsPath })
  connection.close()
  const { items } = JSON.parse(body.toString()) as { items: Gadget[] }
  const found = new Map(items.map((gadget) => [gadget.metadata.name, gadget]))
  for (let index = 0; index < count; index += 1) {
    const gadget = found.get(`${prefix}-${index}`)
    check(gadget?.spec.size === index, `${prefix}-${index} is missing or wrong`)
    if (observed === undefined) continue
    check(gadget?.status?.observed === observed + index, `the status of ${prefix}-${index} is not the one written`)
  }
}

export async function deleteGadgets(access: Access): Promise<void> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ method: 'DELETE', path: gadgetsPath })
  check(status === 200, `the objects were not deleted: ${status} ${body}`)
  connection.close()
}
