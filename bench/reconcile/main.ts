/**
 * Compares reconcilers on a real control plane: controller-runtime, and ours. See ../README.md.
 * `node --import tsx --conditions=source bench/reconcile/main.ts [--count N] [--only controller-runtime,ours] [--out FILE]`
 */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { BenchCluster } from '../lib/bench-cluster.ts'
import { loadAverage } from '../lib/measure.ts'
import { megabytes, type Table, toMarkdown } from '../lib/tables.ts'
import { type Reconciler, reconcilers } from './contenders.ts'
import { measurePhases, type Phase, type Phases } from './scenario.ts'

const { values: flags } = parseArgs({
  options: { count: { type: 'string', default: '1000' }, only: { type: 'string' }, out: { type: 'string' } },
})

const count = Number(flags.count)

const parts: ReadonlyArray<readonly [keyof Phases & ('create' | 'resize' | 'drift' | 'resync' | 'restart'), string]> = [
  ['create', 'created'],
  ['resize', 'its size changed, two children updated'],
  ['drift', 'a child changed by another client'],
  ['resync', 'periodic resync without changes'],
  ['restart', 'existing at the start'],
]

function toTables(results: ReadonlyMap<Reconciler, Phases>): Table[] {
  const names = [...results.keys()].map(({ name }) => name)
  const row = (title: string, show: (phases: Phases) => string) => [title, ...[...results.values()].map(show)]
  return [
    {
      title: 'Requests for one gadget',
      note: 'Writes; in brackets refused writes, and reads after the first lists, if there are any',
      head: ['a gadget is …', ...names],
      rows: parts.map(([part, title]) => row(title, (phases) => toRequests(phases[part]))),
    },
    {
      title: 'CPU for one gadget, and memory',
      head: ['', ...names],
      rows: [
        ...parts.map(([part, title]) => row(title, (phases) => `${phases[part].cpuMs.toFixed(2)} ms`)),
        row(`memory (RSS) with ${count} gadgets`, (phases) => megabytes(phases.rssMb)),
        row('peak memory after a restart', (phases) => megabytes(phases.peakRssMb)),
      ],
    },
  ]
}

function toRequests({ writes, refused, reads }: Phase): string {
  const more = [
    ...(refused > 0 ? [`${refused.toFixed(2)} refused`] : []),
    ...(reads > 0.05 ? [`${reads.toFixed(2)} reads`] : []),
  ]
  return `${writes.toFixed(2)}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

async function main(): Promise<void> {
  const some = flags.only?.split(',') ?? reconcilers.map(({ name }) => name)
  const loadBefore = loadAverage()
  await using cluster = await BenchCluster.start({ audit: 'Metadata', isPinned: true })
  const results = new Map<Reconciler, Phases>()
  for (const reconciler of reconcilers.filter(({ name }) => some.includes(name))) {
    console.error(`  ${reconciler.name} ...`)
    reconciler.prepare(cluster)
    results.set(reconciler, await measurePhases(cluster, reconciler, count))
  }
  const head =
    `${count} gadgets with three children each; Node ${process.version}, ${cpus().length} cores, the operator alone on one of them; ` +
    `load average ${loadBefore} before, ${loadAverage()} after.`
  const text = [head, '', ...toTables(results).map(toMarkdown)].join('\n')
  console.log(text)
  if (flags.out !== undefined) await writeFile(flags.out, text)
}

await main()
