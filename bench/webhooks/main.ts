/**
 * Measures webhook servers: reviews posted directly to them, and writes through a real API server. See ../README.md.
 * `node --import tsx --conditions=source bench/webhooks/main.ts [--quick] [--only ours,baseline] [--tables direct,through] [--out FILE]`
 */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { callApi } from '../../tools/envtest/api.ts'
import { type ControlPlane, startControlPlane } from '../../tools/envtest/control-plane.ts'
import { crdsPath } from '../lib/gadgets.ts'
import { check, loadAverage, median } from '../lib/measure.ts'
import { schemalessCrd } from '../lib/schemaless-gadgets.ts'
import { formatMs, megabytes, type Table, toMarkdown, whole } from '../lib/tables.ts'
import { type Contender, type ContenderName, type Place, startContender, titles } from './contenders.ts'
import { type DirectLoad, type DirectResult, measureDirect, warmUp } from './direct.ts'
import { install, measureThrough, type ThroughLoad, uninstall, type WriteRate } from './through.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: 'baseline,kopf,kopf-quiet,ours,ours-quiet' },
    tables: { type: 'string', default: 'direct,through' },
    out: { type: 'string' },
  },
})

const names = flags.only.split(',') as ContenderName[]
const rounds = flags.quick ? 1 : 3
const warmSeconds = flags.quick ? 2 : 5
const sizes: ReadonlyArray<readonly [string, number]> = [
  ['1 KB', 1000],
  ['400 KB', 400_000],
  ['1 MB', 1_000_000],
]

const directLoads: ReadonlyArray<readonly [string, DirectLoad]> = sizes.flatMap(([title, bytes]) =>
  (bytes === 1000 ? [1, 8, 32] : [1, 8]).map((connections): readonly [string, DirectLoad] => [
    title,
    { bytes, connections, seconds: flags.quick ? 1 : 2 },
  ]),
)

const throughLoads: ReadonlyArray<readonly [string, ThroughLoad]> = [
  ['1 KB', { bytes: 1000, inFlight: 1, count: flags.quick ? 50 : 200 }],
  ['1 KB', { bytes: 1000, inFlight: 16, count: flags.quick ? 100 : 500 }],
  ['1 MB', { bytes: 1_000_000, inFlight: 1, count: flags.quick ? 5 : 10 }],
]

/** The results of all rounds, by contender and load. */
class Results<T> {
  readonly #found = new Map<string, T[]>()

  add(key: string, result: T | undefined): void {
    const found = this.#found.get(key) ?? []
    if (result !== undefined) found.push(result)
    this.#found.set(key, found)
  }

  /** Undefined if there is no result. */
  median(key: string, read: (result: T) => number): number | undefined {
    const found = this.#found.get(key) ?? []
    return found.length === 0 ? undefined : median(found.map(read))
  }
}

const keyOf = (name: string, load: object): string => `${name} ${JSON.stringify(load)}`

async function measureAllDirect(place: Place): Promise<Results<DirectResult>> {
  const results = new Results<DirectResult>()
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      await using contender = await startContender(name, place)
      await warmUp(contender, warmSeconds)
      for (const [, load] of directLoads) results.add(keyOf(name, load), await measureDirect(contender, load))
    }
  }
  return results
}

interface Writes {
  readonly creates: Results<WriteRate>
  readonly updates: Results<WriteRate>
}

const writers = ['none', ...names.filter((name) => !name.endsWith('-quiet'))] as const

async function measureAllThrough(plane: ControlPlane, place: Place): Promise<Writes> {
  const admin = { url: plane.url, caPem: plane.caPem, user: plane.admin }
  const results: Writes = { creates: new Results(), updates: new Results() }
  const measureWith = async (name: string, contender?: Contender): Promise<void> => {
    for (const [, load] of throughLoads) {
      const { creates, updates } = await measureThrough(admin, load, contender)
      results.creates.add(keyOf(name, load), creates)
      results.updates.add(keyOf(name, load), updates)
    }
  }
  // Waits until the new CRD is served.
  await uninstall(admin)
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? writers : [...writers].reverse()) {
      if (name === 'none') {
        await measureWith(name)
        continue
      }
      await using contender = await startContender(name, place)
      await warmUp(contender, warmSeconds)
      await install(admin, contender)
      await measureWith(name, contender)
      await uninstall(admin)
    }
  }
  return results
}

const tooLarge = 'refused'

function directTable(results: Results<DirectResult>): Table {
  return {
    title: 'Reviews of updates, posted directly',
    head: ['', 'objects', 'connections', 'reviews', 'p50', 'p99', 'CPU a review', 'of a core', 'longest stall', 'RSS'],
    rows: directLoads.flatMap(([size, load]) =>
      names.map((name) => {
        const of = (read: (result: DirectResult) => number): number | undefined =>
          results.median(keyOf(name, load), read)
        const start = [titles[name], size, String(load.connections)]
        const cpu = of((one) => one.cpuMsPerReview)
        if (cpu === undefined) return [...start, tooLarge, '', '', '', '', '', '']
        return [
          ...start,
          `${whole(of((one) => one.perSecond)!)}/s`,
          formatMs(of((one) => one.p50Ms)!),
          formatMs(of((one) => one.p99Ms)!),
          `${cpu.toFixed(2)} ms`,
          `${whole(1000 / cpu)}/s`,
          formatMs(of((one) => one.stallMs)!),
          megabytes(of((one) => one.rssBytes)! / 1024 ** 2),
        ]
      }),
    ),
  }
}

function throughTable({ creates, updates }: Writes): Table {
  return {
    title: 'Writes through a real API server, two reviews each',
    head: ['webhooks of', 'objects', 'concurrent', 'creations', 'p50', 'p99', 'updates', 'p50', 'p99', 'CPU an update'],
    rows: throughLoads.flatMap(([size, load]) =>
      writers.map((name) => {
        const title = name === 'none' ? 'none' : titles[name]
        const cpu = updates.median(keyOf(name, load), (one) => one.cpuMsPerWrite)
        return [
          title,
          size,
          String(load.inFlight),
          ...rateCells(creates, keyOf(name, load)),
          ...rateCells(updates, keyOf(name, load)),
          cpu === undefined || name === 'none' ? '' : `${cpu.toFixed(2)} ms`,
        ]
      }),
    ),
  }
}

function rateCells(results: Results<WriteRate>, key: string): string[] {
  const rate = results.median(key, (one) => one.perSecond)
  if (rate === undefined) return [tooLarge, '', '']
  return [
    `${rate < 20 ? rate.toFixed(1) : whole(rate)}/s`,
    formatMs(results.median(key, (one) => one.p50Ms)!),
    formatMs(results.median(key, (one) => one.p99Ms)!),
  ]
}

/** Pins the API server and the driver to one core, and returns the core for the webhook server. */
function pinToCores(plane: ControlPlane): number | undefined {
  if (cpus().length < 2) return undefined
  for (const pid of [plane.pids.apiServer, plane.pids.etcd, process.pid]) {
    execFileSync('taskset', ['-acp', '0', String(pid)], { stdio: 'ignore' })
  }
  return 1
}

async function main(): Promise<void> {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  const loadBefore = loadAverage()
  await using plane = await startControlPlane({ controllers: false, fsync: true })
  const place = { folder: plane.folder, kubeconfig: plane.kubeconfigs.operator, core: pinToCores(plane) }
  const admin = { url: plane.url, caPem: plane.caPem, user: plane.admin }
  const { status, text } = await callApi(admin, { method: 'POST', path: crdsPath, body: schemalessCrd })
  check(status === 201, `the CRD was not created: ${text}`)
  const tables: Table[] = []
  if (flags.tables.includes('direct')) tables.push(directTable(await measureAllDirect(place)))
  if (flags.tables.includes('through')) tables.push(throughTable(await measureAllThrough(plane, place)))
  const head = `Node ${process.version}, ${cpus().length} cores; load average ${loadBefore} before, ${loadAverage()} after.`
  const result = [head, '', ...tables.map(toMarkdown)].join('\n')
  console.log(result)
  if (flags.out !== undefined) await writeFile(flags.out, result)
}

await main()
