/** `kopf explain`, run as a command on a server where an operator has worked, with the file of the operator and without. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

const operator = `import { Operator } from 'kopf'
const kopf = new Operator()
kopf.on.startup(function configure() { console.log('started') })
kopf.on.create('configmaps', { id: 'slow' }, () => { console.log('called') })
kopf.on.create('configmaps', { id: 'red', labels: { colour: 'red' } }, () => {})
kopf.on.update('secrets', { id: 'changed' }, () => {})
kopf.on.delete('configmaps', { id: 'gone' }, () => {})
export default kopf
`

let server: RunningServer
let folder: Folder

beforeAll(async () => {
  server = await startServer()
  folder = new Folder()
  folder.write({ 'operator.ts': operator, 'dev.kubeconfig': server.kubeconfig })
  for (const group of ['one.example.com', 'two.example.com']) {
    const { status } = await ask(server.api, 'POST', crdsPath, { body: crd({ group, kind: 'Widget' }) })
    expect(status).toBe(201)
  }
  const started = '2026-01-31T12:00:00.000000+00:00'
  const record = { started, delayed: '2099-01-01T00:00:00.000000+00:00', purpose: 'create', retries: 3 }
  const slow = JSON.stringify({ ...record, success: false, failure: false, message: 'not \u001b[31myet' })
  await create('configmaps', { metadata: { name: 'one', annotations: { 'kopf.zalando.org/slow': slow } } })
  const handled = `${JSON.stringify({ data: { password: 'b2xkb2xk' }, type: 'Opaque' })}\n`
  await create('secrets', {
    metadata: { name: 'two', annotations: { 'kopf.zalando.org/last-handled-configuration': handled } },
    data: { password: 'bmV3bmV3' },
  })
})
afterEach(stopCommands)
afterAll(async () => {
  await server.stop()
  folder.remove()
})

async function create(plural: string, body: object): Promise<void> {
  const { status } = await ask(server.api, 'POST', `/api/v1/namespaces/default/${plural}`, { body })
  expect(status).toBe(201)
}

async function explain(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['explain', ...args, '--kubeconfig', 'dev.kubeconfig'])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

describe('kopf explain', { timeout: 60_000 }, () => {
  test('kopf explain shows the stored state of an object and the verdict of each handler', async () => {
    const requests = () => server.api.requests.last().filter(({ method }) => method !== 'GET')
    const before = requests().length
    const { exit, stdout, stderr } = await explain('cm', 'one', '--file', 'operator.ts')
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).toContain('ConfigMap default/one (configmaps.v1)')
    expect(stdout).toMatch(/slow +create: waits until 2099-01-01 00:00:00 UTC .*3 attempts.*: not \\u001b\[31myet/)
    expect(stdout).toMatch(/later +create "slow" +It is called again for create: 3 attempts have failed/)
    expect(stdout).toMatch(/no +create "red" +The label "colour" does not match/)
    expect(stdout).toMatch(/no +delete "gone" +It is for delete, and this is create/)
    expect(stdout).toContain('The finalizer "kopf.zalando.org/KopfFinalizerMarker" is added first.')
    expect(stdout).toContain('Startup handlers are not called here ("configure")')
    // The operator was loaded but not started, no handler was called, and nothing was written.
    expect(stdout).not.toMatch(/^(started|called)$/m)
    expect(requests()).toHaveLength(before)
  })

  test.each([
    ['a plural', 'configmaps'],
    ['a singular', 'configmap'],
    ['a kind', 'ConfigMap'],
  ])('kopf explain shows the stored state without a file of the operator, by %s', async (_, resource) => {
    const { exit, stdout } = await explain(resource, 'one')
    expect(exit).toBe(0)
    expect(stdout).toMatch(/slow +create: waits until/)
    expect(stdout).toContain('Name the file of the operator with --file')
  })

  test('kopf explain does not show the values of a Secret', async () => {
    const { exit, stdout } = await explain('secrets', 'two', '-f', 'operator.ts', '-o', 'json')
    expect(exit).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'two',
      reason: 'update',
      changes: [{ operation: 'change', field: ['data', 'password'] }],
      handlers: [{ id: 'changed', verdict: 'now' }],
    })
    expect(stdout).not.toMatch(/b2xkb2xk|bmV3bmV3/)
  })
})

describe('kopf explain failures', { timeout: 60_000 }, () => {
  test.each<[string, string[], string]>([
    [
      'the object does not exist',
      ['configmaps', 'none', '-n', 'elsewhere'],
      'kopf: Cannot explain configmaps "none": there is none of that name in the namespace "elsewhere"\n',
    ],
    [
      'the resource does not exist',
      ['configmapz', 'one'],
      'kopf: Cannot find the resource configmapz: the cluster does not serve it; did you mean "configmaps"?\n',
    ],
    [
      'the resource is ambiguous',
      ['widgets', 'one'],
      'kopf: Cannot tell which resource is meant by widgets: there are widgets.v1.one.example.com, widgets.v1.two.example.com; name one of them\n',
    ],
    [
      'the file of the operator does not exist',
      ['configmaps', 'one', '-f', 'operater.ts'],
      'kopf: Cannot load "operater.ts": there is no such file or folder; did you mean "operator.ts"?\n',
    ],
  ])('kopf explain fails with a message if %s', async (_, args, message) => {
    expect(await explain(...args)).toEqual({ exit: 1, stdout: '', stderr: message })
  })
})
