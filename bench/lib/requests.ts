/** Sends requests over several connections, in order or at a fixed rate. A response with another status ends the benchmark. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Access, Connection, type Request } from './connection.ts'
import { crdsPath, gadgetBody, gadgetCrd, gadgetsPath } from './gadgets.ts'
import { check } from './measure.ts'

const inFlight = 16

/** Sends the requests in order, one at a time on each connection. Returns the latencies in milliseconds. */
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

export async function installCrd(access: Access): Promise<void> {
  const connection = await Connection.open(access)
  const created = await connection.send({ method: 'POST', path: crdsPath, body: JSON.stringify(gadgetCrd) })
  check(created.status === 201, `the CRD was not created: ${created.body}`)
  // After a CRD is accepted, the real server refuses creations for a while, and for longer than lists.
  for (;;) {
    const body = gadgetBody('probe', 0)
    const { status } = await connection.send({ method: 'POST', path: `${gadgetsPath}?dryRun=All`, body })
    if (status === 201) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  connection.close()
}

export async function sendMany(access: Access, requests: readonly Request[], status: number): Promise<void> {
  const connections = await openConnections(access, inFlight)
  try {
    await sendAll(connections, requests, status)
  } finally {
    for (const connection of connections) connection.close()
  }
}

/** Sends each request at its time, even if earlier ones have no response yet; at most sixteen at once. */
export async function sendPaced(access: Access, requests: readonly Request[], perSecond: number): Promise<void> {
  const connections = await openConnections(access, inFlight)
  const began = performance.now()
  let next = 0
  const work = async (connection: Connection): Promise<void> => {
    while (next < requests.length) {
      const index = next++
      await sleep(Math.max(0, began + (index * 1000) / perSecond - performance.now()))
      const { status, body } = await connection.send(requests[index]!)
      check(status === 200, `an edit returned ${status}: ${body}`)
    }
  }
  await Promise.all(connections.map(work))
  for (const connection of connections) connection.close()
}
