/**
 * What `kopf manifests` prints, applied by kubectl to a real control plane: in a namespace for restricted pods only, by an API
 * server that wants owners to be entitled to their children. The operator runs as its ServiceAccount; the audit log is the judge.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { type AuditEntry, AuditLog } from '../../../tools/kopf/audit-log.ts'
import { type Folder, stopCommands } from '../../cli/run-support.ts'
import { Api } from '../../support/api.ts'
import {
  createPeering,
  Deployment,
  findPort,
  installPeerings,
  operatorOfAllKinds,
  playHandOver,
  Scene,
  type Use,
  unusedInCalmTimes,
  type World,
} from '../../support/deployment.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'

let plane: ControlPlane
let api: Api
let world: World
const entries: AuditEntry[] = []

beforeAll(async () => {
  plane = await startControlPlane({
    audit: true,
    apiServerArgs: ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'],
  })
  const { url, caPem, admin } = plane
  api = new Api({ url, caPem, credentials: admin })
  const log = new AuditLog(plane.auditLog!)
  const usesOf = (user: string) => {
    entries.push(...log.read())
    return entries.filter((entry) => entry.user === user).map(toUse)
  }
  world = { api, url, caPem, usesOf, apply }
  await installPeerings(api)
})
afterEach(stopCommands)
afterAll(async () => {
  api.close()
  await plane.stop()
})

function toUse({ verb, resource, subresource, namespace, code }: AuditEntry): Use {
  return { verb, resource: subresource === '' ? resource : `${resource}/${subresource}`, namespace, status: code }
}

/** As somebody does it at a terminal; first on trial, then in earnest. */
async function apply(text: string, folder: Folder): Promise<readonly string[]> {
  const file = join(folder.path, 'manifests.yaml')
  await writeFile(file, text)
  const kubectl = (...args: string[]) =>
    promisify(execFile)(plane.binaries.kubectl, ['--kubeconfig', plane.kubeconfigs.admin, 'apply', '-f', file, ...args])
  const trial = await kubectl('--dry-run=server')
  const { stderr } = await kubectl()
  return [trial.stderr, stderr].filter((one) => one !== '')
}

async function createNamespaces(...names: string[]): Promise<void> {
  const restricted = (mode: string) => [`pod-security.kubernetes.io/${mode}`, 'restricted']
  for (const name of names) {
    const labels = Object.fromEntries(['enforce', 'warn', 'audit'].map(restricted))
    expectStatus(await api.post('/api/v1/namespaces', { metadata: { name, labels } }), 201)
  }
}

/** Whoever checks owners learns of new kinds every half a minute or so; until then, all but administrators are refused. */
async function untilOwnersAreKnown(user: string, namespace: string, apiVersion: string, kind: string): Promise<void> {
  const own = api.as({ ...plane.admin, impersonated: { user, groups: [] } })
  const owner = { apiVersion, kind, name: 'any', uid: 'any', controller: true, blockOwnerDeletion: true }
  const body = { metadata: { name: 'trial', ownerReferences: [owner] } }
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`
  await eventually(async () => expectStatus(await own.post(path, body), 201), 60_000)
  own.close()
}

describe('an operator with exactly these rights', { timeout: 180_000 }, () => {
  test('does all that its handlers are for, in the namespaces that were named', async () => {
    const group = 'named.example.com'
    const port = await findPort()
    await createNamespaces('ops', 'team-a', 'team-b')
    await createPeering(api, 'main', ['team-a', 'team-b'])
    const args = ['-n', 'team-a', '-n', 'team-b', '--install-namespace', 'ops', '--grant', 'create secrets']
    const deployed = await Deployment.install(world, operatorOfAllKinds(group, port), args)
    await deployed.rerouteService(port)
    await untilOwnersAreKnown(deployed.user, 'team-a', `${group}/v1`, 'Gadget')
    const running = await deployed.run()
    const scenes = ['team-a', 'team-b'].map((namespace) => new Scene(api, group, namespace))
    await Promise.all(scenes.map((scene) => scene.play(() => deployed.log)))
    await scenes[0]!.playInTheCluster(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(/not allowed|[Ff]orbidden/)
    // Times may be less calm, on a machine that is busy.
    expect(unusedInCalmTimes({ served: ['team-a', 'team-b'], home: 'ops' })).toEqual(
      expect.arrayContaining(deployed.unused),
    )
    deployed.folder.remove()
  })

  test('goes on with the steps that a process before it has done', async () => {
    await createNamespaces('steps')
    await playHandOver(world, 'steps')
  })

  test('does so in the whole cluster', async () => {
    const group = 'whole.example.com'
    const port = await findPort()
    await createNamespaces('operators', 'anywhere')
    await createPeering(api, 'main')
    const args = ['-A', '--name', 'whole', '--install-namespace', 'operators', '--grant', 'create secrets']
    const deployed = await Deployment.install(world, operatorOfAllKinds(group, port), args)
    await deployed.rerouteService(port)
    await untilOwnersAreKnown(deployed.user, 'anywhere', `${group}/v1`, 'Gadget')
    const running = await deployed.run()
    const scene = new Scene(api, group, 'anywhere')
    await scene.play(() => deployed.log)
    await scene.playInTheCluster(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(/not allowed|[Ff]orbidden/)
    // Times may be less calm, on a machine that is busy.
    expect(unusedInCalmTimes({ served: [undefined], home: 'operators' })).toEqual(
      expect.arrayContaining(deployed.unused),
    )
    deployed.folder.remove()
  })
})

const maker = `import { defineResource, Operator } from 'kopf'
const Maker = defineResource({ group: 'maker.example.com', version: 'v1', kind: 'Maker' })
const kopf = new Operator({ name: 'maker', settings: { election: { enabled: true, retryPeriod: '300ms' } } })
kopf.reconcile(Maker, { owns: ['configmaps'] }, ({ name }) => {
  return { children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }] }
})
export default kopf
`

async function make(namespace: string, name: string): Promise<void> {
  const path = `/apis/maker.example.com/v1/namespaces/${namespace}/makers`
  const body = { apiVersion: 'maker.example.com/v1', kind: 'Maker', metadata: { name } }
  await eventually(async () => expectStatus(await api.post(path, body), 201))
}

const untilMade = (namespace: string, name: string) =>
  eventually(async () => expectStatus(await api.get(`/api/v1/namespaces/${namespace}/configmaps/${name}`), 200))

test('a replica that stands by takes over with the same rights', { timeout: 180_000 }, async () => {
  await createNamespaces('replicas')
  const deployed = await Deployment.install(world, maker, ['-n', 'replicas', '--install-namespace', 'replicas'])
  await untilOwnersAreKnown(deployed.user, 'replicas', 'maker.example.com/v1', 'Maker')
  const first = await deployed.run('pod-1')
  await make('replicas', 'first')
  await untilMade('replicas', 'first')
  const second = await deployed.run('pod-2')
  await second.until(/Standing by/)
  first.send('SIGTERM')
  expect(await first.exit).toBe(0)
  await second.until(/This replica is the leader now/)
  await make('replicas', 'second')
  await untilMade('replicas', 'second')
  second.send('SIGTERM')
  expect(await second.exit).toBe(0)
  expect(deployed.refused).toEqual([])
  expect(deployed.log).not.toMatch(/not allowed|[Ff]orbidden/)
  deployed.folder.remove()
})

test('rights that no request is named after are needed all the same', { timeout: 180_000 }, async () => {
  await createNamespaces('makers')
  const deployed = await Deployment.install(world, maker, [
    '-n',
    'makers',
    '--install-namespace',
    'makers',
    '--standalone',
  ])
  const role = '/apis/rbac.authorization.k8s.io/v1/namespaces/makers/roles/maker'
  const { rules } = expectStatus(await api.get(role), 200) as unknown as {
    rules: Array<{ resources: string[]; verbs: string[] }>
  }
  const without = (resource: string, verb: string) =>
    rules.map((rule) =>
      rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((one) => one !== verb) } : rule,
    )
  const running = await deployed.run()
  await make('makers', 'first')
  await untilMade('makers', 'first')
  for (const [resource, verb, refusal] of [
    ['configmaps', 'create', /cannot create resource/],
    ['makers/finalizers', 'update', /cannot set blockOwnerDeletion/],
  ] as const) {
    const reduced = without(resource, verb).filter(({ verbs }) => verbs.length > 0)
    expectStatus(await api.mergePatch(role, { rules: reduced }), 200)
    // The API server learns of it by a watch of its own.
    let count = 0
    await eventually(async () => {
      count += 1
      await make('makers', `${verb}-${count}`)
      expect(deployed.log).toMatch(refusal)
    })
  }
  running.send('SIGTERM')
  expect(await running.exit).toBe(0)
  deployed.folder.remove()
})
