/**
 * Finds free loopback ports for the servers of control-plane.ts by listening on them for a moment. Another process may take a port
 * before the server does; the caller then tries again with other ports.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the ephemeral ports (from 32768 on Linux, 49152 on macOS): while a server is down, a client that keeps dialling an
// ephemeral port can get the same port as its source port, connect to itself, and block the server from starting again.
const minPort = 20_000
const maxPort = 29_999

/** Returns distinct ports on which no server listened a moment ago. */
export async function findFreePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  for (let attempt = 0; found.size < count; attempt += 1) {
    if (attempt > 1000) throw new Error(`Cannot find ${count} free ports between ${minPort} and ${maxPort}`)
    const port = randomInt(minPort, maxPort + 1)
    if (await isFree(port)) found.add(port)
  }
  return [...found]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
