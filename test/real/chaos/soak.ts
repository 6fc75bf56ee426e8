/**
 * The long soak, run by hand: `node --import tsx --conditions=source test/real/chaos/soak.ts --seconds 120 --seed 1`.
 * Options: `--rows none,all` for some rows, several seeds (`--seed 1,2,3`), `--built` for dist/, `--share 0.3` for more
 * faults, and `--logs FOLDER` for logs and journals.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { type RowName, type RowResult, rows, runRow } from './soak-row.ts'

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    rows: { type: 'string', default: rows.join(',') },
    built: { type: 'boolean', default: false },
    share: { type: 'string', default: '0.1' },
    logs: { type: 'string' },
  },
})

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

const perChange = ({ requests, changes }: RowResult): string => (requests / Math.max(1, changes)).toFixed(2)

async function report(result: RowResult): Promise<void> {
  const { row, seed, wrong, changes, requests, faulted, exits, kills, repeats, settledSeconds } = result
  print(
    `${row.padEnd(7)} seed ${seed}: ${wrong.length} wrong, ${exits} exits by itself; ${changes} changes, ` +
      `${requests} requests (${perChange(result)} per change, ${faulted} with a fault), ${kills} kills, ` +
      `${repeats} repeated after a kill, settled in ${settledSeconds.toFixed(1)} s`,
  )
  for (const problem of wrong.slice(0, 20)) print(`  ${problem}`)
  if (flags.logs === undefined) return
  await writeFile(join(flags.logs, `${row}-${seed}.log`), result.log)
  const journal = result.journal.map((entry) => JSON.stringify(entry)).join('\n')
  await writeFile(join(flags.logs, `${row}-${seed}.journal`), journal)
}

const seconds = Number(flags.seconds)
const share = Number(flags.share)
const plane = await startControlPlane({ onProgress: print })
try {
  for (const seed of flags.seed.split(',')) {
    for (const row of flags.rows.split(',') as RowName[]) {
      await report(await runRow({ plane, row, seed, seconds, share, isBuilt: flags.built }))
    }
  }
} finally {
  await plane.stop()
}
