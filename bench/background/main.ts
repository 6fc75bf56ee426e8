/**
 * Measures memory, CPU and lateness of thousands of waiting daemons and timers. See ../README.md.
 * `node --import tsx --conditions=source bench/background/main.ts [--quick] [--sizes 1000,10000] [--only ours] [--out FILE]`
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { toKubeconfig } from '../../src/server/kubeconfig.ts'
import { kopfRun, oursRun } from '../../tools/kopf/commands.ts'
import { type OperatorCommand, OperatorProcess } from '../../tools/kopf/operator-process.ts'
import { kopfVersion } from '../../tools/kopf/venv.ts'
import type { Access } from '../lib/connection.ts'
import { gadgetBody, gadgetsPath } from '../lib/gadgets.ts'
import { check, cpuMs, loadAverage, quantile, rssBytes } from '../lib/measure.ts'
import { installCrd, openConnections, sendAll } from '../lib/requests.ts'
import { megabytes, type Table, toMarkdown, whole } from '../lib/tables.ts'
import { startEmbedded } from '../lib/targets.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '1000,10000' },
    only: { type: 'string', default: 'kopf,ours' },
    out: { type: 'string' },
  },
})

const sizes = flags.quick ? [1000] : flags.sizes.split(',').map(Number)
const intervalSeconds = flags.quick ? 5 : 30
/** The number of measured intervals; one interval before them is not measured. */
const intervals = 2
/** With more objects, the start of Python's Kopf takes longer than the whole benchmark. */
const maxSizeForKopf = 1000

/** The report that an operator prints on SIGUSR2; turns and lateness since the last report. */
interface Report {
  readonly daemons: number
  readonly timers: number
  readonly turns: number
  readonly lateness: readonly number[]
}

interface Result {
  readonly title: string
  readonly size: number
  readonly rss: number
  readonly cpuShare: number
  readonly lateness: readonly number[]
}

type Contender = 'kopf' | 'ours'

const titles: Readonly<Record<Contender, string>> = { kopf: `Kopf ${kopfVersion}`, ours: 'ours' }

async function measure(contender: Contender, size: number): Promise<Result> {
  await using server = await startEmbedded()
  await installCrd(server.access)
  await createGadgets(server.access, size)
  const folder = await mkdtemp(join(tmpdir(), 'kopf-bench-'))
  try {
    await using operator = new OperatorProcess(await toCommand(contender, server.access, folder))
    await untilAll(operator, size)
    await sleep(intervalSeconds * 1000)
    await requestReport(operator)
    const [began, cpuBefore] = [performance.now(), cpuMs([operator.pid])]
    await sleep(intervals * intervalSeconds * 1000)
    const [seconds, cpu] = [(performance.now() - began) / 1000, cpuMs([operator.pid]) - cpuBefore]
    const rss = rssBytes([operator.pid])
    const { lateness, turns } = await requestReport(operator)
    for (const count of [lateness.length, turns]) {
      check(Math.abs(count / size - seconds / intervalSeconds) < 0.2, `${count} of ${intervals * size} were called`)
    }
    return { title: titles[contender], size, rss, cpuShare: cpu / 1000 / seconds, lateness }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Creates gadgets that already have the finalizer, as after a restart, so that all daemons and timers start at the same time. */
async function createGadgets(access: Access, size: number): Promise<void> {
  const connections = await openConnections(access, 16)
  const requests = Array.from({ length: size }, (_, index) => {
    const gadget = JSON.parse(gadgetBody(`gadget-${index}`, index))
    gadget.metadata.finalizers = ['kopf.zalando.org/KopfFinalizerMarker']
    return { method: 'POST', path: gadgetsPath, body: JSON.stringify(gadget) }
  })
  await sendAll(connections, requests, 201)
  for (const connection of connections) connection.close()
}

async function toCommand(contender: Contender, access: Access, folder: string): Promise<OperatorCommand> {
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, toKubeconfig({ url: access.url, ca: access.caPem, token: access.token! }))
  const file = contender === 'kopf' ? 'kopf.py' : 'ours.ts'
  const run = {
    file: fileURLToPath(new URL(file, import.meta.url)),
    namespace: 'default',
    kubeconfig,
    options: ['--quiet'],
    env: { BENCH_GROUP: 'bench.example.com', BENCH_PLURAL: 'gadgets', BENCH_INTERVAL: `${intervalSeconds}` },
  }
  return contender === 'kopf' ? kopfRun(run) : oursRun(run, 'build')
}

async function untilAll(operator: OperatorProcess, size: number): Promise<void> {
  await sleep(3000)
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const { daemons, timers } = await requestReport(operator)
    if (daemons === size && timers === size) return
    await sleep(1000)
  }
  check(false, `not all daemons and timers of ${operator.name} were started\n${operator.output.slice(-2000)}`)
}

async function requestReport(operator: OperatorProcess): Promise<Report> {
  const reportsOf = (output: string): string[] =>
    output
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('report '))
  const before = reportsOf(operator.output).length
  process.kill(operator.pid, 'SIGUSR2')
  await operator.until((output) => reportsOf(output).length > before, 60_000)
  return JSON.parse(reportsOf(operator.output).at(-1)!.slice('report '.length)) as Report
}

function toTable(results: readonly Result[]): Table {
  const ms = (value: number): string => `${value.toFixed(1)} ms`
  return {
    title: `Daemons and timers that wait, each ${intervalSeconds} s`,
    head: ['', 'daemons and timers', 'RSS', 'CPU', 'late, p50', 'p99', 'at most'],
    rows: results.map(({ title, size, rss, cpuShare, lateness }) => [
      title,
      `${whole(size)} + ${whole(size)}`,
      megabytes(rss / 1024 ** 2),
      `${(cpuShare * 100).toFixed(1)} %`,
      ...[0.5, 0.99, 1].map((share) => ms(quantile(lateness, share))),
    ]),
  }
}

async function main(): Promise<void> {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  const loadBefore = loadAverage()
  const results: Result[] = []
  for (const size of sizes) {
    for (const contender of flags.only.split(',') as Contender[]) {
      if (contender === 'ours' || size <= maxSizeForKopf) results.push(await measure(contender, size))
    }
  }
  const head = `Node ${process.version}, ${cpus().length} cores; load average ${loadBefore} before, ${loadAverage()} after.`
  const text = [head, '', toMarkdown(toTable(results))].join('\n')
  console.log(text)
  if (flags.out !== undefined) await writeFile(flags.out, text)
}

await main()
