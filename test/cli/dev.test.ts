/** `kopf dev` as people meet it: files are saved, operators come and go, the objects stay. */
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Api } from '../support/api.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

let folder: Folder
beforeEach(() => {
  folder = new Folder()
})
afterEach(async () => {
  await stopCommands()
  folder.remove()
})

const operatorOf = (body: string, options = '') => `import { Operator, defineResource } from 'kopf'
import { word } from './word.ts'
const Widget = defineResource({ group: 'example.com', version: 'v1', kind: 'Widget'${options} })
const kopf = new Operator()
${body}
export default kopf
`
const telling = ['create', 'resume', 'update']
  .map((kind) => `kopf.on.${kind}(Widget, ({ name, logger }) => logger.info(\`${kind}: \${name} \${word}\`))`)
  .join('\n')
const wordOf = (word: string) => `export const word: string = '${word}'\n`
const widget = (size: number) =>
  `{apiVersion: example.com/v1, kind: Widget, metadata: {name: first}, spec: {size: ${size}}}`

function write(files: Readonly<Record<string, string>> = {}): void {
  folder.write({ 'operator.ts': operatorOf(telling), 'word.ts': wordOf('one'), 'objects.yaml': widget(1), ...files })
}

function dev(...args: string[]): KopfCommand {
  return new KopfCommand(folder, ['dev', 'operator.ts', '--apply', 'objects.yaml', ...args])
}

async function stop(one: KopfCommand): Promise<void> {
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-'))).toEqual([])
}

function countOf({ stdout, stderr }: KopfCommand, pattern: RegExp): number {
  return (stdout + stderr).match(pattern)?.length ?? 0
}

describe('what is saved is in effect at once', { timeout: 60_000 }, () => {
  test('a file that the operator imports; the server and its objects stay', async () => {
    write()
    const one = await dev().until(/create: first one/)
    await one.until(/started in \d+ ms: 3 handlers/)
    folder.write({ 'word.ts': wordOf('two') })
    await one.until(/word\.ts changed, reloaded in \d+ ms: 3 handlers/)
    await one.until(/resume: first two/)
    // As most editors save: a new file in the place of the old one.
    folder.write({ 'word.ts.tmp': wordOf('three') })
    renameSync(join(folder.path, 'word.ts.tmp'), join(folder.path, 'word.ts'))
    await one.until(/resume: first three/)
    folder.write({ 'objects.yaml': widget(2) })
    await one.until(/update: first three/)
    await one.until(/objects\.yaml changed, applied in \d+ ms/)
    expect(countOf(one, /create: first/g)).toBe(1)
    await stop(one)
  })

  test('what was registered on the default operator is registered anew, not once more', async () => {
    const script = (word: string) =>
      `import * as kopf from 'kopf'\nkopf.on.resume('configmaps', { id: '${word}' }, ({ logger }) => logger.info('resume: ${word}'))\n`
    const objects = '{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}'
    write({ 'operator.ts': script('one'), 'objects.yaml': objects })
    const one = await dev('-n', 'default').until(/started in \d+ ms: 1 handler$/m)
    folder.write({ 'operator.ts': script('two') })
    await one.until(/reloaded in \d+ ms: 1 handler$/m)
    folder.write({ 'operator.ts': script('three') })
    await one.until(/resume: three/)
    expect(one.stdout).not.toMatch(/[23] handlers/)
    await stop(one)
  })

  test('what is taken out of a file of objects: labels, and on the embedded server objects', async () => {
    const operator = operatorOf(
      `kopf.on.field(Widget, 'metadata.labels', ({ new: labels, logger }) => logger.info('labels: ' + JSON.stringify(labels)))
kopf.on.delete(Widget, ({ name, logger }) => logger.info('delete: ' + name + ' ' + word))`,
    )
    const labelled = (labels: string) =>
      `{apiVersion: example.com/v1, kind: Widget, metadata: {name: first, labels: ${labels}}}`
    const other = '{apiVersion: example.com/v1, kind: Widget, metadata: {name: other}}'
    write({ 'operator.ts': operator, 'objects.yaml': `${labelled('{a: b, c: d}')}\n---\n${other}` })
    const one = await dev().until(/labels: \{"a":"b","c":"d"\}/)
    folder.write({ 'objects.yaml': `${labelled('{a: b}')}\n---\n${other}` })
    await one.until(/labels: \{"a":"b"\}/)
    // Some editors empty a file before they write it.
    folder.write({ 'objects.yaml': '' })
    folder.write({ 'word.ts': wordOf('two') })
    await one.until(/word\.ts changed, reloaded in/)
    expect(one.stdout).not.toMatch(/deleted/)
    folder.write({ 'objects.yaml': `# ${other}\n---\n${labelled('{}')}` })
    await one.until(/deleted widgets\.example\.com\/other$/m)
    await one.until(/delete: other two/)
    await one.until(/labels: (undefined|\{\})/)
    expect(one.stdout).not.toMatch(/deleted widgets\.example\.com\/first/)
    await stop(one)
  })

  test('the definitions of the operator', async () => {
    write()
    const one = await dev().until(/started in/)
    folder.write({ 'operator.ts': operatorOf(telling, ", shortNames: ['wdg']") })
    await one.until(/changed customresourcedefinitions\.apiextensions\.k8s\.io\/widgets\.example\.com/)
    const path = /export KUBECONFIG=(\S+)/.exec(one.stdout)![1]!
    const { clusters, users } = JSON.parse(readFileSync(path, 'utf8'))
    const caPem = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
    const api = new Api({ url: clusters[0].cluster.server, credentials: users[0].user, caPem })
    const { body } = await api.get('/apis/example.com/v1')
    api.close()
    expect(body).toMatchObject({ resources: [{ name: 'widgets', shortNames: ['wdg'] }] })
    await stop(one)
  })

  test('a module of a worker thread', async () => {
    const heavy = (word: string) => `export default ({ logger }) => { logger.info('heavy: ${word}') }\n`
    const register = "kopf.on.resume(Widget, { id: 'heavy' }, inWorker(new URL('./heavy.ts', import.meta.url)))"
    const made = "kopf.on.create(Widget, { id: 'made' }, ({ logger }) => logger.info(word))"
    const operator = operatorOf(`${made}\n${register}`).replace('Operator,', 'Operator, inWorker,')
    write({ 'operator.ts': operator, 'heavy.ts': heavy('one') })
    const one = await dev().until(/Creation is processed/)
    folder.write({ 'word.ts': wordOf('two') })
    await one.until(/heavy: one/)
    folder.write({ 'heavy.ts': heavy('two') })
    await one.until(/heavy\.ts changed, reloaded in/)
    await one.until(/heavy: two/)
    await stop(one)
  })

  test('many saves at once are taken together, and a save without a change is none', async () => {
    write()
    const one = await dev().until(/started in/)
    for (const word of ['a', 'b', 'c', 'd'])
      folder.write({ 'word.ts': wordOf(word), 'operator.ts': operatorOf(telling) })
    await one.until(/resume: first d/)
    folder.write({ 'operator.ts': operatorOf(telling) })
    folder.write({ 'objects.yaml': widget(3) })
    await one.until(/update: first d/)
    expect(countOf(one, /reloaded in/g)).toBeLessThan(4)
    await stop(one)
  })
})

describe('what goes wrong', { timeout: 60_000 }, () => {
  test('a mistake in a file keeps the operator as it was; when it is put right, the new one runs', async () => {
    write()
    const one = await dev().until(/started in/)
    folder.write({ 'word.ts': "export const word = 'broken\n" })
    await one.until(/Cannot compile word\.ts:1:28: Unterminated string literal/)
    await one.until(/The operator goes on as it was before\./)
    folder.write({ 'objects.yaml': widget(2) })
    await one.until(/update: first one/)
    folder.write({ 'operator.ts': operatorOf(telling).replace('./word.ts', './other.ts') })
    await one.until(/Could not resolve "\.\/other\.ts"/)
    // It was not there before: nobody could have watched it.
    folder.write({ 'other.ts': wordOf('other') })
    await one.until(/resume: first other/)
    await stop(one)
  })

  test('a file that throws, objects that are refused, a startup handler that fails', async () => {
    write({ 'word.ts': "export const word = 'x'\nthrow new Error('no luck')\n", 'objects.yaml': widget(1) })
    const one = await dev().until(/Cannot load "operator\.ts": Error: no luck\n {2}at .*word\.ts:2:7/)
    await one.until(/Nothing runs until it is put right\./)
    folder.write({ 'word.ts': wordOf('better') })
    await one.until(/create: first better/)
    folder.write({ 'objects.yaml': '{apiVersion: example.com/v1, kind: Gadget, metadata: {name: first}}' })
    await one.until(/objects\.yaml: Cannot apply Gadget "first": Cannot find the resource Gadget/)
    const failing = "kopf.on.startup(() => { throw new PermanentError('cannot start') })"
    const failed = operatorOf(`${failing}\n${telling}`).replace('Operator,', 'Operator, PermanentError,')
    folder.write({ 'operator.ts': failed })
    await one.until(/startup.* has failed.*cannot start.*\n(.*\n)*Nothing runs until it is put right\./)
    folder.write({ 'operator.ts': operatorOf(telling), 'word.ts': wordOf('good') })
    await one.until(/resume: first good/)
    await stop(one)
  })

  test('an unknown field in a file is refused, on creation and on change, with the file, the object and the field', async () => {
    const map = (size: number, typo = '') =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: first}, ${typo}data: {size: "${size}"}}`
    const problem = /objects\.yaml: Cannot apply ConfigMap "first": .*unknown field "dtaa"/g
    write({ 'objects.yaml': map(1, 'dtaa: {}, ') })
    const one = await dev().until(new RegExp(problem.source))
    folder.write({ 'objects.yaml': map(2) })
    await one.until(/created configmaps\/first/)
    folder.write({ 'objects.yaml': map(3, 'dtaa: {}, ') })
    await one.until(new RegExp(`created configmaps/first[\\s\\S]*${problem.source}`))
    expect(countOf(one, problem)).toBe(2)
    expect(countOf(one, /changed configmaps\/first/g)).toBe(0)
    await stop(one)
  })

  test('a file that never ends loading, and a startup handler that waits, are given up with the next save', async () => {
    write({ 'word.ts': "export const word = 'x'\nconsole.log('loading')\nawait new Promise(() => {})\n" })
    const one = await dev().until(/^loading$/m)
    const waiting = "kopf.on.startup(({ logger }) => { logger.info('waiting'); throw new Error('not yet') })"
    folder.write({ 'word.ts': wordOf('better'), 'operator.ts': operatorOf(`${waiting}\n${telling}`) })
    await one.until(/waiting/)
    folder.write({ 'operator.ts': operatorOf(telling) })
    await one.until(/create: first better/)
    // And back to what has run before: it does not run now.
    folder.write({ 'operator.ts': operatorOf(`${waiting.replace('waiting', 'still waiting')}\n${telling}`) })
    await one.until(/still waiting/)
    folder.write({ 'operator.ts': operatorOf(telling) })
    await one.until(/resume: first better/)
    await stop(one)
  })

  test('handlers and daemons that do not end hold up nobody', async () => {
    const stubborn = [
      "kopf.on.create(Widget, { id: 'stubborn' }, async ({ logger }) => { logger.info('begun'); await new Promise(() => {}) })",
      "kopf.daemon(Widget, { finalizer: false }, async ({ logger }) => { logger.info('daemon'); await new Promise(() => {}) })",
    ].join('\n')
    write({ 'operator.ts': operatorOf(stubborn) })
    const one = await dev().until(/begun/)
    await one.until(/daemon/)
    folder.write({ 'operator.ts': operatorOf(telling) })
    await one.until(/create: first one/)
    await one.until(/Not all of the operator from before has ended/)
    await stop(one)
  })

  test.each<[string, string[], string]>([
    ['a file that is not there', ['dev', 'operater.ts'], 'did you mean "operator.ts"?'],
    ['objects that are not there', ['dev', 'operator.ts', '--apply', 'none.yaml'], 'Cannot read'],
  ])('%s is told at once', async (_, args, message) => {
    write()
    const one = new KopfCommand(folder, args)
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(message)
  })
})

describe('an operator takes nothing with it', { timeout: 60_000 }, () => {
  /** The third save shows that the server, its objects and the command have outlived the operator. */
  async function expectToGoOn(one: KopfCommand): Promise<void> {
    folder.write({ 'operator.ts': operatorOf(telling) })
    // The object is the one from before: its creation was never handled to the end, or it is resumed.
    await one.until(/(create|resume): first one/)
    expect(countOf(one, /created widgets\.example\.com\/first/g)).toBe(1)
    await stop(one)
  }

  test.each([
    [
      'a rejected promise without a handler',
      "Promise.reject(new Error('boom'))",
      /\[default\/first\] Handler 'bad' left behind a promise that was rejected: boom/,
    ],
    [
      'an error in a timer',
      "setTimeout(() => { throw new Error('boom') }, 10)",
      /\[default\/first\] Handler 'bad' left behind code that threw an error: boom/,
    ],
    [
      'process.exit in a handler',
      'process.exit(3)',
      /kopf dev: The process of the operator has ended by itself, with exit code 3\./,
    ],
  ])('%s', async (_, statement, message) => {
    write({ 'operator.ts': operatorOf(`kopf.on.create(Widget, { id: 'bad' }, () => { ${statement}; void word })`) })
    const one = await dev().until(message)
    await one.until(/^Nothing runs until it is put right\.$/m)
    await expectToGoOn(one)
  })

  const looping = "kopf.on.create(Widget, { id: 'bad' }, () => { console.log('begun', word); for (;;); })"

  test('a handler that loops for ever is named, and the next save ends it', async () => {
    write({ 'operator.ts': operatorOf(looping) })
    const one = await dev().until(/\[default\/first\] Handler 'bad' blocks the event loop at .*operator\.ts:5/)
    folder.write({ 'objects.yaml': `${widget(1)}\n---\n${widget(1).replace('first', 'second')}` })
    await one.until(/created widgets\.example\.com\/second/)
    await expectToGoOn(one)
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('%s works while a handler loops for ever', async (signal) => {
    write({ 'operator.ts': operatorOf(looping) })
    const one = await dev().until(/begun one/)
    one.send(signal)
    expect(await one.exit).toBe(0)
    await stop(one)
  })

  test('a file that loops for ever when it is loaded is given up with the next save', async () => {
    write({ 'word.ts': "export const word: string = 'x'\nconsole.log('loading')\nfor (;;);\n" })
    const one = await dev().until(/^loading$/m)
    folder.write({ 'word.ts': wordOf('one') })
    await one.until(/create: first one/)
    await stop(one)
  })

  test('the process of an operator that loops ends with the command, however that ends', async () => {
    write({ 'operator.ts': operatorOf(looping.replace("'begun', word", "'process', process.pid, word")) })
    const one = await dev().until(/process \d+ one/)
    const pid = Number(/process (\d+) one/.exec(one.stdout)![1])
    one.send('SIGKILL')
    await one.exit
    await expect.poll(() => isThere(pid), { timeout: 10_000 }).toBe(false)
  })

  test.runIf(existsSync('/proc/self/environ'))(
    'no credentials are in the arguments or the environment of its process',
    async () => {
      const telling = "kopf.on.create(Widget, () => { console.log('process', process.pid, word) })"
      write({ 'operator.ts': operatorOf(telling) })
      const one = await dev().until(/process \d+ one/)
      const pid = Number(/process (\d+) one/.exec(one.stdout)![1])
      const path = /export KUBECONFIG=(\S+)/.exec(one.stdout)![1]!
      const { token } = JSON.parse(readFileSync(path, 'utf8')).users[0].user
      expect(token).toMatch(/\S{20}/)
      for (const name of ['cmdline', 'environ'])
        expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(token)
      await stop(one)
    },
  )
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
