/** `kopf uninstall`, run as a command: it removes what an operator has left in a cluster, and nothing else. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crdsPath } from '../support/crds.ts'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

const ours = 'kopf.zalando.org/KopfFinalizerMarker'
const things = '/apis/example.com/v1/namespaces/default/things'
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const secrets = '/api/v1/namespaces/default/secrets'
const webhooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const peerings = '/apis/kopf.dev/v1/clusterkopfpeerings'
const deployments = '/apis/apps/v1/namespaces/default/deployments'

const operator = `import { defineResource, Operator } from 'kopf'
import { WebhookServiceServer } from 'kopf/webhooks'
const kopf = new Operator({ name: 'things', settings: { election: { enabled: true }, admission: { managed: 'things.example.com' } } })
kopf.settings.admission.server = new WebhookServiceServer({ service: 'things' })
const Thing = defineResource({ group: 'example.com', version: 'v1', kind: 'Thing' })
kopf.on.delete(Thing, () => {})
kopf.on.validate(Thing, () => {})
export default kopf
`
const crd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: crdSpec('example.com', 'Namespaced', { plural: 'things', kind: 'Thing' }),
}
const peeringCrd = {
  ...crd,
  metadata: { name: 'clusterkopfpeerings.kopf.dev' },
  spec: crdSpec('kopf.dev', 'Cluster', { plural: 'clusterkopfpeerings', kind: 'ClusterKopfPeering' }),
}

function crdSpec(group: string, scope: string, names: object): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return { group, scope, names, versions: [{ name: 'v1', served: true, storage: true, schema }] }
}

let server: RunningServer
let folder: Folder

beforeEach(async () => {
  server = await startServer()
  folder = new Folder()
  folder.write({ 'dev.kubeconfig': server.kubeconfig, 'operator.ts': operator })
  await create(crdsPath, crd)
})
afterEach(async () => {
  await stopCommands()
  await server.stop()
  folder.remove()
})

async function create(path: string, body: object): Promise<void> {
  expect(await ask(server.api, 'POST', path, { body })).toMatchObject({ status: 201 })
}

const createThing = (name: string, ...finalizers: string[]) =>
  create(things, { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name, finalizers } })

const createLease = (holderIdentity: string, renewTime = '2020-01-01T00:00:00.000000Z') =>
  create(leases, { metadata: { name: 'things' }, spec: { holderIdentity, leaseDurationSeconds: 15, renewTime } })

const createWebhooks = (...names: string[]) =>
  create(webhooks, {
    metadata: { name: 'things.example.com' },
    webhooks: names.map((name) => ({
      name,
      clientConfig: { url: 'https://localhost:1/x' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['things'] }],
    })),
  })

/** Everything that the operator can leave behind. */
async function createAll(): Promise<void> {
  await create(crdsPath, peeringCrd)
  await createThing('held', 'a/other', ours)
  await createThing('deleted', ours)
  await ask(server.api, 'DELETE', `${things}/deleted`)
  await createLease('old')
  const status = { dead: { lifetime: 60, lastseen: '2020-01-01T00:00:00' }, other: 'x' }
  await create(peerings, {
    apiVersion: 'kopf.dev/v1',
    kind: 'ClusterKopfPeering',
    metadata: { name: 'default' },
    status,
  })
  const labels = { 'kopf.dev/webhook-service': 'things' }
  await create(secrets, { metadata: { name: 'things-certificates', labels } })
  await create(secrets, { metadata: { name: 'things-steps' }, data: { 'key-1': 'AAAA' } })
  await createWebhooks('check.things.example.com')
}

async function exists(path: string): Promise<boolean> {
  return (await ask(server.api, 'GET', path)).status === 200
}

/** Which of the objects of `createAll` exist. */
async function remaining(): Promise<string[]> {
  const paths = {
    webhooks: `${webhooks}/things.example.com`,
    lease: `${leases}/things`,
    certificates: `${secrets}/things-certificates`,
    steps: `${secrets}/things-steps`,
    peering: `${peerings}/default`,
    deleted: `${things}/deleted`,
    held: `${things}/held`,
    crd: `${crdsPath}/things.example.com`,
  }
  const found = await Promise.all(Object.values(paths).map(exists))
  return Object.keys(paths).filter((_, index) => found[index])
}

async function uninstall(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['uninstall', ...args, '--kubeconfig', 'dev.kubeconfig'])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

describe('removal', { timeout: 60_000 }, () => {
  test('kopf uninstall removes finalizers, webhooks, the Lease, Secrets and peering records, and can be repeated', async () => {
    await createAll()
    const { exit, stdout, stderr } = await uninstall('operator.ts')
    expect([exit, stdout.split('\n')]).toEqual([
      0,
      [
        'Deleted ValidatingWebhookConfiguration things.example.com.',
        'Removed the finalizer from 2 objects of things.example.com.',
        'Removed 1 expired record from ClusterKopfPeering default.',
        'Deleted Lease default/things.',
        'Deleted Secret default/things-certificates.',
        'Deleted Secret default/things-steps.',
        '',
      ],
    ])
    expect(stderr).toContain(
      '  npx kopf manifests operator.ts --install-namespace default | kubectl delete --ignore-not-found -f -\n',
    )
    expect(await remaining()).toEqual(['peering', 'held', 'crd'])
    expect((await ask(server.api, 'GET', `${things}/held`)).body).toMatchObject({
      metadata: { finalizers: ['a/other'] },
    })
    expect((await ask(server.api, 'GET', `${peerings}/default`)).body).toMatchObject({ status: { other: 'x' } })
    expect(await uninstall('operator.ts')).toMatchObject({
      exit: 0,
      stdout: 'The operator has left nothing: there is nothing to remove.\n',
    })
  })

  test('kopf uninstall --dry-run lists what would be removed, and changes nothing', async () => {
    await createAll()
    const before = await remaining()
    const { exit, stdout, stderr } = await uninstall('operator.ts', '--crds', '--dry-run')
    expect([exit, stdout]).toEqual([0, 'Nothing was changed: this was a dry run.\n'])
    expect(stderr.split('\n')).toEqual([
      'Left by the operator:',
      '  ValidatingWebhookConfiguration things.example.com',
      `  the finalizer "${ours}" on 2 objects of things: default/deleted, default/held`,
      '  1 expired record in ClusterKopfPeering default',
      '  Lease default/things',
      '  Secret default/things-certificates',
      '  Secret default/things-steps',
      '  CustomResourceDefinition things.example.com, with 2 objects, which are deleted with it',
      '',
    ])
    expect(await remaining()).toEqual(before)
  })

  test('kopf uninstall --crds deletes the CRDs last, with all objects, and only with --yes', async () => {
    await createThing('one', ours)
    await createThing('two')
    expect(await uninstall('operator.ts', '--crds')).toMatchObject({ exit: 2, stdout: '' })
    expect(await uninstall('operator.ts', '--crds', '--yes')).toMatchObject({
      exit: 0,
      stdout:
        'Removed the finalizer from 1 object of things.example.com.\n' +
        'Deleted CustomResourceDefinition things.example.com with 2 objects.\n',
    })
    expect(await exists(`${crdsPath}/things.example.com`)).toBe(false)
  })

  test('kopf uninstall --crds deletes a CRD whose conversion webhook does not respond', async () => {
    folder.write({
      'operator.ts': `import kopf from './base.ts'
kopf.on.convert('things.example.com', { from: 'v1', to: 'v2' }, () => ({}))
export default kopf
`,
      'base.ts': operator.replace("version: 'v1'", "version: 'v2'"),
    })
    await createThing('one', ours)
    const clientConfig = { url: 'https://localhost:1/x' }
    const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }
    const { versions } = crd.spec as { versions: object[] }
    const spec = { conversion, versions: [...versions, { ...versions[0], name: 'v2', storage: false }] }
    const path = `${crdsPath}/things.example.com`
    expect(await ask(server.api, 'PATCH', path, { body: { spec } })).toMatchObject({ status: 200 })
    expect((await ask(server.api, 'GET', things.replace('v1', 'v2'))).status).toBe(500)
    expect((await uninstall('operator.ts', '--dry-run')).stderr).toContain('The CRDs keep their conversion webhook')
    expect(await uninstall('operator.ts', '--crds', '--yes')).toMatchObject({
      exit: 0,
      stdout:
        'Removed the finalizer from 1 object of things.example.com.\n' +
        'Deleted CustomResourceDefinition things.example.com with 1 object.\n',
    })
  })

  test('kopf uninstall --namespace releases objects in the matching namespaces only', async () => {
    await ask(server.api, 'POST', '/api/v1/namespaces', { body: { metadata: { name: 'team-a' } } })
    await createThing('here', ours)
    const body = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'there', finalizers: [ours] } }
    await create('/apis/example.com/v1/namespaces/team-a/things', body)
    expect((await uninstall('operator.ts', '-n', 'team-*')).stdout).toContain('from 1 object of things.example.com.')
    expect((await ask(server.api, 'GET', `${things}/here`)).body).toMatchObject({ metadata: { finalizers: [ours] } })
    expect((await uninstall('operator.ts', '-n', 'default')).stdout).toContain('from 1 object of things.example.com.')
  })
})

describe('objects that stay', { timeout: 60_000 }, () => {
  test('kopf uninstall does not touch objects with the names of the operator and other content', async () => {
    await createWebhooks('check.things.example.com', 'x.other.example.com')
    await create(secrets, { metadata: { name: 'things-certificates' } })
    await create(secrets, { metadata: { name: 'things-steps' }, data: { password: 'AAAA' } })
    const { exit, stderr } = await uninstall('operator.ts')
    expect(exit).toBe(0)
    expect(stderr).toContain('ValidatingWebhookConfiguration things.example.com stays: it has webhooks that are not of')
    expect(stderr).toContain('Secret default/things-certificates stays: it has other content')
    expect(stderr).toContain('Secret default/things-steps stays: it has other content')
    expect(await remaining()).toEqual(['webhooks', 'certificates', 'steps', 'crd'])
  })

  test('kopf uninstall refuses to run while a replica holds the Lease, unless it is forced', async () => {
    await createThing('one', ours)
    await createLease('pod-1', new Date(Date.now() + 60_000).toISOString().replace('Z', '000Z'))
    const { exit, stdout, stderr } = await uninstall('operator.ts')
    expect([exit, stdout]).toEqual([1, ''])
    expect(stderr).toContain(
      'kopf: Cannot uninstall the operator: it seems to run: "pod-1" holds the Lease default/things',
    )
    expect((await ask(server.api, 'GET', `${things}/one`)).body).toMatchObject({ metadata: { finalizers: [ours] } })
    expect(await uninstall('operator.ts', '--force')).toMatchObject({ exit: 0 })
    expect(await exists(`${leases}/things`)).toBe(false)
  })

  test('kopf uninstall refuses to run while a peering record is valid, or while the Deployment has pods', async () => {
    await create(crdsPath, peeringCrd)
    const status = { 'me@host': { lifetime: 60, lastseen: new Date().toISOString() } }
    await create(peerings, {
      apiVersion: 'kopf.dev/v1',
      kind: 'ClusterKopfPeering',
      metadata: { name: 'default' },
      status,
    })
    const labels = { 'app.kubernetes.io/name': 'things', 'app.kubernetes.io/component': 'operator' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'operator', image: 'x' }] } }
    await create(deployments, {
      metadata: { name: 'things', labels },
      spec: { selector: { matchLabels: labels }, template },
    })
    await ask(server.api, 'PATCH', `${deployments}/things/status`, { body: { status: { replicas: 2 } } })
    const { exit, stderr } = await uninstall('operator.ts')
    expect(exit).toBe(1)
    expect(stderr).toContain(
      'the Deployment default/things has 2 pods; "me@host" has a record in ClusterKopfPeering default',
    )
    expect((await uninstall('operator.ts', '--force')).exit).toBe(0)
    expect((await ask(server.api, 'GET', `${peerings}/default`)).body).toMatchObject({ status })
  })

  test('kopf uninstall names the rules that the user needs, removes the rest, and keeps the CRDs', async () => {
    await createThing('one', ours)
    await createThing('two', ours)
    server.api.faults.add({ on: { verb: 'get', resource: 'secrets' }, effect: { type: 'error', status: 403 } })
    server.api.faults.add({ on: { verb: 'patch', name: 'two' }, effect: { type: 'error', status: 403 } })
    const { exit, stdout, stderr } = await uninstall('operator.ts', '--crds', '--yes')
    expect([exit, stdout]).toEqual([1, 'Removed the finalizer from 1 object of things.example.com.\n'])
    expect(stderr).toContain(
      'Cannot look for secrets "things-steps": this user lacks the permission; a role needs the rule ' +
        '{"apiGroups":[""],"resources":["secrets"],"verbs":["get","delete"]}\n',
    )
    expect(stderr).toContain('Cannot release things.example.com "two": this user lacks the permission')
    expect(stderr).toContain(
      'CustomResourceDefinition things.example.com stays, since not everything else could be removed',
    )
    expect(stderr).toContain('kopf: Cannot remove everything: the reasons are above')
  })

  test.each<[string, string[], string]>([
    ['no file is named', [], 'error: no operator. Name a file, or a module with --module.\n'],
    ['--crds is used for some namespaces', ['operator.ts', '--crds', '-n', 'x'], 'cannot be used together'],
  ])('kopf uninstall exits with 2 if %s', async (_, args, message) => {
    const failed = await uninstall(...args)
    expect(failed).toMatchObject({ exit: 2, stdout: '' })
    expect(failed.stderr).toContain(message)
  })
})
