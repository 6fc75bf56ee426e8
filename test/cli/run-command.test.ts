/** `kopf run`, run as a command: operators from files and modules on the embedded server, until they are stopped. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { toKubeconfig } from '../../src/server/kubeconfig.ts'
import { Api } from '../support/api.ts'
import { Folder, RunCommand, stopCommands } from './run-support.ts'

const minimal = 'minimal.ts'
const objects = resolve('examples/01-minimal/object.yaml')
const object = '/apis/kopf.dev/v1/namespaces/default/kopfexamples/kopf-example-1'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
  folder.write({ [minimal]: readFileSync('examples/01-minimal/operator.ts', 'utf8') })
})
afterEach(async () => {
  await stopCommands()
  folder.remove()
})

const greeter = (word: string) =>
  `kopf.on.create('kopfexamples', { id: '${word}' }, ({ logger }) => logger.info('${word}'))\n`
const operatorOf = (word: string, more = '') =>
  `import { Operator } from 'kopf'\n${more}\nconst kopf = new Operator()\n${greeter(word)}export default kopf\n`

/** A copy of the package in the project of the user, other than the one of the command. */
function ownCopy(): Record<string, string> {
  const ours = pathToFileURL(join(inject('package'), 'dist', 'index.js')).href
  return {
    'node_modules/kopf/package.json': JSON.stringify({ name: 'kopf', type: 'module', exports: './index.js' }),
    'node_modules/kopf/index.js': `console.log('its own copy')\nexport * from ${JSON.stringify(ours)}\n`,
  }
}

function embedded(...args: string[]): RunCommand {
  return new RunCommand(folder, [...args, '--embedded', '--apply', objects])
}

function apiOf({ stdout }: RunCommand): Api {
  const path = /export KUBECONFIG=(\S+)/.exec(stdout)![1]!
  const { clusters, users } = JSON.parse(readFileSync(path, 'utf8'))
  const caPem = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
  return new Api({ url: clusters[0].cluster.server, credentials: users[0].user, caPem })
}

async function stop(one: RunCommand, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  one.send(signal)
  expect(await one.exit).toBe(0)
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-'))).toEqual([])
}

describe('kopf run on the embedded server', { timeout: 30_000 }, () => {
  test('kopf run calls the handlers of the default operator and of an operator that it uses, without any export', async () => {
    const register = `import * as kopf from 'kopf'\n${greeter('First')}`
    const part = `const part = new kopf.Operator()\n${greeter('Second').replace('kopf.', 'part.')}`
    folder.write({ 'parts.ts': `${register}${part}kopf.getDefaultOperator().use(part)\n` })
    const one = await embedded('parts.ts').until(/Second/)
    expect(one.stderr).toContain('First')
    await stop(one)
  })

  test('kopf run handles the object of the smallest example, and leaves no files behind', async () => {
    const one = await embedded(minimal).until(/And here we are! value/)
    await one.until(/Creation is processed: 1 succeeded/)
    expect(one.stdout).toContain('customresourcedefinitions.apiextensions.k8s.io/kopfexamples.kopf.dev\n')
    const api = apiOf(one)
    await expect
      .poll(async () => (await api.get(object)).body.status, { timeout: 10_000 })
      .toMatchObject({ greeted: true, create: { message: 'hello world' } })
    api.close()
    await stop(one, 'SIGINT')
  })

  test('kopf run installs the CRDs of the operator, and CRDs in files take precedence', async () => {
    folder.write({
      'operator.ts': [
        "import { Operator, defineResource } from 'kopf'",
        "const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget' })",
        'const kopf = new Operator()',
        "kopf.on.create(Widget, ({ name, logger }) => logger.info('made ' + name))",
        'export default kopf',
      ].join('\n'),
      'widget.json': JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'first' } }),
    })
    const one = new RunCommand(folder, ['operator.ts', '--embedded', '--apply', 'widget.json', '--apply', objects])
    await one.until(/made first/)
    const created = [...one.stdout.matchAll(/^ {2}(\S+\/\S+)$/gm)].map((match) => match[1])
    expect(created).toEqual([
      'customresourcedefinitions.apiextensions.k8s.io/widgets.example.com',
      'customresourcedefinitions.apiextensions.k8s.io/kopfexamples.kopf.dev',
      'widgets.example.com/first',
      'kopfexamples.kopf.dev/kopf-example-1',
    ])
    await stop(one)
  })

  test('kopf run writes the kubeconfig to the path of --kubeconfig', async () => {
    const one = await embedded(minimal, '--kubeconfig', 'dev.kubeconfig').until(/Stop it with/)
    expect(one.stdout).toContain(`export KUBECONFIG=${folder.path}/dev.kubeconfig\n`)
    expect(existsSync(`${folder.path}/dev.kubeconfig`)).toBe(true)
  })

  test('kopf run ends although a timer with idle waits for changes', async () => {
    const timer = "kopf.timer('kopfexamples', { idle: 0.1 }, ({ logger }) => logger.info('Settled'))"
    folder.write({ 'operator.ts': operatorOf('made').replace('export default', `${timer}\nexport default`) })
    const one = await embedded('operator.ts').until(/Timer 'timer' succeeded/)
    await stop(one)
    expect(one.stderr.match(/Settled/g)).toHaveLength(1)
  })
})

describe('loading of operators', { timeout: 30_000 }, () => {
  test('kopf run merges several files and modules into one operator, and loads shared imports once', async () => {
    folder.write({
      'shared.ts': 'export const shared: { count: number } = { count: 0 }\nconsole.log("shared is loaded")\n',
      'one.ts': operatorOf('from-one', "import { shared } from './shared.ts'\nconsole.log('loaded', ++shared.count)"),
      'two.mjs': operatorOf('from-two'),
      'three.ts': `import * as kopf from 'kopf'\nimport { shared } from './shared.js'\nconsole.log('loaded', ++shared.count)\n${greeter('from-three')}`,
      'node_modules/four/package.json': JSON.stringify({ type: 'module', exports: './index.js' }),
      'node_modules/four/index.js': operatorOf('from-four'),
      ...ownCopy(),
    })
    const one = embedded('one.ts', 'two.mjs', '-m', './three.ts', '-m', 'four')
    for (const word of ['one', 'two', 'three', 'four']) await one.until(new RegExp(`from-${word}`))
    expect(one.stdout.match(/^(shared is loaded|loaded \d)$/gm)).toEqual(['shared is loaded', 'loaded 1', 'loaded 2'])
    await stop(one)
  })

  test('a file in kopf run has its own import.meta, and can import files beside it', async () => {
    folder.write({
      'package.json': JSON.stringify({ type: 'module' }),
      'deep/data.json': '{"beside":true}',
      'deep/operator.ts': operatorOf(
        'ready',
        [
          "import { readFileSync } from 'node:fs'",
          "import { createRequire } from 'node:module'",
          'const require = createRequire(import.meta.url)',
          'enum Colour { Red = "red" }',
          'console.log(import.meta.url, import.meta.dirname, import.meta.filename, Colour.Red)',
          "console.log(readFileSync(new URL('./data.json', import.meta.url), 'utf8'), require('./data.json').beside)",
        ].join('\n'),
      ),
    })
    const one = await embedded('deep/operator.ts').until(/ready/)
    const path = `${folder.path}/deep`
    expect(one.stdout).toContain(
      `${folder.url('deep/operator.ts')} ${path} ${path}/operator.ts red\n{"beside":true} true\n`,
    )
    await stop(one)
  })

  test('kopf run runs plain JavaScript without packages beside it', async () => {
    folder.write({ 'operator.mjs': operatorOf('ready') })
    await stop(await embedded('operator.mjs').until(/ready/))
  })

  test('kopf run uses the copy of the package that is installed in the project', async () => {
    folder.write({ 'operator.ts': operatorOf('ready'), ...ownCopy() })
    const one = await embedded('operator.ts').until(/ready/)
    expect(one.stdout).toContain('its own copy')
    await stop(one)
  })

  test('kopf run keeps the names of functions, from which handler ids are made', async () => {
    folder.write({
      'operator.ts':
        "import { Operator } from 'kopf'\nconst kopf = new Operator()\nkopf.on.create('kopfexamples', function create_fn() {})\nexport default kopf\n",
    })
    await stop(await embedded('operator.ts').until(/Handler 'create_fn' succeeded/))
  })
})

describe('exit', { timeout: 30_000 }, () => {
  test('kopf run can be stopped while a file is still loading', async () => {
    folder.write({
      'operator.ts': 'console.log("waiting")\nsetInterval(() => {}, 1000)\nawait new Promise(() => {})\n',
    })
    await stop(await embedded('operator.ts').until(/waiting/))
  })

  test('kopf run does not wait for timers of the user', async () => {
    folder.write({ 'operator.ts': operatorOf('ready', 'setInterval(() => {}, 1000)') })
    await stop(await embedded('operator.ts').until(/ready/))
  })

  test('kopf run exits with 1 and the message of a failed startup handler', async () => {
    folder.write({
      'operator.ts': operatorOf('ready', "import { PermanentError } from 'kopf'").replace(
        'export default',
        "kopf.on.startup(() => { throw new PermanentError('no luck') })\nexport default",
      ),
    })
    const one = embedded('operator.ts')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: .*startup.*/m)
    expect(one.stderr).toContain('no luck')
  })
})

describe('kopf run on a cluster', { timeout: 60_000 }, () => {
  test('kopf run takes the cluster from the kubeconfig, and the namespaces from the environment', async () => {
    await using server = await startServer()
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    const options = ['--kubeconfig', 'dev.kubeconfig', '--standalone', '--verbose']
    const one = new RunCommand(folder, [minimal, ...options], { KOPF_RUN_NAMESPACES: 'one two-*' })
    // There is no resource to serve yet; the operator keeps running.
    await expect.poll(() => server.api.requests.last().length, { timeout: 15_000 }).toBeGreaterThan(0)
    expect(one.stderr).not.toContain('Serving the whole cluster')
    await stop(one)
  })

  test('kopf run serves the whole cluster with a warning if no namespaces are given', async () => {
    await using server = await startServer()
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    const one = new RunCommand(folder, [minimal, '--kubeconfig', 'dev.kubeconfig', '--log-format', 'json'])
    await one.until(/Serving the whole cluster/)
    const line = JSON.parse(one.stderr.split('\n').find((text) => text.includes('Serving the whole'))!)
    expect(line).toMatchObject({ severity: 'warn' })
    await stop(one)
  })

  const impatient = operatorOf('ready').replace(
    'new Operator()',
    'new Operator({ settings: { networking: { errorBackoffs: [] } } })',
  )

  test('kopf run warns of a namespace that does not exist, with one request for each name', async () => {
    await using server = await startServer()
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    const args = ['-n', 'defualt', '-n', 'default', '-n', 'team-*', '--kubeconfig', 'dev.kubeconfig']
    const one = await new RunCommand(folder, [minimal, ...args]).until(/does not exist/)
    expect(one.stderr).toContain(
      'The namespace "defualt" does not exist: it is served as soon as it is created; did you mean "default"?\n',
    )
    await stop(one)
    const asked = server.api.requests
      .last()
      .filter(({ method, path }) => method === 'GET' && /v1\/namespaces\/[\w-]+$/.test(path))
    expect(asked.map(({ path }) => path).sort()).toEqual(['/api/v1/namespaces/default', '/api/v1/namespaces/defualt'])
  })

  test('kopf run exits with 1 and a hint if the cluster cannot be reached', async () => {
    const { url } = await startServer().then(async (server) => {
      await server.stop()
      return server
    })
    folder.write({ 'operator.ts': impatient, 'dev.kubeconfig': toKubeconfig({ url }) })
    const one = new RunCommand(folder, ['operator.ts', '-A', '--kubeconfig', 'dev.kubeconfig'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: .*nothing listens at 127\.0\.0\.1:\d+/m)
    expect(one.stderr).toContain('or run without any cluster: --embedded')
    expect(one.stderr).not.toMatch(/^\s+at /m)
  })

  test('kopf run exits with 1 and a hint if the cluster answers 403', async () => {
    await using server = await startServer()
    server.api.faults.add({ effect: { type: 'error', status: 403, message: 'this user may not' } })
    folder.write({ 'operator.ts': impatient, 'dev.kubeconfig': server.kubeconfig })
    const one = new RunCommand(folder, ['operator.ts', '-A', '--kubeconfig', 'dev.kubeconfig'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: .*403.*this user may not/m)
    expect(one.stderr).toContain('a role with these verbs')
    expect(one.stderr).not.toMatch(/^\s+at /m)
  })
})

describe('TypeScript in production', { timeout: 60_000 }, () => {
  const plain =
    "import { Operator } from 'kopf'\nconst kopf = new Operator()\nexport default kopf\nkopf.on.event('kopfexamples', () => {})\n"
  const warning = 'TypeScript is compiled at every start: build the operator once with "npx kopf build operator.ts"'

  test('kopf run of TypeScript in production warns once, and names kopf build', async () => {
    const folder = new Folder()
    folder.write({ 'operator.ts': plain })
    const one = new RunCommand(folder, ['operator.ts', '--embedded'], { NODE_ENV: 'production' })
    await one.until(/kopf build/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
    expect(one.stderr.split(warning)).toHaveLength(2)
    folder.remove()
  })

  test.each([
    ['JavaScript in production', 'operator.js', 'production'],
    ['TypeScript elsewhere', 'operator.ts', 'development'],
  ])('kopf run of %s does not warn', async (_, file, environment) => {
    const folder = new Folder()
    folder.write({ [file]: `${plain}console.log('loaded')\n`, 'package.json': '{ "type": "module" }' })
    const one = new RunCommand(folder, [file, '--embedded'], { NODE_ENV: environment })
    await one.until(/loaded/)
    one.send('SIGTERM')
    await one.exit
    expect(one.stderr).not.toContain('kopf build')
    folder.remove()
  })
})
