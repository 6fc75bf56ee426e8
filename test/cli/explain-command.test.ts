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
    ['resource/name', 'configmaps/one'],
    ['kind/name', 'ConfigMap/one'],
    ['a short name and the name', 'cm/one'],
    ['resource.version/name', 'configmap.v1/one'],
  ])('kopf explain shows the stored state without a file of the operator, by %s', async (_, resource) => {
    const { exit, stdout } = await explain(resource, ...(resource.includes('/') ? [] : ['one']))
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

const shops = `import { Operator } from 'kopf'
const kopf = new Operator({ name: 'shops' })
kopf.reconcile('secrets', { id: 'shop', owns: ['configmaps', 'deployments.apps', 'gadgets'], resync: '10m', labels: { shop: 'yes' } }, ({ name }) => {
  console.log('called')
  const labels = { shop: name }
  const container = { name: 'web', image: 'web' }
  return { children: [
    [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name + '-menu' }, data: { coffee: 'yes' } }],
    [{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } } }],
  ] }
})
export default kopf
`

describe('kopf explain of a reconciled object', { timeout: 60_000 }, () => {
  const menu = '/api/v1/namespaces/default/configmaps/corner-menu'

  /** Runs the operator until the last child is there, and stops it. */
  async function reconcile(): Promise<void> {
    folder.write({ 'shops.ts': shops })
    await create('secrets', { metadata: { name: 'corner', labels: { shop: 'yes' } } })
    const one = new KopfCommand(folder, ['run', 'shops.ts', '-n', 'default', '--kubeconfig', 'dev.kubeconfig'])
    const deployment = '/apis/apps/v1/namespaces/default/deployments/corner'
    await expect.poll(async () => (await ask(server.api, 'GET', deployment)).status, { timeout: 30_000 }).toBe(200)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  }

  test('kopf explain shows the children of a reconciler, their state, and changes by other managers', async () => {
    await reconcile()
    const changed = { data: { coffee: 'no', tea: 'yes' } }
    await ask(server.api, 'PATCH', `${menu}?fieldManager=kubectl-edit`, { body: changed })
    const { exit, stdout, stderr } = await explain('secret/corner', '-f', 'shops.ts')
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).not.toMatch(/^called$/m)
    const from = stdout.indexOf('Reconciler "shop":')
    const time = '\\S+( \\S+)? UTC \\(\\d+ \\w+ ago\\)'
    expect(stdout.slice(from)).toMatch(
      new RegExp(
        [
          '^Reconciler "shop":',
          `  last run  not recorded; last change of a child: ${time}`,
          '  result    no problem of children is recorded; errors of the function are not recorded',
          '  next run  when the operator starts or the object, one of its configmaps, one of its deployments.apps, one of its gadgets changes, ' +
            'and at the latest 10 minutes after the last one; the time is not recorded',
          '  children  2',
          `    changed   ConfigMap default/corner-menu  applied ${time}; since then kubectl-edit has written data\\.coffee, data\\.tea ${time}`,
          `    not ready Deployment default/corner      applied ${time}`,
          '',
          'Note: The cluster does not serve gadgets, which the reconciler "shop" owns.',
          '',
        ].join('\n'),
      ),
    )
    const json = await explain('secrets/corner', '-f', 'shops.ts', '-o', 'json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      reconcilers: [
        {
          id: 'shop',
          owns: ['configmaps', 'deployments.apps', 'gadgets'],
          watches: [],
          resync: 600,
          lastApplied: expect.any(String),
          children: [
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              namespace: 'default',
              name: 'corner-menu',
              group: 0,
              isReady: true,
              applied: expect.any(String),
              foreign: [{ manager: 'kubectl-edit', time: expect.any(String), fields: ['data.coffee', 'data.tea'] }],
            },
            { kind: 'Deployment', name: 'corner', group: 1, isReady: false, foreign: [] },
          ],
        },
      ],
    })
  })
})

describe('kopf explain failures', { timeout: 60_000 }, () => {
  test.each<[string, string[], string]>([
    [
      'the namespace does not exist',
      ['configmaps', 'none', '-n', 'defualt'],
      'kopf: Cannot explain configmaps "none": the namespace "defualt" does not exist; did you mean "default"?\n',
    ],
    [
      'the object does not exist',
      ['configmap/oen'],
      'kopf: Cannot explain configmaps "oen": there is no object of that name in the namespace "default"; did you mean "one"?\n',
    ],
    [
      'there is no object of a similar name',
      ['widgets.one.example.com', 'blue'],
      'kopf: Cannot explain widgets.one.example.com "blue": there is no object of that name in the namespace "default"; there are no others\n',
    ],
    [
      'the group of the resource is misspelt',
      ['widgets.tow.example.com/blue'],
      'kopf: Cannot find the resource widgets.tow.example.com: the cluster does not serve it; did you mean "widgets.v1.two.example.com"?\n',
    ],
    [
      'the context does not exist',
      ['configmaps', 'one', '--context', 'nope'],
      expect.stringMatching(/: there is no context "nope" in it; it has "kopf"\n$/) as unknown as string,
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

  test.each([
    [['configmaps'], 'error: nothing to explain. Name an object, as resource/name.'],
    [['configmaps/one', 'two'], 'error: there are two names: "one" in "configmaps/one", and "two".'],
    [['configmaps/'], 'error: "configmaps/" is not of the form resource/name.'],
  ])('kopf explain %j is a usage error', async (args, message) => {
    const { exit, stderr } = await explain(...args)
    expect([exit, stderr.split('\n')[0]]).toEqual([2, message])
  })

  test('kopf explain says that the files of KUBECONFIG do not exist', async () => {
    const one = new KopfCommand(folder, ['explain', 'configmaps/one'], { KUBECONFIG: '/nowhere/config' })
    expect(await one.exit).toBe(1)
    expect(one.stderr).toBe(
      'kopf: Cannot find a cluster: KUBECONFIG names "/nowhere/config", and there is no such file; name one with --kubeconfig or KUBECONFIG\n',
    )
  })
})
