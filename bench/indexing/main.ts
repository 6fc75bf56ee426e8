/**
 * Measures CPU, memory and lookups of an index, next to Kopf's indexer. See ../README.md.
 * `npm run bench:indexing -- [--quick]`: runs the compiled code in dist/.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { configureLogging, type Index, Operator } from 'kopf'
import { ensureKopf, kopfVersion } from '../../tools/kopf/venv.ts'
import { check, loadAverage, median } from '../lib/measure.ts'
import { toMarkdown, whole } from '../lib/tables.ts'
import { podOf, servePods } from './pods.ts'

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const [count, rounds] = flags.quick ? [5000, 1] : [50_000, 5]
const lookups = 500_000

type PodIndex = Index<[string | undefined, string], string>

interface Cost {
  /** Per object: the call of the index function, and the update of the index. */
  readonly indexingUs: number
  /** Per object: its entry in the index, including the key. */
  readonly entryBytes: number
  readonly lookupsPerSecond: number
}

/** The cost of the whole operator, per object. */
interface Run {
  readonly cpuUs: number
  readonly heapBytes: number
  readonly lookupsPerSecond: number
}

const transport = servePods(count)

/** Lists all pods, and indexes them by `[namespace, name]` if `isIndexing`; otherwise the filter rejects every pod. */
async function runOperator(isIndexing: boolean): Promise<Run> {
  let looked = 0
  const kopf = new Operator({ settings: { watching: { initialStreaming: false } } })
  const when = (): boolean => {
    looked += 1
    return isIndexing
  }
  const index = kopf.index(['v1', 'pods'], { when }, ({ namespace, name, spec }) => [
    [[namespace, name], String(spec['nodeName'])],
  ])
  const before = heapBytes()
  const cpu = process.cpuUsage()
  await using running = await kopf.start({ transport, logging: configureLogging({ quiet: true }) })
  await running.ready
  while (looked < count || (isIndexing && index.size < count)) await new Promise(setImmediate)
  const { user, system } = process.cpuUsage(cpu)
  const heap = heapBytes() - before
  check(index.size === (isIndexing ? count : 0), `the index has ${index.size} pods`)
  const lookupsPerSecond = isIndexing ? measureLookups(index) : 0
  return { cpuUs: (user + system) / count, heapBytes: heap / count, lookupsPerSecond }
}

function measureLookups(index: PodIndex): number {
  const keys = Array.from({ length: count }, (_, n) => podOf(n)['metadata'] as { namespace: string; name: string })
  const began = performance.now()
  let found = 0
  for (let n = 0; n < lookups; n += 1) {
    const { namespace, name } = keys[n % count]!
    found += index.get([namespace, name]).length
  }
  check(found === lookups, 'pods were not found')
  return (lookups / (performance.now() - began)) * 1000
}

function heapBytes(): number {
  global.gc!()
  global.gc!()
  return process.memoryUsage().heapUsed
}

async function measureOurs(): Promise<{ cost: Cost; total: Run }> {
  const [indexing, idle]: [Run[], Run[]] = [[], []]
  // The first round warms up the JavaScript engine and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const runs = [await runOperator(false), await runOperator(true)] as const
    if (round === 0) continue
    idle.push(runs[0])
    indexing.push(runs[1])
  }
  const [total, base] = [typical(indexing), typical(idle)]
  const { lookupsPerSecond } = total
  const cost = { indexingUs: total.cpuUs - base.cpuUs, entryBytes: total.heapBytes - base.heapBytes, lookupsPerSecond }
  return { cost, total }
}

function typical(runs: readonly Run[]): Run {
  const of = (key: keyof Run): number => median(runs.map((run) => run[key]))
  return { cpuUs: of('cpuUs'), heapBytes: of('heapBytes'), lookupsPerSecond: of('lookupsPerSecond') }
}

/** Calls Kopf's indexing functions in a Python process, with the same pods. */
async function measureKopf(): Promise<Cost> {
  const { python } = await ensureKopf({ onProgress: (line) => console.log(line) })
  const script = fileURLToPath(new URL('kopf.py', import.meta.url))
  const pods = `[${Array.from({ length: count }, (_, n) => JSON.stringify(podOf(n))).join()}]`
  const options = { input: pods, encoding: 'utf8', maxBuffer: 2 ** 30 } as const
  return JSON.parse(execFileSync(python, [script, String(lookups)], options)) as Cost
}

const loadBefore = loadAverage()
const kopf = await measureKopf()
const { cost: ours, total } = await measureOurs()
const row = (title: string, { indexingUs, entryBytes, lookupsPerSecond }: Cost): string[] => [
  title,
  `${indexingUs.toFixed(1)} µs`,
  `${whole(entryBytes)} B`,
  `${whole(lookupsPerSecond)}/s`,
]
const title = `${whole(count)} pods by namespace and name`
const note =
  `Node ${process.version}, ${cpus().length} cores; load average ${loadBefore} before, ${loadAverage()} after. ` +
  `The whole operator of ours, listing and parsing included: ${total.cpuUs.toFixed(1)} µs of CPU and ` +
  `${whole(total.heapBytes)} B of heap a pod.`
const head = ['', 'CPU an object', 'an entry', 'lookups']
console.log(toMarkdown({ title, note, head, rows: [row(`Kopf ${kopfVersion}`, kopf), row('ours', ours)] }))
