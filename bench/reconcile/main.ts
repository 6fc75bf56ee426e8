/**
 * Reconcilers next to each other on a real control plane: controller-runtime, and ours. See ../README.md.
 * `node --import tsx --conditions=source bench/reconcile/main.ts [--count N] [--only controller-runtime,ours] [--out FILE]`
 */
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { loadAverage } from '../measure.ts'
import { megabytes, type Table, toMarkdown } from '../operators/tables.ts'
import { World } from '../operators/world.ts'
import { type Reconciler, reconcilers } from './contenders.ts'
import { type Life, measureLife, type Part } from './scenario.ts'

const { values: flags } = parseArgs({
  options: { count: { type: 'string', default: '1000' }, only: { type: 'string' }, out: { type: 'string' } },
})

const count = Number(flags.count)

const parts: ReadonlyArray<readonly [keyof Life & ('create' | 'resize' | 'drift' | 'resync' | 'restart'), string]> = [
  ['create', 'created'],
  ['resize', 'its size changed: two children follow'],
  ['drift', 'a child changed by somebody else'],
  ['resync', 'looked at again without a cause'],
  ['restart', 'there at the start'],
]

function toTables(lives: ReadonlyMap<Reconciler, Life>): Table[] {
  const names = [...lives.keys()].map(({ name }) => name)
  const row = (title: string, show: (life: Life) => string) => [title, ...[...lives.values()].map(show)]
  return [
    {
      title: 'Requests for one gadget',
      note: 'Writes; in brackets the refused among them, and reads after the first lists, where there are any',
      head: ['a gadget is …', ...names],
      rows: parts.map(([part, title]) => row(title, (life) => toRequests(life[part]))),
    },
    {
      title: 'CPU for one gadget, and memory',
      head: ['', ...names],
      rows: [
        ...parts.map(([part, title]) => row(title, (life) => `${life[part].cpuMs.toFixed(2)} ms`)),
        row(`memory (RSS) with ${count} gadgets`, (life) => megabytes(life.rssMb)),
        row('the most of it, after a restart', (life) => megabytes(life.peakRssMb)),
      ],
    },
  ]
}

function toRequests({ writes, refused, reads }: Part): string {
  const more = [
    ...(refused > 0 ? [`${refused.toFixed(2)} refused`] : []),
    ...(reads > 0.05 ? [`${reads.toFixed(2)} reads`] : []),
  ]
  return `${writes.toFixed(2)}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

async function main(): Promise<void> {
  const some = flags.only?.split(',') ?? reconcilers.map(({ name }) => name)
  const loadBefore = loadAverage()
  await using world = await World.start({ audit: 'Metadata', isPinned: true })
  const lives = new Map<Reconciler, Life>()
  for (const reconciler of reconcilers.filter(({ name }) => some.includes(name))) {
    console.error(`  ${reconciler.name} ...`)
    reconciler.prepare(world)
    lives.set(reconciler, await measureLife(world, reconciler, count))
  }
  const head =
    `${count} gadgets with three children each; Node ${process.version}, ${cpus().length} cores, the operator alone on one of them; ` +
    `load average ${loadBefore} before, ${loadAverage()} after.`
  const text = [head, '', ...toTables(lives).map(toMarkdown)].join('\n')
  console.log(text)
  if (flags.out !== undefined) await writeFile(flags.out, text)
}

await main()
