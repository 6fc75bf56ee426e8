/** `kopf dev`, run as a command: files are saved, the operator is reloaded, the objects stay. */
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Api } from '../support/api.ts'
import {
  countOf,
  dev,
  devFolder,
  operatorOf,
  stop,
  telling,
  useDevFolder,
  widget,
  wordOf,
  write,
} from './dev-support.ts'
import { KopfCommand } from './run-support.ts'

useDevFolder()

describe('reloads in kopf dev', { timeout: 60_000 }, () => {
  test('kopf dev reloads when an imported file is saved, and keeps the server and its objects', async () => {
    write()
    const one = await dev().until(/create: first one/)
    await one.until(/started in \d+ ms: 3 handlers/)
    devFolder().write({ 'word.ts': wordOf('two') })
    await one.until(/word\.ts changed, reloaded in \d+ ms: 3 handlers/)
    await one.until(/resume: first two/)
    // Most editors save by renaming a new file over the old one.
    devFolder().write({ 'word.ts.tmp': wordOf('three') })
    renameSync(join(devFolder().path, 'word.ts.tmp'), join(devFolder().path, 'word.ts'))
    await one.until(/resume: first three/)
    devFolder().write({ 'objects.yaml': widget(2) })
    await one.until(/update: first three/)
    await one.until(/objects\.yaml changed, applied in \d+ ms/)
    expect(countOf(one, /create: first/g)).toBe(1)
    await stop(one)
  })

  test('kopf dev registers the handlers of the default operator only once after a reload', async () => {
    const script = (word: string) =>
      `import * as kopf from 'kopf'\nkopf.on.resume('configmaps', { id: '${word}' }, ({ logger }) => logger.info('resume: ${word}'))\n`
    const objects = '{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}'
    write({ 'operator.ts': script('one'), 'objects.yaml': objects })
    const one = await dev('-n', 'default').until(/started in \d+ ms: 1 handler$/m)
    devFolder().write({ 'operator.ts': script('two') })
    await one.until(/reloaded in \d+ ms: 1 handler$/m)
    devFolder().write({ 'operator.ts': script('three') })
    await one.until(/resume: three/)
    expect(one.stdout).not.toMatch(/[23] handlers/)
    await stop(one)
  })

  test('kopf dev removes labels and objects that are removed from a file of objects', async () => {
    const operator = operatorOf(
      `kopf.on.field(Widget, 'metadata.labels', ({ new: labels, logger }) => logger.info('labels: ' + JSON.stringify(labels)))
kopf.on.delete(Widget, ({ name, logger }) => logger.info('delete: ' + name + ' ' + word))`,
    )
    const labelled = (labels: string) =>
      `{apiVersion: example.com/v1, kind: Widget, metadata: {name: first, labels: ${labels}}}`
    const other = '{apiVersion: example.com/v1, kind: Widget, metadata: {name: other}}'
    write({ 'operator.ts': operator, 'objects.yaml': `${labelled('{a: b, c: d}')}\n---\n${other}` })
    const one = await dev().until(/labels: \{"a":"b","c":"d"\}/)
    devFolder().write({ 'objects.yaml': `${labelled('{a: b}')}\n---\n${other}` })
    await one.until(/labels: \{"a":"b"\}/)
    // Some editors truncate a file before they write it.
    devFolder().write({ 'objects.yaml': '' })
    devFolder().write({ 'word.ts': wordOf('two') })
    await one.until(/word\.ts changed, reloaded in/)
    expect(one.stdout).not.toMatch(/deleted/)
    devFolder().write({ 'objects.yaml': `# ${other}\n---\n${labelled('{}')}` })
    await one.until(/deleted widgets\.example\.com\/other$/m)
    await one.until(/delete: other two/)
    await one.until(/labels: (undefined|\{\})/)
    expect(one.stdout).not.toMatch(/deleted widgets\.example\.com\/first/)
    await stop(one)
  })

  test('kopf dev updates the CRDs of the operator', async () => {
    write()
    const one = await dev().until(/started in/)
    devFolder().write({ 'operator.ts': operatorOf(telling, ", shortNames: ['wdg']") })
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

  test('kopf dev reloads a module of a worker thread', async () => {
    const heavy = (word: string) => `export default ({ logger }) => { logger.info('heavy: ${word}') }\n`
    const register = "kopf.on.resume(Widget, { id: 'heavy' }, inWorker(new URL('./heavy.ts', import.meta.url)))"
    const made = "kopf.on.create(Widget, { id: 'made' }, ({ logger }) => logger.info(word))"
    const operator = operatorOf(`${made}\n${register}`).replace('Operator,', 'Operator, inWorker,')
    write({ 'operator.ts': operator, 'heavy.ts': heavy('one') })
    const one = await dev().until(/Creation is processed/)
    devFolder().write({ 'word.ts': wordOf('two') })
    await one.until(/heavy: one/)
    devFolder().write({ 'heavy.ts': heavy('two') })
    await one.until(/heavy\.ts changed, reloaded in/)
    await one.until(/heavy: two/)
    await stop(one)
  })

  test('kopf dev reloads once for many saves, and not at all for a save without a change', async () => {
    write()
    const one = await dev().until(/started in/)
    for (const word of ['a', 'b', 'c', 'd'])
      devFolder().write({ 'word.ts': wordOf(word), 'operator.ts': operatorOf(telling) })
    await one.until(/resume: first d/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    devFolder().write({ 'objects.yaml': widget(3) })
    await one.until(/update: first d/)
    expect(countOf(one, /reloaded in/g)).toBeLessThan(4)
    await stop(one)
  })
})

describe('failures in kopf dev', { timeout: 60_000 }, () => {
  test('kopf dev keeps the old operator while a file does not compile, and reloads it once it does', async () => {
    write()
    const one = await dev().until(/started in/)
    devFolder().write({ 'word.ts': "export const word = 'broken\n" })
    await one.until(/Cannot compile word\.ts:1:28: Unterminated string literal/)
    await one.until(/The previous operator continues to run\./)
    devFolder().write({ 'objects.yaml': widget(2) })
    await one.until(/update: first one/)
    devFolder().write({ 'operator.ts': operatorOf(telling).replace('./word.ts', './other.ts') })
    await one.until(/Could not resolve "\.\/other\.ts"/)
    // The file did not exist before, so that kopf dev could not watch it.
    devFolder().write({ 'other.ts': wordOf('other') })
    await one.until(/resume: first other/)
    await stop(one)
  })

  test('kopf dev shows a file that throws, rejected objects and a failed startup handler, and recovers on the next save', async () => {
    write({ 'word.ts': "export const word = 'x'\nthrow new Error('no luck')\n", 'objects.yaml': widget(1) })
    const one = await dev().until(/Cannot load "operator\.ts": Error: no luck\n {2}at .*word\.ts:2:7/)
    await one.until(/No operator runs until you correct the error and save\./)
    devFolder().write({ 'word.ts': wordOf('better') })
    await one.until(/create: first better/)
    devFolder().write({ 'objects.yaml': '{apiVersion: example.com/v1, kind: Gadget, metadata: {name: first}}' })
    await one.until(/objects\.yaml: Cannot apply Gadget "first": Cannot find the resource Gadget/)
    const failing = "kopf.on.startup(() => { throw new PermanentError('cannot start') })"
    const failed = operatorOf(`${failing}\n${telling}`).replace('Operator,', 'Operator, PermanentError,')
    devFolder().write({ 'operator.ts': failed })
    await one.until(/Activity 'startup' failed permanently: cannot start/)
    await one.until(
      /The operator has stopped because of the error above:\noperator\.ts:5:31\n(.*\n)*No operator runs until/,
    )
    expect(countOf(one, /failed.*cannot start/g)).toBe(1)
    devFolder().write({ 'operator.ts': operatorOf(telling), 'word.ts': wordOf('good') })
    await one.until(/resume: first good/)
    await stop(one)
  })

  test('kopf dev shows the source lines of a file that throws, and does not repeat the same error', async () => {
    write({ 'word.ts': "export const word = 'x'\nthrow new Error('no luck')\n" })
    const frame =
      "word\\.ts:2:7\n {2}1 \\| export const word = 'x'\n> 2 \\| throw new Error\\('no luck'\\)\n {4}\\| {7}\\^\n"
    const one = await dev().until(new RegExp(`^${frame}`, 'm'))
    devFolder().write({ 'operator.ts': `${operatorOf(telling)}// Another comment.\n` })
    await one.until(
      /^kopf dev: operator\.ts changed, and the error above remains\. No operator runs until you correct the error and save\.$/m,
    )
    expect(countOf(one, /Cannot load/g)).toBe(1)
    await stop(one)
  })

  test('kopf dev names a renamed operator file, and loads the file when it is back', async () => {
    write()
    const one = await dev().until(/started in/)
    const [here, there] = ['operator.ts', 'renamed.ts'].map((name) => join(devFolder().path, name)) as [string, string]
    renameSync(here, there)
    await one.until(/Cannot load "operator\.ts": the file was deleted or renamed; restore it/)
    await one.until(/The previous operator continues to run\./)
    renameSync(there, here)
    await one.until(/operator\.ts.* changed, reloaded in/)
    await stop(one)
  })

  test('kopf dev names existing objects that do not fit a changed schema', async () => {
    const typed = (type: string) => {
      const json = `({ type: 'object', properties: { size: { type: '${type}' } } })`
      const schema = `validate: (value) => ({ value }), jsonSchema: { input: () => ${json}, output: () => ${json} }`
      return operatorOf(telling, `, spec: { '~standard': { version: 1, vendor: 'test', ${schema} } }`)
    }
    write({ 'operator.ts': typed('integer') })
    const one = await dev().until(/create: first one/)
    devFolder().write({ 'operator.ts': typed('string') })
    await one.until(
      /The new schema of widgets\.example\.com does not fit an existing object: default\/first \(spec\.size: .*string.*\)\. Change the objects or the schema\.\n/,
    )
    await stop(one)
  })

  test('kopf dev refuses an unknown field in a file of objects, on creation and on change', async () => {
    const map = (size: number, typo = '') =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: first}, ${typo}data: {size: "${size}"}}`
    const problem = /objects\.yaml: Cannot apply ConfigMap "first": .*unknown field "dtaa"/g
    write({ 'objects.yaml': map(1, 'dtaa: {}, ') })
    const one = await dev().until(new RegExp(problem.source))
    devFolder().write({ 'objects.yaml': map(2) })
    await one.until(/created configmaps\/first/)
    devFolder().write({ 'objects.yaml': map(3, 'dtaa: {}, ') })
    await one.until(new RegExp(`created configmaps/first[\\s\\S]*${problem.source}`))
    expect(countOf(one, problem)).toBe(2)
    expect(countOf(one, /changed configmaps\/first/g)).toBe(0)
    await stop(one)
  })

  test('kopf dev abandons a file that never finishes loading and a waiting startup handler on the next save', async () => {
    write({ 'word.ts': "export const word = 'x'\nconsole.log('loading')\nawait new Promise(() => {})\n" })
    const one = await dev().until(/^loading$/m)
    const waiting = "kopf.on.startup(({ logger }) => { logger.info('waiting'); throw new Error('not yet') })"
    devFolder().write({ 'word.ts': wordOf('better'), 'operator.ts': operatorOf(`${waiting}\n${telling}`) })
    await one.until(/waiting/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    await one.until(/create: first better/)
    // The content was loaded before, but this operator does not run now: it must be started again.
    devFolder().write({ 'operator.ts': operatorOf(`${waiting.replace('waiting', 'still waiting')}\n${telling}`) })
    await one.until(/still waiting/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    await one.until(/resume: first better/)
    await stop(one)
  })

  test('kopf dev reloads although handlers and daemons do not end', async () => {
    const stubborn = [
      "kopf.on.create(Widget, { id: 'stubborn' }, async ({ logger }) => { logger.info('begun'); await new Promise(() => {}) })",
      "kopf.daemon(Widget, { finalizer: false }, async ({ logger }) => { logger.info('daemon'); await new Promise(() => {}) })",
    ].join('\n')
    write({ 'operator.ts': operatorOf(stubborn) })
    const one = await dev().until(/begun/)
    await one.until(/daemon/)
    devFolder().write({ 'operator.ts': operatorOf(telling) })
    await one.until(/create: first one/)
    await one.until(/The previous operator has not ended completely/)
    await stop(one)
  })

  test('kopf dev does not run on a cluster of others without a terminal and without --yes', async () => {
    write({
      kubeconfig: JSON.stringify({
        'current-context': 'production',
        contexts: [{ name: 'production', context: { cluster: 'far', namespace: 'shop' } }],
        clusters: [{ name: 'far', cluster: { server: 'https://cluster.example.com:6443' } }],
      }),
    })
    const one = dev('--cluster', '--kubeconfig', 'kubeconfig', '-n', 'shop')
    expect(await one.exit).toBe(1)
    expect(one.stdout).toMatch(
      /^kopf dev: operator\.ts on https:\/\/cluster\.example\.com:6443 \(context production\), namespace shop$/m,
    )
    expect(one.stderr).toMatch(/Cannot start: the cluster .* is not on this machine, .* with --yes/)
  })

  test.each<[string, string[], string]>([
    ['the file of the operator does not exist', ['dev', 'operater.ts'], 'did you mean "operator.ts"?'],
    ['the file of objects does not exist', ['dev', 'operator.ts', '--apply', 'none.yaml'], 'Cannot read'],
  ])('kopf dev fails at once if %s', async (_, args, message) => {
    write()
    const one = new KopfCommand(devFolder(), args)
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(message)
  })
})
