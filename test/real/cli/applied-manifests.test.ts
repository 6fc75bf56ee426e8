/**
 * The output of `kopf manifests`, applied with kubectl to a real control plane: in a namespace with the pod security level restricted,
 * on an API server with the plugin OwnerReferencesPermissionEnforcement. The operator runs as its ServiceAccount, and the audit log
 * shows refused requests and unused permissions.
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
  AllHandlersScenario,
  createPeering,
  Deployment,
  type DeploymentTarget,
  expectStepHandOver,
  findPort,
  installPeerings,
  missingPermission,
  type ObservedRequest,
  operatorWithAllHandlers,
  unusedWithoutFailures,
} from '../../support/deployment.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'

let plane: ControlPlane
let api: Api
let target: DeploymentTarget
const entries: AuditEntry[] = []

beforeAll(async () => {
  plane = await startControlPlane({
    audit: true,
    apiServerArgs: ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'],
  })
  const { url, caPem, admin } = plane
  api = new Api({ url, caPem, credentials: admin })
  const log = new AuditLog(plane.auditLog!)
  const requestsOf = (user: string) => {
    entries.push(...log.read())
    return entries.filter((entry) => entry.user === user).map(toObservedRequest)
  }
  target = { api, url, caPem, requestsOf, apply }
  await installPeerings(api)
})
afterEach(stopCommands)
afterAll(async () => {
  api.close()
  await plane.stop()
})

function toObservedRequest({ verb, resource, subresource, namespace, code }: AuditEntry): ObservedRequest {
  return { verb, resource: subresource === '' ? resource : `${resource}/${subresource}`, namespace, status: code }
}

/** Applies the manifests with kubectl, first as a dry run. Returns the warnings. */
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

/** OwnerReferencesPermissionEnforcement learns of new kinds with a delay of half a minute, and refuses such owners until then. */
async function untilOwnersAreKnown(user: string, namespace: string, apiVersion: string, kind: string): Promise<void> {
  const own = api.as({ ...plane.admin, impersonated: { user, groups: [] } })
  const owner = { apiVersion, kind, name: 'any', uid: 'any', controller: true, blockOwnerDeletion: true }
  const body = { metadata: { name: 'trial', ownerReferences: [owner] } }
  const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`
  await eventually(async () => expectStatus(await own.post(path, body), 201), 60_000)
  own.close()
}

describe('operators with the printed permissions', { timeout: 180_000 }, () => {
  test('an operator with the permissions of kopf manifests can do all its work in the named namespaces', async () => {
    const group = 'named.example.com'
    const port = await findPort()
    await createNamespaces('ops', 'team-a', 'team-b')
    await createPeering(api, 'main', ['team-a', 'team-b'])
    const args = ['-n', 'team-a', '-n', 'team-b', '--install-namespace', 'ops', '--grant', 'create secrets']
    const deployed = await Deployment.install(target, operatorWithAllHandlers(group, port), args)
    await deployed.rerouteService(port)
    await untilOwnersAreKnown(deployed.user, 'team-a', `${group}/v1`, 'Gadget')
    const running = await deployed.run()
    const scenarios = ['team-a', 'team-b'].map((namespace) => new AllHandlersScenario(api, group, namespace))
    await Promise.all(scenarios.map((scenario) => scenario.run(() => deployed.log)))
    await scenarios[0]!.runClusterScoped(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(missingPermission)
    // On a busy machine, the operator may also use permissions that it needs only for recovery.
    expect(unusedWithoutFailures({ served: ['team-a', 'team-b'], home: 'ops' })).toEqual(
      expect.arrayContaining(deployed.unused),
    )
    deployed.folder.remove()
  })

  test('an operator with the permissions of kopf manifests resumes the steps of an earlier process', async () => {
    await createNamespaces('steps')
    await expectStepHandOver(target, 'steps')
  })

  test('an operator with the permissions of kopf manifests can do all its work in the whole cluster', async () => {
    const group = 'whole.example.com'
    const port = await findPort()
    await createNamespaces('operators', 'anywhere')
    await createPeering(api, 'main')
    const args = ['-A', '--name', 'whole', '--install-namespace', 'operators', '--grant', 'create secrets']
    const deployed = await Deployment.install(target, operatorWithAllHandlers(group, port), args)
    await deployed.rerouteService(port)
    await untilOwnersAreKnown(deployed.user, 'anywhere', `${group}/v1`, 'Gadget')
    const running = await deployed.run()
    const scenario = new AllHandlersScenario(api, group, 'anywhere')
    await scenario.run(() => deployed.log)
    await scenario.runClusterScoped(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(missingPermission)
    // On a busy machine, the operator may also use permissions that it needs only for recovery.
    expect(unusedWithoutFailures({ served: [undefined], home: 'operators' })).toEqual(
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

test('a standby replica takes over with the same permissions', { timeout: 180_000 }, async () => {
  await createNamespaces('replicas')
  const deployed = await Deployment.install(target, maker, ['-n', 'replicas', '--install-namespace', 'replicas'])
  await untilOwnersAreKnown(deployed.user, 'replicas', 'maker.example.com/v1', 'Maker')
  const first = await deployed.run('pod-1')
  await make('replicas', 'first')
  await untilMade('replicas', 'first')
  const second = await deployed.run('pod-2')
  await second.until(/Waiting to lead/)
  first.send('SIGTERM')
  expect(await first.exit).toBe(0)
  await second.until(/This replica is the leader now/)
  await make('replicas', 'second')
  await untilMade('replicas', 'second')
  second.send('SIGTERM')
  expect(await second.exit).toBe(0)
  expect(deployed.refused).toEqual([])
  expect(deployed.log).not.toMatch(missingPermission)
  deployed.folder.remove()
})

test('creating children needs the permission to update the finalizers of their owner', {
  timeout: 180_000,
}, async () => {
  await createNamespaces('makers')
  const deployed = await Deployment.install(target, maker, [
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
    // The API server learns of the changed role with a delay.
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
