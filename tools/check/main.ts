/**
 * `npm run check`: runs the scripts `check:*` of package.json in two lanes, since most of them use only one core for a part of their time.
 * Prints the output of each script when it ends, and fails if a script has failed or is in no lane.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** The later scripts of the first lane read what `check:build` writes: the package, and the link to it in `node_modules`. */
const lanes = [
  ['check:build', 'check:package', 'check:types-of-projects', 'check:unused'],
  ['check:types', 'check:lint', 'check:language'],
]

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Readonly<Record<string, string>> }
const forgotten = Object.keys(scripts).filter((name) => name.startsWith('check:') && !lanes.flat().includes(name))
if (forgotten.length > 0) throw new Error(`tools/check/main.ts runs no script ${forgotten.join(', ')}`)

const failed: string[] = []
await Promise.all(lanes.map(runLane))
if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

async function runLane(names: readonly string[]): Promise<void> {
  for (const name of names) {
    // npm has added the folder of the commands to PATH.
    const child = spawn(`${scripts[name]} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    if (output !== '') process.stdout.write(`${name}\n${output}`)
    if (code === 0) continue
    failed.push(name)
    // The others of the lane need the package.
    if (name === 'check:build') return
  }
}
