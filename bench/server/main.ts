/**
 * Measures the embedded server next to the real one, in alternation, with the same driver.
 * `node --import tsx --conditions=source bench/server/main.ts [--quick] [--out FILE]`; see ../README.md.
 */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { Connection } from '../lib/connection.ts'
import { loadAverage, median, rssBytes } from '../lib/measure.ts'
import { installCrd, openConnections, sendAll } from '../lib/requests.ts'
import { formatMs } from '../lib/tables.ts'
import {
  forkBench,
  nextMessage,
  startEmbedded,
  startEmbeddedWithDataDir,
  startReal,
  type Target,
} from '../lib/targets.ts'
import type { InProcess } from './in-process.ts'
import { type Listing, listPages, listWhole } from './listing.ts'
import {
  deliveryRow,
  formatKb,
  formatRate,
  formatTable,
  listingRow,
  manyWatchersRow,
  type Row,
  rateRow,
  startRow,
  times,
} from './report.ts'
import { measureCommand, measureReal, type Start } from './startup.ts'
import { type Delivery, measureDelivery } from './watching.ts'
import { checkGadgets, createRequests, deleteGadgets, measureRate, patchRequests, type Rate } from './writing.ts'

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean' }, out: { type: 'string' } } })
const isQuick = flags.quick ?? false

/** The counts. The real server does about 500 writes a second and takes most of the time. */
const sizes = isQuick
  ? {
      rounds: 1,
      starts: 1,
      single: 100,
      many: 600,
      watched: 300,
      listed: 2000,
      inProcess: 2000,
      kept: 5000,
      crowd: 100,
    }
  : {
      rounds: 3,
      starts: 5,
      single: 500,
      many: 4000,
      watched: 2000,
      listed: 50_000,
      inProcess: 20_000,
      kept: 100_000,
      crowd: 100,
    }

const watcherCount = 10
const manyWatchersCount = 1000

interface Pair<T> {
  readonly embedded: T[]
  readonly real: T[]
}

/** Measures both servers in each round; the next round starts with the other server. */
async function alternate<T>(targets: readonly Target[], measure: (target: Target, round: number) => Promise<T>) {
  const results: Pair<T> = { embedded: [], real: [] }
  for (let round = 0; round < sizes.rounds; round += 1) {
    const order = round % 2 === 0 ? targets : [...targets].reverse()
    for (const target of order) results[target.name].push(await measure(target, round))
  }
  return results
}

async function startupRows(): Promise<Row[]> {
  const commands: Start[] = []
  const reals: Start[] = []
  const fresh: InProcess[] = []
  for (let start = 0; start < sizes.starts; start += 1) {
    commands.push(await measureCommand())
    if (start < sizes.rounds) reals.push(await measureReal())
    // Only the start of a process is measured repeatedly; rates and heap are measured once, with full counts.
    fresh.push(await measureInProcess(start === 0 ? sizes.inProcess : 1, start === 0 ? sizes.kept : 1))
  }
  const none = { real: '', ratio: '' }
  const [first] = fresh as [InProcess]
  const firstAnswer = formatMs(median(fresh.map(({ firstAnswerMs }) => firstAnswerMs)))
  const https = formatMs(median(fresh.map(({ httpsMs }) => httpsMs)))
  return [
    { what: 'start: `new ApiServer()` to its first response', embedded: firstAnswer, ...none, aim: '≤ 50 ms' },
    { what: 'start: `startServer()` to `/readyz` over HTTPS', embedded: https, ...none, aim: '' },
    startRow('start: the command to `/readyz`', { embedded: commands, real: reals }, '≤ 400 ms'),
    { what: 'create, in process', embedded: formatRate(first.createsPerSecond), ...none, aim: '' },
    { what: 'merge patch of the status, in process', embedded: formatRate(first.patchesPerSecond), ...none, aim: '' },
    {
      what: `heap of an object of 0.2 KB, in process, ${sizes.kept} of them`,
      embedded: formatKb(first.heapPerSmallObject),
      ...none,
      aim: '≤ 1.5 KB',
    },
    {
      what: `heap of an object of 0.9 KB, in process, ${sizes.kept} of them`,
      embedded: formatKb(first.heapPerObject),
      ...none,
      aim: '',
    },
  ]
}

async function measureInProcess(writes: number, objects: number): Promise<InProcess> {
  return nextMessage<InProcess>(forkBench(new URL('in-process.ts', import.meta.url), [String(writes), String(objects)]))
}

type Load = readonly [inFlight: number, count: number]

async function writingRows(targets: readonly Target[], loads: readonly Load[], how = ''): Promise<Row[]> {
  const rows: Row[] = []
  for (const [inFlight, count] of loads) {
    const patches: Pair<Rate> = { embedded: [], real: [] }
    const creates = await alternate(targets, async (target, round) => {
      const prefix = `w${inFlight}-${round}`
      const created = await measureRate(target, inFlight, createRequests(prefix, count), 201)
      patches[target.name].push(await measureRate(target, inFlight, patchRequests(prefix, count, round + 1), 200))
      await checkGadgets(target.access, prefix, count, round + 1)
      await deleteGadgets(target.access)
      return created
    })
    const aim = inFlight === 16 ? '≥ 10×' : ''
    rows.push(rateRow(`create, ${inFlight} in flight${how}`, creates, aim))
    rows.push(rateRow(`merge patch of the status, ${inFlight} in flight${how}`, patches, aim))
  }
  return rows
}

async function watchingRow(targets: readonly Target[]): Promise<Row> {
  const deliveries: Pair<Delivery> = await alternate(targets, async (target, round) => {
    const burst = { prefix: `v-${round}`, writes: sizes.watched, watchers: watcherCount }
    const delivery = await measureDelivery(target, burst)
    await deleteGadgets(target.access)
    return delivery
  })
  return deliveryRow(`events delivered to ${watcherCount} watchers during a burst of ${sizes.watched}`, deliveries)
}

/** A thousand watchers. */
async function measureManyWatchers(targets: readonly Target[]): Promise<Row> {
  const deliveries: Pair<Delivery> = await alternate(targets, async (target, round) => {
    const delivery = await measureDelivery(target, {
      prefix: `c-${round}`,
      writes: sizes.crowd,
      watchers: manyWatchersCount,
    })
    await deleteGadgets(target.access)
    return delivery
  })
  return manyWatchersRow(
    `events delivered to ${manyWatchersCount} watchers during a burst of ${sizes.crowd}`,
    deliveries,
    '≥ 50 MB/s',
  )
}

/** Fills each server once, measures the growth of its memory, and then the lists. */
async function listingRows(targets: readonly Target[]): Promise<Row[]> {
  const growth = { embedded: 0, real: 0 }
  for (const target of targets) {
    await target.heap()
    const before = rssBytes(target.pids)
    const connections = await openConnections(target.access, 16)
    await sendAll(connections, createRequests('l', sizes.listed), 201)
    for (const connection of connections) connection.close()
    await target.heap()
    growth[target.name] = (rssBytes(target.pids) - before) / sizes.listed
  }
  const pages: Pair<Listing> = { embedded: [], real: [] }
  const wholes = await alternate(targets, async (target) => {
    pages[target.name].push(await listPages(target, sizes.listed, 500))
    return listWhole(target, sizes.listed)
  })
  return [
    listingRow(`list of ${sizes.listed}, one body`, wholes),
    listingRow(`list of ${sizes.listed}, pages of 500`, pages),
    {
      what: `memory (RSS) of an object of 0.9 KB, ${sizes.listed} of them`,
      embedded: formatKb(growth.embedded),
      real: formatKb(growth.real),
      ratio: times(growth.embedded, growth.real, 'lower'),
      aim: '',
    },
  ]
}

async function versionOf({ access }: Target): Promise<string> {
  const connection = await Connection.open(access)
  const { body } = await connection.send({ path: '/version' })
  connection.close()
  return (JSON.parse(body.toString()) as { gitVersion: string }).gitVersion
}

/** Installs the CRD and sends some load, which is not measured. */
async function warmUp(target: Target): Promise<void> {
  await installCrd(target.access)
  const count = isQuick && target.name === 'real' ? 200 : 2000
  await measureRate(target, 16, createRequests('warm', count), 201)
  await measureRate(target, 16, patchRequests('warm', count, 0), 200)
  await deleteGadgets(target.access)
}

async function main(): Promise<void> {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  const loadBefore = loadAverage()
  const starting = await startupRows()
  await using embedded = await startEmbedded()
  await using real = await startReal()
  await using kept = await startEmbeddedWithDataDir()
  const targets = [embedded, real]
  for (const target of [...targets, kept]) await warmUp(target)
  const many: Load = [16, sizes.many]
  const rows = [
    ...starting.slice(0, 3),
    ...(await writingRows(targets, [[1, sizes.single], many])),
    ...(await writingRows([kept, real], [[1, sizes.single], many], ', with a data directory')),
    ...starting.slice(3, 5),
    await watchingRow(targets),
    await measureManyWatchers(targets),
    ...(await listingRows(targets)),
    ...starting.slice(5),
  ]
  const version = await versionOf(real)
  const table = formatTable(rows, { version, loadBefore, loadAfter: loadAverage(), isQuick })
  console.log(table)
  if (flags.out !== undefined) await writeFile(flags.out, table)
}

await main()
