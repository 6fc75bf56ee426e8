/**
 * Measures the size of the installed package, and the time to import it and to start its command. See README.md.
 * `npm run bench:package -- [--runs 21] [--out FILE]`: packs the package and installs it into an empty folder from npm's registry.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { ensureKopf, kopfVersion } from '../tools/kopf/venv.ts'
import { check, loadAverage, median } from './lib/measure.ts'
import { formatMs, type Table, toMarkdown, whole } from './lib/tables.ts'

const { values: flags } = parseArgs({ options: { runs: { type: 'string', default: '21' }, out: { type: 'string' } } })
const runs = Number(flags.runs)
const npmFlags = ['--silent', '--no-audit', '--no-fund']

/** A program that starts, does nothing, and exits. */
interface Program {
  readonly title: string
  readonly command: readonly string[]
  readonly cwd: string
  readonly aim?: string
}

interface Cost {
  readonly tookMs: number
  readonly cpuMs: number
}

function install(folder: string): void {
  const npm = (args: readonly string[], cwd: string) =>
    execFileSync('npm', [...args, ...npmFlags], { cwd, stdio: 'pipe' })
  npm(['pack', '--pack-destination', folder], '.')
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  check(tarball !== undefined, 'npm pack wrote no tarball')
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  npm(['install', join(folder, tarball!)], project)
}

function importOf(entry: string): string[] {
  return [process.execPath, '--input-type=module', '--eval', entry === '' ? '' : `await import('${entry}')`]
}

async function listPrograms(project: string): Promise<readonly Program[]> {
  const { python, kopf } = await ensureKopf()
  const own = join(project, 'node_modules/kopf/dist/cli/main.js')
  return [
    { title: 'Node alone', command: importOf(''), cwd: project },
    { title: "`import 'kopf'`", command: importOf('kopf'), cwd: project, aim: '≤ 120 ms more than Node alone' },
    { title: "`import 'kopf/server'`", command: importOf('kopf/server'), cwd: project },
    { title: "`import 'kopf/testing'`", command: importOf('kopf/testing'), cwd: project },
    { title: "`import 'kopf/webhooks'`", command: importOf('kopf/webhooks'), cwd: project },
    { title: "`import '@kubernetes/client-node'`", command: importOf('@kubernetes/client-node'), cwd: resolve('.') },
    { title: '`kopf --version`', command: [process.execPath, own, '--version'], cwd: project },
    { title: '`kopf run --help`', command: [process.execPath, own, 'run', '--help'], cwd: project },
    { title: 'Python alone', command: [python, '-c', ''], cwd: project },
    { title: `\`import kopf\` in Python, ${kopfVersion}`, command: [python, '-c', 'import kopf'], cwd: project },
    { title: `\`kopf --version\` of Python, ${kopfVersion}`, command: [kopf, '--version'], cwd: project },
  ]
}

/** Measures with the shell's `time`, which works for every program. */
async function measure({ command, cwd }: Program): Promise<Cost> {
  const script = 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null'
  const { stderr } = await promisify(execFile)('bash', ['-c', script, 'bash', ...command], { cwd })
  const [real, user, system] = stderr.trim().split(' ').map(Number)
  check(!Number.isNaN(real! + user! + system!), `unexpected output: ${stderr}`)
  return { tookMs: real! * 1000, cpuMs: (user! + system!) * 1000 }
}

/** Runs the programs in turn, so that other load of the machine affects all of them. */
async function measureAll(programs: readonly Program[]): Promise<Table> {
  const costs = programs.map((): Cost[] => [])
  for (let run = 0; run < runs; run += 1)
    for (const [index, program] of programs.entries()) costs[index]!.push(await measure(program))
  const rows = programs.map(({ title, aim = '' }, index) => {
    const tookMs = costs[index]!.map((cost) => cost.tookMs)
    const cpuMs = costs[index]!.map((cost) => cost.cpuMs)
    return [title, formatMs(median(tookMs)), formatMs(Math.min(...tookMs)), formatMs(median(cpuMs)), aim]
  })
  return {
    title: `From the start of a process to its end, ${runs} times`,
    head: ['', 'median', 'least', 'CPU', 'aim'],
    rows,
  }
}

function measureSizes(modules: string): Table {
  const size = (...paths: string[]): string => {
    const kilobytes = Number.parseInt(
      execFileSync('du', ['-ck', ...paths], { encoding: 'utf8' }).match(/(\d+)\ttotal/)![1]!,
      10,
    )
    return `${whole(kilobytes)} KB`
  }
  const files = (folder: string, isWanted: (path: string) => boolean): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter(isWanted)
  const kopf = join(modules, 'kopf')
  const parts: ReadonlyArray<readonly [string, readonly string[]]> = [
    ['our code', files(kopf, (path) => path.endsWith('.js') && !path.includes('/libraries/'))],
    ['libraries in it', files(kopf, (path) => path.includes('/libraries/'))],
    ['types', files(kopf, (path) => path.endsWith('.d.ts'))],
  ]
  const rows = [
    ['everything that npm installs', size(modules), whole(files(modules, () => true).length), '≤ 18 MB'],
    ['esbuild, for operators in TypeScript', size(join(modules, 'esbuild'), join(modules, '@esbuild')), '', ''],
    ['kopf', size(kopf), whole(files(kopf, () => true).length), ''],
    ...parts.map(([title, paths]) => [`— ${title}`, size(...paths), whole(paths.length), '']),
  ]
  return { title: 'On disk', head: ['', 'size', 'files', 'aim'], rows }
}

const folder = mkdtempSync(join(tmpdir(), 'kopf-bench-package-'))
try {
  install(folder)
  const project = join(folder, 'project')
  const before = loadAverage()
  const tables = [measureSizes(join(project, 'node_modules')), await measureAll(await listPrograms(project))]
  const head = `Node ${process.version}, ${cpus().length} cores; load average ${before} before, ${loadAverage()} after.`
  const text = [head, '', ...tables.map(toMarkdown)].join('\n')
  console.log(text)
  if (flags.out !== undefined) writeFileSync(flags.out, text)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
