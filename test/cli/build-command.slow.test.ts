/** `kopf build`: the program that it writes runs in an empty folder, with the options of `kopf run`. */
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { KopfCommand, RunCommand, useFolder } from './run-support.ts'

const objects = resolve('examples/01-minimal/object.yaml')
const folder = useFolder()

const operator = `
import { readFileSync } from 'node:fs'
import { inWorker, Operator } from 'kopf'
import { z } from 'zod'
import packaged from 'cjs-package'
import greeting from './greeting.txt'
import { helper } from './lib/helper.ts'

enum Level { High = 'high' }
const answer = await Promise.resolve(42)
const kopf = new Operator()

kopf.on.create('kopfexamples', function greet({ logger, spec }) {
  const { field } = z.object({ field: z.string() }).parse(spec)
  logger.info(\`greeted \${field} \${answer} \${Level.High} \${greeting.trim()} \${packaged.size()}\`)
  logger.info(readFileSync(new URL('./data/message.json', import.meta.url), 'utf8').trim())
})
const arrow = ({ logger }) => logger.info(helper())
kopf.on.create('kopfexamples', arrow)
kopf.on.create('kopfexamples', inWorker(new URL('./heavy.ts', import.meta.url)))
kopf.on.create('kopfexamples', async function broken({ name }: { name: string }) {
  await Promise.resolve()
  fail(name)
})
function fail(name: string): never {
  throw new RangeError(name + ' is too far')
}
export default kopf
`

const files = {
  'package.json': JSON.stringify({ name: 'databases', version: '1.2.0', type: 'module', private: true }),
  'operator.ts': operator,
  'greeting.txt': 'from a text file\n',
  'data/message.json': '{ "message": "from a file beside it" }\n',
  'lib/helper.ts': `
import { inWorker } from 'kopf'
export const helper = (): string => 'helped by ' + import.meta.url.split('/').at(-2)
export const nested = inWorker(new URL('./nested.ts', import.meta.url), { name: 'compute' })
`,
  'lib/nested.ts': `export function compute({ logger }: { logger: { info(text: string): void } }): void { logger.info('computed in a thread') }\n`,
  'heavy.ts': `
import { TemporaryError, type WorkerArgs } from 'kopf'
import { z } from 'zod'
export default function ({ logger, retry, spec }: WorkerArgs<'create', 'kopfexamples'>): void {
  if (retry === 0) throw new TemporaryError('not yet', { delay: 0 })
  logger.info('in a thread: ' + z.string().parse(spec['field']))
}
`,
  'second.ts': `
import { Operator } from 'kopf'
import { nested } from './lib/helper.ts'
const kopf = new Operator()
export default kopf
kopf.on.create('kopfexamples', nested)
kopf.on.create('kopfexamples', { id: 'second' }, ({ logger }) => logger.info('from the second file'))
`,
  'node_modules/cjs-package/package.json': JSON.stringify({ name: 'cjs-package', version: '3.2.1', license: 'ISC' }),
  'node_modules/cjs-package/index.js':
    "const fs = require('fs')\nexports.size = () => fs.existsSync(__dirname + '/nothing')\n",
}

function install(...packages: readonly string[]): void {
  mkdirSync(join(folder.path, 'node_modules'), { recursive: true })
  for (const name of packages) symlinkSync(resolve('node_modules', name), join(folder.path, 'node_modules', name))
}

interface Built {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

async function build(...args: readonly string[]): Promise<Built> {
  const one = new KopfCommand(folder, ['build', ...args])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

/** Moves the built files into an empty folder, where no package can be found. */
function moveOut(): { readonly path: string; readonly temporary: string } {
  const path = join(folder.path, 'empty')
  cpSync(join(folder.path, 'dist'), path, { recursive: true })
  rmSync(join(folder.path, 'node_modules'), { recursive: true, force: true })
  return { path: realpathSync(path), temporary: folder.temporary }
}

/** Runs the built program. */
function start(
  place: { readonly path: string; readonly temporary: string },
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): KopfCommand {
  return new KopfCommand({ ...place, command: ['operator.js'] }, args, variables)
}

/** Starts the embedded server in another process, and returns its kubeconfig. */
async function serve(): Promise<string> {
  const kubeconfig = join(folder.path, 'kubeconfig')
  await new KopfCommand(folder, ['server', '--kubeconfig', kubeconfig, '-f', objects]).until(/is ready at/)
  return kubeconfig
}

const handlerIds = (log: string): string[] =>
  [...new Set([...log.matchAll(/Handler '([^']+)' succeeded/g)].map(([, id]) => id!))].sort()

beforeEach(() => folder.write(files))

describe('kopf build', { timeout: 120_000 }, () => {
  test('a built operator runs in an empty folder with its packages, files, worker modules and stack traces', async () => {
    install('zod')
    const built = await build('operator.ts', 'second.ts')
    expect([built.exit, built.stderr]).toEqual([0, expect.stringContaining('lib/helper.ts uses its own path')])
    const place = moveOut()
    expect(readdirSync(place.path, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      'data',
      'data/message.json',
      'heavy.js',
      'heavy.js.map',
      'lib',
      'lib/nested.js',
      'lib/nested.js.map',
      'operator.js',
      'operator.js.map',
      'operator.sbom.json',
      'package.json',
    ])
    const kubeconfig = await serve()
    const one = start(place, ['-n', 'default', '--kubeconfig', kubeconfig])
    await one.until(/is too far\n {4}at/)
    for (const id of ['greet', 'arrow', 'heavy', 'compute', 'second'])
      await one.until(new RegExp(`Handler '${id}' succeeded`))
    expect(one.stderr).toContain('greeted value 42 high from a text file false')
    expect(one.stderr).toContain('{ "message": "from a file beside it" }')
    expect(one.stderr).toContain('helped by lib')
    expect(one.stderr).toContain("Handler 'heavy' failed temporarily: not yet")
    expect(one.stderr).toContain('in a thread: value')
    expect(one.stderr).toContain('computed in a thread')
    expect(one.stderr).toContain('from the second file')
    expect(one.stderr).toMatch(
      /RangeError: kopf-example-1 is too far\n {4}at fail \(.*\/empty\/operator\.ts:26:9\)\n {4}at .*broken \(.*\/empty\/operator\.ts:23:3\)\n( {4}at process\.processTicks.*\n)?\[/,
    )
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('a built operator creates spans with the OpenTelemetry SDK in its program, in an empty folder', async () => {
    install('@opentelemetry')
    folder.write({
      'operator.ts': `
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { Operator } from 'kopf'
const exporter = {
  export: (spans, done) => {
    for (const { name } of spans) process.stderr.write('span: ' + name + '\\n')
    done({ code: 0 })
  },
  shutdown: async () => {},
}
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
const kopf = new Operator()
export default kopf
kopf.on.create('kopfexamples', { id: 'provision' }, () => {})
`,
    })
    expect((await build('operator.ts')).exit).toBe(0)
    const place = moveOut()
    const one = start(place, ['-n', 'default', '--kubeconfig', await serve()])
    await one.until(/span: create kopfexamples\.kopf\.dev/)
    expect(one.stderr).toContain('span: create provision')
    expect(one.stderr).toContain('span: PATCH /apis/kopf.dev/v1/namespaces/{namespace}/kopfexamples/{name}')
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('a built operator has the same handler ids as under kopf run', async () => {
    install('zod')
    const names = `
import { Operator } from 'kopf'
const kopf = new Operator()
export default kopf
const on = (fn) => kopf.on.create('kopfexamples', fn)
function declared() {}
const arrow = () => {}
let assigned
assigned = () => {}
const object = { method() {}, property: () => {}, ['computed' + 1]() {} }
class Handlers { static fixed() {} static field = () => {}; instance() {} }
for (const fn of [declared, arrow, assigned, object.method, object.property, object.computed1]) on(fn)
for (const fn of [Handlers.fixed, Handlers.field, new Handlers().instance, function expression() {}]) on(fn)
{ function declared2() {} on(declared2) }
`
    folder.write({ 'operator.ts': names })
    const running = await new RunCommand(folder, ['operator.ts', '--embedded', '--apply', objects]).until(
      /creation is processed|Creation is processed/i,
    )
    running.send('SIGTERM')
    await running.exit
    await build('operator.ts')
    const kubeconfig = await serve()
    const one = await start(moveOut(), ['-A', '--kubeconfig', kubeconfig]).until(/creation is processed/i)
    expect(handlerIds(one.stderr)).toEqual(handlerIds(running.stderr))
    expect(handlerIds(one.stderr).length).toBeGreaterThan(9)
  })

  test('a built operator that is copied alone, without its source map and package.json, runs as well', async () => {
    folder.write({
      'operator.ts':
        "import { Operator } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.create('kopfexamples', function one() { throw new Error('no map') })\n",
    })
    await build('operator.ts')
    const place = moveOut()
    for (const name of ['operator.js.map', 'package.json', 'operator.sbom.json']) rmSync(join(place.path, name))
    const one = await start(place, ['-A'], { KUBECONFIG: await serve() }).until(/Error: no map\n {4}at one/)
    expect(one.stderr).toMatch(/at one \(file:.*operator\.js:\d+:\d+\)/)
    expect(one.stderr).not.toMatch(/reparsing/i)
  })

  test('a built operator reads the environment variables of kopf run, and its log can be JSON', async () => {
    install('zod')
    await build('operator.ts')
    const variables = { KUBECONFIG: await serve(), KOPF_RUN_NAMESPACES: 'default', KOPF_RUN_LOG_FORMAT: 'json' }
    const one = await start(moveOut(), [], variables).until(/greeted value/)
    for (const line of one.stderr.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
    expect(one.stderr).not.toContain('Serving the whole cluster')
  })

  test('the exit codes and messages of a built operator are those of kopf run', async () => {
    install('zod')
    const startup =
      "import { Operator, PermanentError } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.startup(() => { throw new PermanentError('no database') })\nkopf.on.event('kopfexamples', () => {})\n"
    folder.write({ 'operator.ts': startup })
    await build('operator.ts')
    const kubeconfig = await serve()
    const place = moveOut()
    for (const args of [
      ['--frobnicate'],
      ['-n', 'a', '-A'],
      ['--liveness', 'nonsense'],
      ['--kubeconfig', 'missing.yaml'],
      ['-A', '--kubeconfig', kubeconfig],
    ]) {
      const ours = start(place, args)
      const theirs = new RunCommand(folder, ['operator.ts', ...args])
      expect([args, await ours.exit]).toEqual([args, await theirs.exit])
      const withoutPlace = (text: string) =>
        text.replaceAll(/\[[\d :,T-]+[^\]]*\] ?|\/\S+/g, '').replace(', or run without any cluster: --embedded', '')
      expect(withoutPlace(ours.stderr)).toBe(withoutPlace(theirs.stderr))
    }
  })

  test('the files, modules and embedded server of kopf run are no options of a built operator', async () => {
    install('zod')
    await build('operator.ts')
    const place = moveOut()
    for (const args of [['operator.ts'], ['--embedded'], ['--module', 'a'], ['--apply', 'b']])
      expect([args, await start(place, args).exit]).toEqual([args, 2])
    const help = start(place, ['--help'])
    expect(await help.exit).toBe(0)
    expect(help.stdout).toMatch(/^Usage: node operator\.js \[options\]/)
    expect(help.stdout).toContain('KOPF_RUN_NAMESPACES')
    expect(help.stdout).not.toMatch(/embedded|KOPF_RUN_MODULES/)
    const version = start(place, ['--version'])
    await version.exit
    expect(version.stdout).toMatch(/^databases 1\.2\.0 \(kopf \d+\.\d+\.\d+\)\n$/)
  })

  test('a stray error of a built operator stops it with the exit code 1', async () => {
    folder.write({
      'operator.ts':
        "import { Operator } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.create('kopfexamples', function one() { void Promise.reject(new Error('stray')) })\n",
    })
    await build('operator.ts')
    const one = start(moveOut(), ['-A'], { KUBECONFIG: await serve() })
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain("Handler 'one' left behind a promise that was rejected: stray")
  })
})

describe('the report of kopf build', { timeout: 60_000 }, () => {
  test('kopf build prints the sizes by package and the written files', async () => {
    install('zod')
    const { stdout } = await build('operator.ts', '--outfile', 'out/main.js')
    expect(stdout).toMatch(
      /By package:\n {2}zod \d\S+ +\d+\.\d kB\n {2}kopf \d\S+ +\d+\.\d kB\n {2}operator +\d+\.\d kB\n/,
    )
    expect(stdout).toMatch(/ {2}cjs-package 3\.2\.1 +\d+\.\d kB\n/)
    expect(stdout).toMatch(
      /Built out\/main\.js in \d+\.\d s: \d+\.\d kB, \d+\.\d kB compressed; \d+\.\d kB with all files\./,
    )
  })

  test('kopf build --json prints the report as JSON, and --metafile writes the metafile of esbuild', async () => {
    install('zod')
    const { stdout } = await build('operator.ts', '--json', '--metafile', 'meta.json')
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ outfile: 'dist/operator.js', external: [] })
    expect(report.packages.map(({ name }: { name: string }) => name)).toEqual([
      'zod',
      'kopf',
      'operator',
      'cjs-package',
    ])
    expect(report.bytes).toBe(readFileSync(join(folder.path, 'dist/operator.js')).length)
    expect(Object.keys(JSON.parse(readFileSync(join(folder.path, 'meta.json'), 'utf8')).outputs)).toContain(
      'dist/operator.js',
    )
  })

  test('the bill of materials lists the packages in the program with versions and licences, also those in kopf itself', async () => {
    install('zod')
    await build('operator.ts')
    const bom = JSON.parse(readFileSync(join(folder.path, 'dist/operator.sbom.json'), 'utf8'))
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
    expect(bom.metadata.component).toMatchObject({ type: 'application', name: 'databases', version: '1.2.0' })
    const licences = Object.fromEntries(
      bom.components.map((one: { name: string; licenses: unknown }) => [one.name, one.licenses]),
    )
    const mit = [{ license: { id: 'MIT' } }]
    expect(licences).toMatchObject({
      kopf: mit,
      zod: mit,
      commander: mit,
      'cjs-package': [{ license: { id: 'ISC' } }],
      yaml: [{ license: { id: 'ISC' } }],
    })
    expect(Object.keys(licences)).not.toContain('esbuild')
    expect(Object.keys(licences)).not.toContain('re2js')
  })

  test('two builds of the same sources in different folders write the same files, without the names of the folders', async () => {
    const buildIn = async (name: string) => {
      const path = join(folder.path, name)
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, file)), { recursive: true })
        writeFileSync(join(path, file), text)
      }
      cpSync(resolve('node_modules/zod'), join(path, 'node_modules/zod'), { recursive: true })
      const one = new KopfCommand({ command: folder.command, path, temporary: folder.temporary }, [
        'build',
        'operator.ts',
      ])
      expect(await one.exit).toBe(0)
      const written = readdirSync(join(path, 'dist'), { recursive: true, encoding: 'utf8' }).filter((one) =>
        /\.\w+$/.test(one),
      )
      return written.map((file) => `${file}: ${readFileSync(join(path, 'dist', file), 'utf8')}`)
    }
    const first = await buildIn('project-one')
    const second = await buildIn('project-two')
    expect(first.length).toBeGreaterThan(6)
    expect(first.every((text, index) => text === second[index])).toBe(true)
    expect(first.some((text) => text.includes('project-one'))).toBe(false)
  })
})

describe('packages that cannot be bundled', { timeout: 60_000 }, () => {
  const importing = (name: string) =>
    `import { Operator } from 'kopf'\nimport thing from '${name}'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.startup(function load({ logger }) { logger.info('loaded ' + thing.name) })\nkopf.on.event('kopfexamples', () => {})\n`

  test('a package with a native add-on is left out, and the command that installs it is printed', async () => {
    folder.write({
      'operator.ts': importing('native-package'),
      'node_modules/native-package/package.json': JSON.stringify({ name: 'native-package', version: '7.0.1' }),
      'node_modules/native-package/index.js':
        "const fail = () => require('./addon.node')\nmodule.exports = { name: 'native', fail }\n",
      'node_modules/native-package/addon.node': 'not really',
    })
    const { exit, stderr } = await build('operator.ts')
    expect([exit, stderr]).toEqual([
      0,
      'Not in the program, and imported from node_modules beside it:\n' +
        '  native-package 7.0.1: it has a native add-on\n' +
        'Install them there: npm install --prefix dist native-package@7.0.1\n',
    ])
    expect(JSON.parse(readFileSync(join(folder.path, 'dist/package.json'), 'utf8')).dependencies).toEqual({
      'native-package': '7.0.1',
    })
    cpSync(join(folder.path, 'node_modules'), join(folder.path, 'dist/node_modules'), { recursive: true })
    await start(moveOut(), ['-A'], { KUBECONFIG: await serve() }).until(/loaded native/)
  })

  test('a package that is built by node-gyp is left out without a look into it', async () => {
    folder.write({
      'operator.ts': importing('gyp-package'),
      'node_modules/gyp-package/package.json': JSON.stringify({
        name: 'gyp-package',
        version: '1.0.0',
        dependencies: { 'node-gyp-build': '1' },
      }),
      'node_modules/gyp-package/index.js': "module.exports = require('node-gyp-build')(__dirname)\n",
    })
    expect((await build('operator.ts')).stderr).toContain('  gyp-package 1.0.0: it has a native add-on\n')
  })

  test('--external leaves a package out', async () => {
    folder.write({ 'operator.ts': importing('cjs-package') })
    const { stderr } = await build('operator.ts', '--external', 'cjs-package')
    expect(stderr).toContain('  cjs-package 3.2.1: left out by --external\n')
    expect(readFileSync(join(folder.path, 'dist/operator.js'), 'utf8')).toMatch(/from ?"cjs-package"/)
  })

  test('a require with a name that is not known is a warning with its place', async () => {
    folder.write({
      'operator.ts': importing('cjs-package'),
      'node_modules/cjs-package/index.js': 'exports.load = (name) => require(name)\n',
    })
    const { exit, stderr } = await build('operator.ts')
    expect([exit, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^Warning: node_modules\/cjs-package\/index\.js:1:26: This call to "require" will not be bundled/,
      ),
    ])
  })

  test('a missing package is an error that names the command to install it', async () => {
    folder.write({ 'operator.ts': importing('nowhere') })
    const { exit, stderr } = await build('operator.ts')
    expect(exit).toBe(1)
    expect(stderr).toContain(
      'kopf: Cannot compile operator.ts:2:19: Cannot find the package "nowhere": install it with "npm install nowhere"',
    )
  })

  test.each(['kopf/server', 'kopf/testing'])('an operator that imports %s cannot be built', async (name) => {
    folder.write({ 'operator.ts': importing(name) })
    const { exit, stderr } = await build('operator.ts')
    expect(exit).toBe(1)
    expect(stderr).toMatch(
      new RegExp(
        `^kopf: Cannot compile operator\\.ts:2:19: "${name}" is the .*, which is not part of a program: import it only in`,
      ),
    )
  })
})

describe('usage of kopf build', { timeout: 60_000 }, () => {
  test('kopf build without a file, or with an output that is a source, is a usage error', async () => {
    expect(await build()).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('error: nothing to build. Name a file'),
    })
    folder.write({ 'plain.js': 'export default 1' })
    expect(await build('plain.js', '--outfile', 'plain.js')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('it is a file of the operator, which would be overwritten'),
    })
    expect(await build('operator.ts', '--outfile', 'dist')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('expected a name that ends in .js or .mjs'),
    })
  })

  test('kopf build shows the place of a syntax error', async () => {
    folder.write({ 'operator.ts': 'const a: = 1\n' })
    expect(await build('operator.ts')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('Cannot compile operator.ts:1:10: Unexpected "="'),
    })
  })

  test('kopf build does not change the package.json of the project', async () => {
    install('zod')
    await build('operator.ts', '--outfile', 'operator.js')
    expect(readFileSync(join(folder.path, 'package.json'), 'utf8')).toBe(files['package.json'])
  })

  test('a worker module that would be written to the file of the program is an error', async () => {
    folder.write({
      'operator.ts':
        "import { inWorker, Operator } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nexport const compute = () => {}\nkopf.on.create('kopfexamples', inWorker(new URL('./operator.ts', import.meta.url), { name: 'compute' }))\n",
    })
    const { exit, stderr } = await build('operator.ts')
    expect(exit).toBe(1)
    expect(stderr).toBe(
      'kopf: Cannot build operator.ts: "operator.ts" is imported by worker threads and would be written to the file of the program; choose another one with --outfile\n',
    )
    expect((await build('operator.ts', '--outfile', 'dist/main.js')).exit).toBe(0)
  })

  test('a file that finds others by its path is named in a warning', async () => {
    folder.write({
      'operator.ts':
        "import { readdirSync } from 'node:fs'\nimport { Operator } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.event('kopfexamples', () => void readdirSync(import.meta.dirname))\nnew URL('./missing.yaml', import.meta.url)\n",
    })
    const { stderr } = await build('operator.ts')
    expect(stderr).toContain('Warning: operator.ts uses its own path. Files that it finds by it are not copied')
    expect(stderr).toContain('Warning: operator.ts names the file "./missing.yaml", which does not exist.')
  })
})
