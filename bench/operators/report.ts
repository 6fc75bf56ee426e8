/** Runs each scenario for each operator, alternating if it is repeated, and builds the result tables. */

import type { BenchCluster } from '../lib/bench-cluster.ts'
import { median } from '../lib/measure.ts'
import { megabytes, seconds, type Table, whole } from '../lib/tables.ts'
import type { Contender } from './contenders.ts'
import { type Burst, measureBurst, measureRestart, type Restart } from './scenarios/burst.ts'
import { measureFiltered, prepareFiltered } from './scenarios/filtered.ts'
import { measureHotObject } from './scenarios/hot-object.ts'
import { type Idle, measureIdle } from './scenarios/idle.ts'
import { measureMany, prepareMany } from './scenarios/many.ts'
import { cases, measureRequests, nameOf, type Requests, type Storage } from './scenarios/requests.ts'

export interface Sizes {
  /** The number of repetitions of short measurements; the median is reported. */
  readonly rounds: number
  readonly edits: number
  readonly bursts: readonly number[]
  readonly filtered: number
  readonly many: number
}

/** Measures all operators in each round; the next round has the opposite order. */
async function alternate<T>(some: readonly Contender[], rounds: number, measure: (contender: Contender) => Promise<T>) {
  const results = new Map<Contender, T[]>(some.map((contender) => [contender, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of round % 2 === 0 ? some : some.toReversed()) {
      console.error(`  ${contender.title} ...`)
      results.get(contender)!.push(await measure(contender))
    }
  }
  return [...results]
}

function middle<T>(results: readonly T[], pick: (result: T) => number): number {
  return median(results.map(pick))
}

export async function requestsTables(cluster: BenchCluster, some: readonly Contender[]): Promise<Table[]> {
  console.error('Requests')
  const columns: { title: string; requests: Requests }[] = []
  for (const contender of some) {
    for (const storage of contender.isBaseline ? (['annotations'] as const) : (['annotations', 'status'] as const)) {
      console.error(`  ${contender.title}, ${storage} ...`)
      const requests = await measureRequests(cluster, contender, storage)
      columns.push({ title: titleOf(contender, storage), requests })
    }
  }
  const rows = cases.map((each) => [
    String(each.handlers),
    each.status,
    each.finalizer,
    ...columns.map(({ requests }) => formatWrites(requests.writes.get(nameOf(each)))),
  ])
  const counts = columns.map(({ title, requests }) => {
    return [title, whole(requests.noops), requests.watches.join(' · '), whole(requests.listsAfterStart)]
  })
  return [
    {
      title: '(a) Writes for one change of one object',
      note: 'create · update · resume · delete',
      head: ['handlers', 'write status', 'finalizer', ...columns.map(({ title }) => title)],
      rows,
    },
    {
      title: '(a) Requests that are not needed',
      head: ['', 'writes that change nothing', 'watches, before and after a restart', 'lists after the start'],
      rows: counts,
    },
  ]
}

function titleOf({ title, isBaseline }: Contender, storage: Storage): string {
  return isBaseline || storage === 'annotations' ? title : `${title}, status storages`
}

function formatWrites(writes: Requests['writes'] extends ReadonlyMap<string, infer W> ? W | undefined : never): string {
  if (writes === undefined) return '–'
  return [writes.create, writes.update, writes.resume, writes.delete].join(' · ')
}

export async function hotObjectTable(
  cluster: BenchCluster,
  some: readonly Contender[],
  { edits }: Sizes,
): Promise<Table> {
  console.error('Hot object')
  const results = await alternate(some, 1, (contender) => measureHotObject(cluster, contender, edits))
  return {
    title: `(b) ${whole(edits)} edits to one object, 100 a second`,
    head: ['', 'handler runs', 'writes', 'CPU'],
    rows: results.map(([{ title }, [result]]) => {
      return [title, whole(result!.runs), whole(result!.writes), seconds(result!.cpuMs / 1000)]
    }),
  }
}

export async function burstTables(cluster: BenchCluster, some: readonly Contender[], sizes: Sizes): Promise<Table[]> {
  const tables: Table[] = []
  for (const count of sizes.bursts) {
    console.error(`Burst of ${count}`)
    // The long burst runs once: the slowest operator takes a minute.
    const rounds = count > 1_000 ? 1 : sizes.rounds
    const results = await alternate(some, rounds, (contender) => measureBurst(cluster, contender, count))
    tables.push(burstTable(count, results))
    if (count !== sizes.bursts.at(-1)) continue
    console.error('Restart')
    const namespaces = new Map(results.map(([contender, bursts]) => [contender, bursts[0]!.namespace]))
    const restarts = await alternate(some, sizes.rounds, (contender) => {
      return measureRestart(cluster, contender, namespaces.get(contender)!)
    })
    tables.push(restartTable(count, restarts))
  }
  return tables
}

function burstTable(count: number, results: readonly [Contender, Burst[]][]): Table {
  return {
    title: `(c) A burst of ${whole(count)} creations`,
    head: ['', 'CPU an object', 'handled', 'writes an object', 'peak RSS'],
    rows: results.map(([{ title }, bursts]) => [
      title,
      `${middle(bursts, ({ cpuMsPerObject }) => cpuMsPerObject).toFixed(2)} ms`,
      `${whole(middle(bursts, ({ handledPerSecond }) => handledPerSecond))}/s`,
      middle(bursts, ({ writesPerObject }) => writesPerObject).toFixed(2),
      megabytes(middle(bursts, ({ peakMb }) => peakMb)),
    ]),
  }
}

function restartTable(count: number, results: readonly [Contender, Restart[]][]): Table {
  return {
    title: `(d) A restart with ${whole(count)} handled objects`,
    head: ['', 'CPU', 'RSS', 'to watch', 'to quiet', 'writes'],
    rows: results.map(([{ title }, restarts]) => [
      title,
      seconds(middle(restarts, ({ cpuSeconds }) => cpuSeconds)),
      megabytes(middle(restarts, ({ rssMb }) => rssMb)),
      seconds(middle(restarts, ({ toWatchSeconds }) => toWatchSeconds)),
      seconds(middle(restarts, ({ toQuietSeconds }) => toQuietSeconds)),
      whole(Math.max(...restarts.map(({ writes }) => writes))),
    ]),
  }
}

export async function idleTable(cluster: BenchCluster, some: readonly Contender[], { rounds }: Sizes): Promise<Table> {
  console.error('Idle')
  const results = await alternate<Idle>(some, rounds, (contender) => measureIdle(cluster, contender))
  return {
    title: '(e) Nothing to do',
    head: ['', 'to watch', 'CPU', 'RSS'],
    rows: results.map(([{ title }, idles]) => [
      title,
      seconds(middle(idles, ({ toWatchSeconds }) => toWatchSeconds)),
      seconds(middle(idles, ({ cpuSeconds }) => cpuSeconds)),
      megabytes(middle(idles, ({ rssMb }) => rssMb)),
    ]),
  }
}

export async function filteredTable(
  cluster: BenchCluster,
  some: readonly Contender[],
  { filtered }: Sizes,
): Promise<Table> {
  console.error('Filtered')
  const namespace = await prepareFiltered(cluster, filtered)
  const results = await alternate(some, 1, (contender) => measureFiltered(cluster, contender, namespace))
  return {
    title: `(f) ${whole(filtered)} objects of which a label picks 1 %`,
    head: ['', 'CPU', 'peak RSS', 'last one handled'],
    rows: results.map(([{ title }, [result]]) => {
      return [title, seconds(result!.cpuSeconds), megabytes(result!.peakMb), seconds(result!.handledSeconds)]
    }),
  }
}

export async function manyTable(cluster: BenchCluster, some: readonly Contender[], { many }: Sizes): Promise<Table> {
  console.error('Many')
  const namespace = await prepareMany(cluster, many)
  const results = await alternate(some, 1, (contender) => measureMany(cluster, contender, namespace))
  return {
    title: `(g) ${whole(many)} objects, handled before`,
    note: 'The baseline only reads them.',
    head: ['', 'CPU', 'RSS', 'peak RSS', 'to quiet', 'writes'],
    rows: results.map(([{ title }, [result]]) => [
      title,
      seconds(result!.cpuSeconds),
      megabytes(result!.rssMb),
      megabytes(result!.peakMb),
      seconds(result!.toQuietSeconds),
      whole(result!.writes),
    ]),
  }
}
