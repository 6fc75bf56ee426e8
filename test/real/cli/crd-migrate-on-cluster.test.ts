/** `kopf crd migrate` on real control planes: without StorageVersionMigration, with it, and with its API but without its controller. */
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../../tools/envtest/control-plane.ts'
import { Folder, KopfCommand, stopCommands } from '../../cli/run-support.ts'
import { Api } from '../../support/api.ts'
import { anything, crd, crdServed, crdsPath, installCrd } from '../../support/crds.ts'
import { eventually, expectStatus } from '../../support/expectations.ts'

const group = 'migrate.example.com'
const path = `${crdsPath}/things.${group}`
const things = `/apis/${group}/v2/namespaces/default/things`
const versions = (storage: string) =>
  ['v1', 'v2'].map((name) => ({
    name,
    served: true,
    storage: name === storage,
    schema: { openAPIV3Schema: anything },
  }))

let folder: Folder

beforeAll(() => {
  folder = new Folder()
})
afterEach(stopCommands)
afterAll(() => folder.remove())

/** Creates objects that are stored in v1, and makes v2 the storage version. */
async function prepare(api: Api): Promise<void> {
  await installCrd(api, crd({ group, kind: 'Thing', versions: versions('v1') }))
  for (const name of ['a', 'b', 'c']) {
    expectStatus(await api.post(things, { apiVersion: `${group}/v2`, kind: 'Thing', metadata: { name } }), 201)
  }
  const { body } = await api.mergePatch(path, { spec: { versions: versions('v2') } })
  expect(body.status['storedVersions']).toEqual(['v1', 'v2'])
}

async function migrate(
  kubeconfig: string,
  ...args: string[]
): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, [
    'crd',
    'migrate',
    '--crd',
    `things.${group}`,
    ...args,
    '--kubeconfig',
    kubeconfig,
  ])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

/** Removes v1 from the CRD. An object that is still stored in v1 could not be read any more. */
async function expectMigrated(api: Api): Promise<void> {
  const removed = await api.mergePatch(path, { spec: { versions: versions('v2').slice(1) } })
  expect(expectStatus(removed, 200).status['storedVersions']).toEqual(['v2'])
  await crdServed(api, removed.body)
  // The API server stops to serve v1 some time after the CRD has changed.
  await eventually(async () => expectStatus(await api.get(things.replace('v2', 'v1')), 404))
  for (const name of ['a', 'b', 'c']) expectStatus(await api.get(`${things}/${name}`), 200)
}

function apiOf({ url, caPem, admin }: Pick<ControlPlane, 'url' | 'caPem' | 'admin'>): Api {
  return new Api({ url, caPem, credentials: admin })
}

describe('a cluster without StorageVersionMigration', () => {
  test('kopf crd migrate rewrites the objects, so that the old version can be removed', {
    timeout: 60_000,
  }, async () => {
    const real = inject('realCluster')
    const api = apiOf(real)
    await prepare(api)
    const { resourceVersion } = (await api.get(`${things}/a`)).body.metadata
    expect(await migrate(real.kubeconfigs.admin)).toEqual({
      exit: 0,
      stdout: `things.${group}: 3 objects rewritten in v2; status.storedVersions: v1, v2 -> v2\n`,
      stderr: '',
    })
    const { metadata } = (await api.get(`${things}/a`)).body
    expect(metadata).toMatchObject({ generation: 1 })
    expect(metadata.resourceVersion).not.toBe(resourceVersion)
    await expectMigrated(api)
    await api.delete(path)
    api.close()
  })
})

describe('a cluster with StorageVersionMigration', { timeout: 240_000 }, () => {
  let plane: ControlPlane
  const withApi = {
    featureGates: { StorageVersionMigrator: true },
    apiServerArgs: ['--runtime-config=storagemigration.k8s.io/v1beta1=true'],
  }
  afterEach(() => plane.stop())

  test('kopf crd migrate lets the cluster migrate the objects, and deletes its StorageVersionMigration', async () => {
    plane = await startControlPlane({ ...withApi, controllers: ['storage-version-migrator-controller'] })
    const api = apiOf(plane)
    await prepare(api)
    expect((await migrate(plane.kubeconfigs.admin, '--dry-run')).stdout).toContain(
      'by StorageVersionMigration (v1beta1)',
    )
    expect(await migrate(plane.kubeconfigs.admin)).toEqual({
      exit: 0,
      stdout:
        `things.${group}: the cluster has stored all objects in v2, by StorageVersionMigration; ` +
        'status.storedVersions: v1, v2 -> v2\n',
      stderr: '',
    })
    const { body } = await api.get('/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations')
    expect(body['items']).toEqual([])
    await expectMigrated(api)
    api.close()
  })

  test('kopf crd migrate rewrites the objects if no controller acts on the StorageVersionMigration', async () => {
    plane = await startControlPlane({ ...withApi, controllers: false })
    const api = apiOf(plane)
    await prepare(api)
    const { exit, stdout, stderr } = await migrate(plane.kubeconfigs.admin)
    expect([exit, stdout]).toEqual([
      0,
      `things.${group}: 3 objects rewritten in v2; status.storedVersions: v1, v2 -> v2\n`,
    ])
    expect(stderr).toContain('has not started the migration within 15 seconds: the objects are rewritten instead\n')
    await expectMigrated(api)
    api.close()
  })
})
