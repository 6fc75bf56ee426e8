/**
 * Compares operators on a real control plane: Python's Kopf, a bare Node loop (the baseline), and ours. See ../README.md.
 * `node --import tsx --conditions=source bench/operators/main.ts [--quick] [--scenarios abc] [--only kopf,baseline] [--out FILE]`
 */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { ensureKopf } from '../../tools/kopf/venv.ts'
import { BenchCluster } from '../lib/bench-cluster.ts'
import { loadAverage } from '../lib/measure.ts'
import { type Table, toMarkdown } from '../lib/tables.ts'
import { type Contender, contenders } from './contenders.ts'
import {
  burstTables,
  filteredTable,
  hotObjectTable,
  idleTable,
  manyTable,
  requestsTables,
  type Sizes,
} from './report.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    scenarios: { type: 'string', default: 'abcdefg' },
    only: { type: 'string' },
    out: { type: 'string' },
  },
})

const sizes: Sizes = flags.quick
  ? { rounds: 1, edits: 200, bursts: [200], filtered: 2_000, many: 2_000 }
  : { rounds: 3, edits: 1_000, bursts: [1_000, 5_000], filtered: 20_000, many: 50_000 }

function chosen(): Contender[] {
  const names = flags.only?.split(',') ?? contenders.map(({ name }) => name)
  return contenders.filter(({ name }) => names.includes(name))
}

async function measureAll(some: readonly Contender[]): Promise<Table[]> {
  const tables: Table[] = []
  const wants = (scenario: string): boolean => flags.scenarios.includes(scenario)
  if (wants('a')) {
    await using cluster = await BenchCluster.start({ audit: 'RequestResponse', isPinned: true })
    tables.push(...(await requestsTables(cluster, some)))
  }
  await using cluster = await BenchCluster.start({ audit: 'Metadata', isPinned: true })
  if (wants('b')) tables.push(await hotObjectTable(cluster, some, sizes))
  if (wants('c') || wants('d')) tables.push(...(await burstTables(cluster, some, sizes)))
  if (wants('e')) tables.push(await idleTable(cluster, some, sizes))
  if (wants('f')) tables.push(await filteredTable(cluster, some, sizes))
  if (wants('g')) tables.push(await manyTable(cluster, some, sizes))
  return tables
}

async function main(): Promise<void> {
  await ensureKopf({ onProgress: (line) => console.log(line) })
  const some = chosen()
  if (some.some(({ name }) => name === 'ours')) {
    execFileSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 'inherit', 'ignore'] })
  }
  const loadBefore = loadAverage()
  const tables = await measureAll(some)
  const head = [
    `Node ${process.version}, ${cpus().length} cores, the operator alone on one of them;`,
    `load average ${loadBefore} before, ${loadAverage()} after${flags.quick ? '; --quick: small counts' : ''}.`,
  ]
  const text = [head.join(' '), '', ...tables.map(toMarkdown)].join('\n')
  console.log(text)
  if (flags.out !== undefined) await writeFile(flags.out, text)
}

await main()
