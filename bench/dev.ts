/**
 * `kopf dev`: measures the time from saving a file to the first handler call of the reloaded operator, and the memory of its
 * processes over many saves. The pause between two saves lets `kopf dev` start the next process in advance; a second argument of 0
 * removes the pause. Run by `npm run bench:dev`, which builds first, so that the published code is measured.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadAverage, median, quantile, rssBytes } from './lib/measure.ts'

const saves = Number(process.argv[2] ?? 100)
const pauseMs = Number(process.argv[3] ?? 500)
const folder = mkdtempSync(join(tmpdir(), 'kopf-bench-dev-'))

const save = (number: number): void =>
  writeFileSync(join(folder, 'number.ts'), `export const number: number = ${number}\n`)

writeFileSync(
  join(folder, 'operator.ts'),
  `import { Operator } from 'kopf'
import { number } from './number.ts'
const kopf = new Operator()
kopf.on.resume('configmaps', () => console.log('called', number, Date.now()))
export default kopf
`,
)
writeFileSync(join(folder, 'objects.yaml'), '{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}')
save(0)

const command = [resolve('dist/cli/main.js'), 'dev', 'operator.ts', '--apply', 'objects.yaml', '-n', 'default']
const child = spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
let output = ''
let wake = (): void => {}
child.stdout.setEncoding('utf8').on('data', (text: string) => {
  output += text
  wake()
})

async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise<void>((resolve) => (wake = resolve))
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

const memory = (): string => {
  const [own, children] = [[child.pid!], childrenOf(child.pid!)].map((pids) => Math.round(rssBytes(pids) / 1e6))
  return `${own} MB, and ${children} MB in its children`
}

await until(() => output.includes('started in'))
console.log(`at the start: ${memory()}, load ${loadAverage()}`)
const tookMs: number[] = []
for (let number = 1; number <= saves; number += 1) {
  await sleep(pauseMs)
  output = ''
  const savedMs = Date.now()
  save(number)
  const called = new RegExp(`called ${number} (\\d+)`)
  await until(() => called.test(output) && output.includes('reloaded in'))
  tookMs.push(Number(called.exec(output)![1]) - savedMs)
  if (number % Math.ceil(saves / 5) === 0) console.log(`after ${number} saves: ${memory()}`)
}
console.log(
  `from save to handling: median ${median(tookMs)} ms, 95 % ${quantile(tookMs, 0.95)} ms, ` +
    `max ${Math.max(...tookMs)} ms; load ${loadAverage()}`,
)
child.kill('SIGTERM')
child.once('close', () => rmSync(folder, { recursive: true, force: true }))
