/** Measures the delivery of events to many watchers during a burst of writes: rate, CPU and memory of the server. */
import type { Connection } from '../lib/connection.ts'
import { gadgetsPath } from '../lib/gadgets.ts'
import { check, cpuMs, rssBytes } from '../lib/measure.ts'
import { openConnections, sendAll } from '../lib/requests.ts'
import type { Target } from '../lib/targets.ts'
import { createRequests } from './writing.ts'

export interface Delivery {
  readonly eventsPerSecond: number
  readonly writesPerSecond: number
  readonly cpuMsPerWrite: number
  readonly cpuUsPerEvent: number
  readonly megabytesPerSecond: number
  /** The growth of the server's processes. */
  readonly growthMb: number
}

export interface Burst {
  readonly prefix: string
  readonly writes: number
  readonly watchers: number
}

/** Collects the object names in the events of one watch, in order. */
class Watcher {
  readonly names: string[] = []
  bytes = 0
  #rest = ''

  receive(bytes: Buffer): void {
    this.bytes += bytes.length
    const lines = (this.#rest + bytes.toString('latin1')).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.names.push(nameOf(line))
  }
}

/** Searches the text instead of parsing it: parsing ten copies of each event would dominate the measurement. */
function nameOf(line: string): string {
  check(line.startsWith('{"type":"ADDED"'), `not an addition: ${line.slice(0, 80)}`)
  const metadata = line.indexOf('"metadata":{')
  const start = line.indexOf('"name":"', metadata) + 8
  return line.slice(start, line.indexOf('"', start))
}

export async function measureDelivery(target: Target, { prefix, writes, watchers: count }: Burst): Promise<Delivery> {
  const watchers = Array.from({ length: count }, () => new Watcher())
  const streams = await openConnections(target.access, count)
  const writers = await openConnections(target.access, 16)
  const from = await currentVersion(writers[0]!)
  for (const [index, stream] of streams.entries()) {
    const path = `${gadgetsPath}?watch=true&resourceVersion=${from}`
    stream.stream({ path }, (bytes) => watchers[index]!.receive(bytes)).catch(() => {})
  }
  // After this round trip, the server has also received the requests of all watches.
  await writers[0]!.send({ path: '/readyz' })
  const rssBefore = rssBytes(target.pids)
  const cpuBefore = cpuMs(target.pids)
  const began = performance.now()
  await sendAll(writers, createRequests(prefix, writes), 201)
  const writeSeconds = (performance.now() - began) / 1000
  await untilReceived(watchers, writes)
  const seconds = (performance.now() - began) / 1000
  const cpu = cpuMs(target.pids) - cpuBefore
  const growth = rssBytes(target.pids) - rssBefore
  for (const connection of [...streams, ...writers]) connection.close()
  checkReceived(watchers, prefix, writes)
  return {
    eventsPerSecond: (writes * count) / seconds,
    writesPerSecond: writes / writeSeconds,
    cpuMsPerWrite: cpu / writes,
    cpuUsPerEvent: (cpu * 1000) / (writes * count),
    megabytesPerSecond: watchers.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6 / seconds,
    growthMb: growth / 1e6,
  }
}

async function currentVersion(connection: Connection): Promise<string> {
  const { body } = await connection.send({ path: `${gadgetsPath}?limit=1` })
  return (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion
}

async function untilReceived(watchers: readonly Watcher[], count: number): Promise<void> {
  const deadline = performance.now() + 120_000
  while (watchers.some(({ names }) => names.length < count)) {
    check(performance.now() < deadline, 'not all events have reached all watchers')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Every watcher must have received every object once, and all watchers in the same order. */
function checkReceived(watchers: readonly Watcher[], prefix: string, count: number): void {
  const [first, ...others] = watchers
  check(new Set(first!.names).size === count && first!.names.length === count, 'events were lost or sent twice')
  check(
    first!.names.every((name) => name.startsWith(`${prefix}-`)),
    'there were events of other objects',
  )
  const order = first!.names.join()
  for (const other of others)
    check(other.names.join() === order, 'the watchers received the events in different orders')
}
