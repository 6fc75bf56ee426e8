/**
 * `kopf build`: measures the size of the built files, and the time from the start of the process to the first watch of the operator's resource,
 * next to `kopf run` with the same TypeScript file. The embedded server runs in this process, the operators in processes of their own.
 * `npm run bench:build -- [--runs 21]`, which builds the package first, so that the published code is measured.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type RunningServer, startServer } from 'kopf/server'
import { loadObjects } from '../src/server/load.ts'
import { parseYaml } from '../src/util/yaml.ts'
import { cpuMs, loadAverage, median } from './lib/measure.ts'
import { formatMs, type Table, toMarkdown, whole } from './lib/tables.ts'

const { values: flags } = parseArgs({ options: { runs: { type: 'string', default: '21' } } })
const runs = Number(flags.runs)
const kopf = resolve('dist/cli/main.js')

interface Sample {
  readonly title: string
  readonly source: string
  readonly resource: string
}

const samples: readonly Sample[] = [
  { title: '`examples/01-minimal`', source: 'examples/01-minimal/operator.ts', resource: 'kopfexamples' },
  { title: 'the template, with zod', source: 'templates/operator/operator.ts', resource: 'greetings' },
]

/** A project with the sample, and a folder with nothing but the built files. */
function buildSample({ source }: Sample, folder: string): { readonly project: string; readonly built: string } {
  const project = join(folder, 'project')
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  symlinkSync(resolve('.'), join(project, 'node_modules/kopf'))
  symlinkSync(resolve('node_modules/zod'), join(project, 'node_modules/zod'))
  writeFileSync(join(project, 'package.json'), '{ "name": "sample", "version": "1.0.0", "type": "module" }')
  cpSync(source, join(project, 'operator.ts'))
  execFileSync(process.execPath, [kopf, 'build', 'operator.ts'], { cwd: project, stdio: 'pipe' })
  const built = join(folder, 'built')
  cpSync(join(project, 'dist'), built, { recursive: true })
  return { project, built }
}

interface Start {
  /** From the start of the process to the arrival of the watch at the server. */
  readonly tookMs: number
  /** The CPU time of the process until then: it depends less on other load of the machine. */
  readonly usedMs: number
}

async function measureStart(
  server: RunningServer,
  resource: string,
  args: readonly string[],
  cwd: string,
): Promise<Start> {
  const startMs = Date.now()
  const child = spawn(process.execPath, args, { cwd, stdio: 'ignore' })
  const exit = new Promise<void>((done) => child.once('close', () => done()))
  for (;;) {
    const watch = server.api.requests
      .last({})
      .find((one) => one.verb === 'watch' && one.resource.startsWith(resource) && one.time >= startMs)
    if (watch !== undefined) {
      const usedMs = cpuMs([child.pid!])
      child.kill('SIGTERM')
      await exit
      return { tookMs: watch.time - startMs, usedMs }
    }
    if (child.exitCode !== null) throw new Error(`The operator has ended with the code ${child.exitCode}`)
    await sleep(2)
  }
}

async function measureStarts(
  server: RunningServer,
  sample: Sample,
  folder: string,
): Promise<readonly (readonly string[])[]> {
  const { project, built } = buildSample(sample, folder)
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, server.kubeconfig)
  const options = ['--all-namespaces', '--kubeconfig', kubeconfig]
  const programs = [
    { title: `${sample.title}, \`node operator.js\``, args: ['operator.js', ...options], cwd: built },
    {
      title: `${sample.title}, \`kopf run operator.ts\``,
      args: [kopf, 'run', 'operator.ts', ...options],
      cwd: project,
    },
  ]
  const results = programs.map((): Start[] => [])
  for (let run = 0; run < runs; run += 1)
    for (const [index, { args, cwd }] of programs.entries())
      results[index]!.push(await measureStart(server, sample.resource, args, cwd))
  return programs.map(({ title }, index) => {
    const tookMs = results[index]!.map((one) => one.tookMs)
    const cpu = median(results[index]!.map((one) => one.usedMs))
    return [
      title,
      formatMs(median(tookMs)),
      formatMs(Math.min(...tookMs)),
      formatMs(cpu),
      index === 0 ? '≤ 200 ms' : '',
    ]
  })
}

function measureSize({ title }: Sample, folder: string): readonly string[] {
  const built = join(folder, 'built')
  const names = readdirSync(built)
  const total = names.reduce((sum, name) => sum + statSync(join(built, name)).size, 0)
  const compressed = names.reduce((sum, name) => sum + gzipSync(readFileSync(join(built, name))).length, 0)
  const size = (name: string) => `${whole(statSync(join(built, name)).size / 1000)} kB`
  const sizes = ['operator.js', 'operator.js.map', 'operator.sbom.json'].map(size)
  return [title, ...sizes, `${whole(total / 1000)} kB`, `${whole(compressed / 1000)} kB`, '≤ 2,000 kB']
}

const folder = mkdtempSync(join(tmpdir(), 'kopf-bench-build-'))
const server = await startServer()
try {
  for (const file of ['examples/01-minimal/object.yaml'])
    await loadObjects(server.api, parseYaml(readFileSync(file, 'utf8')) as never)
  const crd = execFileSync(process.execPath, [kopf, 'crd', 'templates/operator/operator.ts'], { encoding: 'utf8' })
  await loadObjects(server.api, parseYaml(crd) as never)
  const before = loadAverage()
  const starts: (readonly string[])[] = []
  const sizes: (readonly string[])[] = []
  for (const [index, sample] of samples.entries()) {
    const place = join(folder, String(index))
    starts.push(...(await measureStarts(server, sample, place)))
    sizes.push(measureSize(sample, place))
  }
  const tables: readonly Table[] = [
    { title: 'Built files', head: ['', 'program', 'source map', 'SBOM', 'all', 'compressed', 'aim'], rows: sizes },
    {
      title: `From the start of the process to the first watch, ${runs} times`,
      head: ['', 'median', 'least', 'CPU', 'aim'],
      rows: starts,
    },
  ]
  console.log(
    `Node ${process.version}, ${cpus().length} cores; load average ${before} before, ${loadAverage()} after.\n`,
  )
  console.log(tables.map(toMarkdown).join('\n'))
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
