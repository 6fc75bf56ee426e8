/**
 * Measures what tracing costs an operator. See ../README.md. `npm run bench:tracing -- [--objects 1500] [--rounds 5]`: every round
 * runs one process per mode, each with an operator on an embedded server. The rows are medians.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { parseArgs, promisify } from 'node:util'
import { context, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { Operator } from 'kopf'
import { startCluster } from 'kopf/testing'
import { loadAverage, median } from '../lib/measure.ts'
import { toMarkdown, whole } from '../lib/tables.ts'

const { values: flags } = parseArgs({
  options: {
    objects: { type: 'string', default: '1500' },
    rounds: { type: 'string', default: '5' },
    mode: { type: 'string' },
  },
})

const modes = {
  none: 'no OpenTelemetry in the process',
  api: 'the API without a provider',
  storage: 'an `AsyncLocalStorage` of Node, which the SDK uses',
  off: 'the SDK, sampler `AlwaysOff`',
  on: 'the SDK, all spans, exporter that drops them',
} as const
type Mode = keyof typeof modes

interface Measured {
  readonly microseconds: number
  readonly spans: number
  readonly reads: number
}

const apiKey = Symbol.for('opentelemetry.js.api.1')

/** The number of reads of the global object of the API: the cost without a provider. The counter itself is slow, so that it has a run of its own. */
function countReads(): { reads: number } {
  const counted = { reads: 0 }
  Object.defineProperty(globalThis, apiKey, {
    configurable: true,
    get: () => {
      counted.reads += 1
    },
  })
  return counted
}

function prepare(mode: Mode): { spans: number } {
  const counted = { spans: 0 }
  // The import alone registers nothing.
  if (mode === 'api') void [trace.getActiveSpan(), context.active()]
  if (mode === 'storage') new AsyncLocalStorage().enterWith({})
  if (mode === 'off' || mode === 'on') {
    const exporter = {
      export: (spans: readonly unknown[], done: (result: { code: number }) => void) => {
        counted.spans += spans.length
        done({ code: 0 })
      },
      shutdown: async () => {},
    }
    const sampler = mode === 'off' ? { sampler: new AlwaysOffSampler() } : {}
    new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)], ...sampler }).register()
  }
  return counted
}

async function handle(objects: number): Promise<number> {
  const cluster = await startCluster({ real: false })
  const kopf = new Operator({ settings: { posting: { enabled: false }, logging: { frameworkLevel: 'warn' } } })
  let handled = 0
  kopf.on.create('configmaps', { id: 'c' }, () => {
    handled += 1
  })
  const running = await kopf.start({ ...cluster, logging: { minimumLevel: 'warn', log() {} } })
  await running.ready
  const make = (from: number, count: number) =>
    cluster.apply(
      ...Array.from({ length: count }, (_, index) => {
        const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${from + index}` } }
        return manifest
      }),
    )
  // Warms up the compiler of the engine.
  await make(0, 300)
  await cluster.until(() => handled >= 300, { timeout: '1h', patience: '60s' })
  const before = process.cpuUsage()
  await make(300, objects)
  await cluster.until(() => handled >= 300 + objects, { timeout: '1h', patience: '60s' })
  const { user, system } = process.cpuUsage(before)
  await running.stop()
  await cluster.stop()
  return (user + system) / objects
}

/** The time of one read of the property, in nanoseconds. */
function timeRead(): number {
  const times = Array.from({ length: 9 }, () => {
    const count = 5_000_000
    let found = 0
    const startedAt = performance.now()
    for (let index = 0; index < count; index += 1) {
      if ((globalThis as { readonly [apiKey]?: { trace?: unknown } })[apiKey]?.trace !== undefined) found += 1
    }
    if (found > 0) throw new Error('A provider is registered')
    return ((performance.now() - startedAt) / count) * 1e6
  })
  return median(times)
}

async function measure(mode: string): Promise<Measured> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, import.meta.filename, '--objects', flags.objects, '--mode', mode],
    { maxBuffer: 1 << 24 },
  )
  return JSON.parse(stdout.split('\n').at(-1)!) as Measured
}

async function main(): Promise<void> {
  const results = new Map<Mode, Measured[]>()
  const names = Object.keys(modes) as Mode[]
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    // The next round starts with another mode.
    for (let index = 0; index < names.length; index += 1) {
      const mode = names[(index + round) % names.length]!
      results.set(mode, [...(results.get(mode) ?? []), await measure(mode)])
    }
  }
  const { reads } = await measure('count')
  const base = median(results.get('none')!.map(({ microseconds }) => microseconds))
  const rows = names.map((mode) => {
    const measured = results.get(mode)!
    const cpu = measured.map(({ microseconds }) => microseconds)
    const spread = `${whole(Math.min(...cpu))} to ${whole(Math.max(...cpu))}`
    const more = mode === 'none' ? '' : `${((median(cpu) / base - 1) * 100).toFixed(1)} %`
    return [modes[mode], `${whole(median(cpu))} µs`, spread, more, measured[0]!.spans.toFixed(1)]
  })
  const head = ['', 'CPU per object', 'spread', 'more than without', 'spans per object']
  const nanoseconds = timeRead()
  const share = ((reads * nanoseconds) / 1000 / base) * 100
  process.stdout.write(
    [
      `Node ${process.version}, load average ${loadAverage()}, ${flags.objects} objects, ${flags.rounds} rounds`,
      '',
      toMarkdown({ title: 'Tracing', head, rows }),
      '',
      `Without a provider: ${reads.toFixed(1)} reads of a property per object, ${nanoseconds.toFixed(1)} ns each: ${share.toFixed(4)} % of the CPU of one object`,
      '',
    ].join('\n'),
  )
}

if (flags.mode === undefined) await main()
else {
  const objects = Number(flags.objects)
  const counted = flags.mode === 'count' ? countReads() : { reads: 0 }
  const spans = flags.mode === 'count' ? { spans: 0 } : prepare(flags.mode as Mode)
  const microseconds = await handle(objects)
  const all = objects + 300
  const result: Measured = { microseconds, spans: spans.spans / all, reads: counted.reads / all }
  process.stdout.write(`\n${JSON.stringify(result)}`)
}
