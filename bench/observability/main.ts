/**
 * Measures what metrics, the dashboard and tracing cost an operator: CPU and memory. See ../README.md.
 * `npm run bench:observability -- [--parts metrics,dashboard,tracing] [--rounds 7] [--burst 6000] [--sequence 800] [--objects 10000]`. Each round runs
 * one process per row, in another order, against a new embedded server in a process of its own, so that a change of the machine's load meets all rows.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { check, loadAverage, median } from '../lib/measure.ts'
import { installCrd } from '../lib/requests.ts'
import { toMarkdown, whole } from '../lib/tables.ts'
import { startEmbedded } from '../lib/targets.ts'
import { benchDashboard } from './dashboard.ts'
import { MeasuredOperator } from './measured-operator.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    burst: { type: 'string', default: '6000' },
    sequence: { type: 'string', default: '800' },
    only: { type: 'string', default: '' },
    objects: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
    parts: { type: 'string', default: 'metrics,dashboard,tracing' },
  },
})

interface Row {
  readonly title: string
  readonly settings: object
  /** Scraped once a second if there is an address. */
  readonly scraped?: string
}

const address = `http://127.0.0.1:${await findFreePort()}`

/** The first row is what the others are compared with. Further features add a row here. */
const rows: Readonly<Record<string, Row>> = {
  off: { title: 'metrics off', settings: {} },
  // The same again: its difference is the noise of the machine.
  again: { title: 'metrics off, again', settings: {} },
  on: { title: 'metrics on', settings: { metrics: { address } } },
  scraped: {
    title: 'metrics on, scraped every second',
    settings: { metrics: { address } },
    scraped: `${address}/metrics`,
  },
}

interface Measured {
  /** CPU per object in microseconds. */
  readonly burst: number
  readonly sequence: number
  readonly rss: number
  readonly heap: number
}

/** As many objects as V8 needs to compile the code of the listeners: an operator runs for days. */
const warmUp = 5000

async function measure({ settings, scraped }: Row): Promise<Measured> {
  await using server = await startEmbedded()
  await installCrd(server.access)
  const operator = await MeasuredOperator.start(server.access, settings)
  const scraping = new AbortController()
  const scrapes = scraped === undefined ? undefined : scrape(scraped, scraping.signal)
  await operator.create(warmUp, 16)
  const burst = await operator.create(Number(flags.burst), 16)
  const sequence = await operator.create(Number(flags.sequence), 1)
  const { rss, heap } = await operator.usage('collect')
  scraping.abort()
  await scrapes
  await operator.stop()
  return { burst, sequence, rss, heap }
}

async function scrape(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const text = await (await fetch(url)).text()
    check(text.includes('kopf_handler_calls_total'), 'the metrics are incomplete')
    await sleep(1000, undefined, { signal }).catch(() => {})
  }
}

async function benchMetrics(): Promise<string> {
  const names = flags.only === '' ? Object.keys(rows) : flags.only.split(',')
  const results = new Map<string, Measured[]>(names.map((name) => [name, []]))
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    for (let index = 0; index < names.length; index += 1) {
      const name = names[(index + round) % names.length]!
      results.get(name)!.push(await measure(rows[name]!))
    }
  }
  const base = results.get(names[0]!)!
  const cells = (name: string, field: keyof Measured, write: (value: number) => string): readonly string[] => {
    const values = results.get(name)!.map((one) => one[field])
    const written = `${write(median(values))} (${write(Math.min(...values))} to ${write(Math.max(...values))})`
    if (name === names[0]) return [written, '']
    // The rounds are compared one by one: what slows one round down slows all of its rows down.
    const differences = values.map((value, index) => value - base[index]![field])
    const ratios = values.map((value, index) => (value / base[index]![field] - 1) * 100)
    const isCpu = field === 'burst' || field === 'sequence'
    return [written, isCpu ? `${median(ratios).toFixed(1)} %` : `${(median(differences) / 1e6).toFixed(1)} MB`]
  }
  const microseconds = (value: number) => `${whole(value)} µs`
  const megabytes = (value: number) => `${(value / 1e6).toFixed(1)} MB`
  return [
    `Node ${process.version}, load average ${loadAverage()}, ${flags.rounds} rounds, median (least to most) and median difference`,
    '',
    toMarkdown({
      title: 'Observability',
      head: [
        '',
        `CPU per object, burst of ${flags.burst}`,
        'more',
        `CPU per object, ${flags.sequence} in sequence`,
        'more',
        'RSS',
        'more',
        'heap',
        'more',
      ],
      rows: names.map((name) => [
        rows[name]!.title,
        ...cells(name, 'burst', microseconds),
        ...cells(name, 'sequence', microseconds),
        ...cells(name, 'rss', megabytes),
        ...cells(name, 'heap', megabytes),
      ]),
    }),
    '',
  ].join('\n')
}

/** The address must be known before the operator has started. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const parts = flags.parts.split(',')
if (parts.includes('metrics')) process.stdout.write(`${await benchMetrics()}\n`)
if (parts.includes('dashboard')) {
  const options = { rounds: Number(flags.rounds), objects: Number(flags.objects), seconds: Number(flags.seconds) }
  process.stdout.write(`${await benchDashboard(options)}\n`)
}
if (parts.includes('tracing')) {
  const script = new URL('tracing.ts', import.meta.url)
  const args = ['--import', 'tsx', '--conditions=source', script.pathname, '--rounds', flags.rounds]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
}
