/**
 * Measures what metrics cost an operator: CPU per handled object, and memory. See ../README.md.
 * `npm run bench:observability -- [--rounds 7] [--burst 6000] [--sequence 800]`. Each round runs one process per row, in another order, against a new
 * embedded server in a separate process, so that a change of the machine's load meets all rows.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Access } from '../lib/connection.ts'
import { gadgetBody, gadgetsPath } from '../lib/gadgets.ts'
import { check, loadAverage, median } from '../lib/measure.ts'
import { installCrd, openConnections, sendAll } from '../lib/requests.ts'
import { toMarkdown, whole } from '../lib/tables.ts'
import { forkBench, nextMessage, startEmbedded } from '../lib/targets.ts'
import type { OperatorMessage } from './operator.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    burst: { type: 'string', default: '6000' },
    sequence: { type: 'string', default: '800' },
    only: { type: 'string', default: '' },
  },
})

/** What an operator has used since its start. */
export interface Usage {
  readonly handled: number
  readonly cpuMicroseconds: number
  readonly rss: number
  readonly heap: number
}

interface Row {
  readonly title: string
  readonly settings: object
  /** Scraped once a second if there is an address. */
  readonly scraped?: string
}

const address = 'http://127.0.0.1:18970'

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
  const operator = forkBench(new URL('operator.ts', import.meta.url))
  operator.send({ access: server.access, settings } satisfies OperatorMessage)
  check((await nextMessage<string>(operator)) === 'ready', 'the operator has not started')
  const usage = (message: 'usage' | 'collect') => {
    operator.send(message)
    return nextMessage<Usage>(operator)
  }
  const scraping = new AbortController()
  const scrapes = scraped === undefined ? undefined : scrape(scraped, scraping.signal)
  let created = 0
  const create = async (count: number, connections: number): Promise<number> => {
    const before = await usage('usage')
    await createGadgets(server.access, { from: created, count, connections })
    created += count
    for (;;) {
      const now = await usage('usage')
      if (now.handled >= created) {
        // The last write and its echo.
        await sleep(200)
        return ((await usage('usage')).cpuMicroseconds - before.cpuMicroseconds) / count
      }
      await sleep(100)
    }
  }
  await create(warmUp, 16)
  const burst = await create(Number(flags.burst), 16)
  const sequence = await create(Number(flags.sequence), 1)
  const { rss, heap } = await usage('collect')
  scraping.abort()
  await scrapes
  const exited = once(operator, 'exit')
  operator.send('stop')
  await exited
  return { burst, sequence, rss, heap }
}

async function createGadgets(
  access: Access,
  { from, count, connections }: { readonly from: number; readonly count: number; readonly connections: number },
): Promise<void> {
  const open = await openConnections(access, connections)
  const requests = Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: gadgetsPath,
    body: gadgetBody(`gadget-${from + index}`, index),
  }))
  await sendAll(open, requests, 201)
  for (const connection of open) connection.close()
}

async function scrape(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const text = await (await fetch(url)).text()
    check(text.includes('kopf_handler_calls_total'), 'the metrics are incomplete')
    await sleep(1000, undefined, { signal }).catch(() => {})
  }
}

async function main(): Promise<void> {
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
  process.stdout.write(
    [
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
    ].join('\n'),
  )
}

await main()
