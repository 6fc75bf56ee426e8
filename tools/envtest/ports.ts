/**
 * Ports of the loopback address for the servers of control-plane.ts. Found by listening for a moment: another process
 * may take one before its server does, so the caller tries again with others when that happens.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the ports that systems give to outgoing connections (from 32768 on Linux, 49152 on macOS): while a server is
// down, a client that keeps dialling such a port can be given that very port, is connected to itself, and keeps the
// server from coming back.
const lowest = 20_000
const highest = 29_999

/** Ports that differ from each other and on which nobody listened a moment ago. */
export async function findFreePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  for (let attempt = 0; found.size < count; attempt += 1) {
    if (attempt > 1000) throw new Error(`Cannot find ${count} free ports between ${lowest} and ${highest}`)
    const port = randomInt(lowest, highest + 1)
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
