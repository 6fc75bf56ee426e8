/** Watchers and a burst of writes: how many events a second reach all of them, and what the server needs for it. */
import type { Connection } from './connection.ts'
import { createRequests, openConnections, sendAll } from './driver.ts'
import { gadgetsPath } from './fixtures.ts'
import { check, cpuMs, rssBytes } from './measure.ts'
import type { Target } from './targets.ts'

export interface Delivery {
  readonly eventsPerSecond: number
  readonly writesPerSecond: number
  readonly cpuMsPerWrite: number
  readonly cpuUsPerEvent: number
  readonly megabytesPerSecond: number
  /** By how much the processes of the server had grown in the end. */
  readonly growthMb: number
}

export interface Burst {
  readonly prefix: string
  readonly writes: number
  readonly watchers: number
}

/** The names one watcher has been told of, in order. */
class Watcher {
  readonly names: string[] = []
  bytes = 0
  #rest = ''

  hear(bytes: Buffer): void {
    this.bytes += bytes.length
    const lines = (this.#rest + bytes.toString('latin1')).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.names.push(nameOf(line))
  }
}

/** Looked for in the text: parsing ten copies of everything would be most of what is measured. */
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
    stream.stream({ path }, (bytes) => watchers[index]!.hear(bytes)).catch(() => {})
  }
  // The last of them is open once it has had an answer; those before it have been asked for earlier.
  await writers[0]!.send({ path: '/readyz' })
  const rssBefore = rssBytes(target.pids)
  const cpuBefore = cpuMs(target.pids)
  const began = performance.now()
  await sendAll(writers, createRequests(prefix, writes), 201)
  const writeSeconds = (performance.now() - began) / 1000
  await untilHeard(watchers, writes)
  const seconds = (performance.now() - began) / 1000
  const cpu = cpuMs(target.pids) - cpuBefore
  const growth = rssBytes(target.pids) - rssBefore
  for (const connection of [...streams, ...writers]) connection.close()
  checkHeard(watchers, prefix, writes)
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

async function untilHeard(watchers: readonly Watcher[], count: number): Promise<void> {
  const deadline = performance.now() + 120_000
  while (watchers.some(({ names }) => names.length < count)) {
    check(performance.now() < deadline, 'not all events have reached all watchers')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Every watcher has heard of every object once, and all in the same order. */
function checkHeard(watchers: readonly Watcher[], prefix: string, count: number): void {
  const [first, ...others] = watchers
  check(new Set(first!.names).size === count && first!.names.length === count, 'events were lost or sent twice')
  check(
    first!.names.every((name) => name.startsWith(`${prefix}-`)),
    'events of others came',
  )
  const order = first!.names.join()
  for (const other of others) check(other.names.join() === order, 'watchers have seen different orders')
}
