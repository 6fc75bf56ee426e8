/** Writing: creates and patches gadgets at a given concurrency, measures the rate, and reads the objects back to check them. */
import { type Access, Connection, type Request } from '../lib/connection.ts'
import { gadgetBody, gadgetsPath, mergePatch, statusPatch } from '../lib/gadgets.ts'
import { check, cpuMs, quantile } from '../lib/measure.ts'
import { openConnections, sendAll } from '../lib/requests.ts'
import type { Target } from '../lib/targets.ts'

export interface Rate {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the server's processes. */
  readonly cpuMsPerOperation: number
}

/** Measures the rate at which the target answers the requests, all of which must have the given status. */
export async function measureRate(
  { access, pids }: Target,
  inFlight: number,
  requests: readonly Request[],
  status: number,
): Promise<Rate> {
  const connections = await openConnections(access, inFlight)
  try {
    // One request on each connection first, so that connecting is not measured.
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

interface Gadget {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly size: number }
  readonly status?: { readonly observed: number }
}

/** Lists the objects and checks that each exists with the values last written. */
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
    check(gadget?.status?.observed === observed + index, `the status of ${prefix}-${index} is not the last one written`)
  }
}

export async function deleteGadgets(access: Access): Promise<void> {
  const connection = await Connection.open(access)
  const { status, body } = await connection.send({ method: 'DELETE', path: gadgetsPath })
  check(status === 200, `the objects were not deleted: ${status} ${body}`)
  connection.close()
}
