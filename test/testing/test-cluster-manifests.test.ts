/** Manifests and namespaces of the testing kit, with the same tests on the embedded cluster and on a real one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isNotFound, Operator } from 'kopf'
import { startCluster } from 'kopf/testing'
import { afterAll, expect, test } from 'vitest'
import { isReal, realOrNot } from './real-or-embedded.ts'

const real = realOrNot()
const folder = mkdtempSync(join(tmpdir(), 'kopf-manifests-'))
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: planets.manifests.example.com }
spec:
  group: manifests.example.com
  scope: Namespaced
  names: { plural: planets, singular: planet, kind: Planet, listKind: PlanetList }
  versions:
    - schema: { openAPIV3Schema: { x-kubernetes-preserve-unknown-fields: true, type: object } }
      storage: true
      name: v1
      served: true
`
const mars = `
apiVersion: manifests.example.com/v1
kind: Planet
metadata: { name: mars }
spec: { moons: 2 }
`
const list = `
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: first }, data: { color: red } }
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: second }, data: { enabled: 'yes' } }
`

test('manifests of a test cluster are created in a valid order: CRDs first, then all documents and list items', async () => {
  const path = write('all.yaml', `${mars}---\n${list}---\n# nothing but a comment\n---\n${crd}`)
  await using cluster = await startCluster({ manifests: [path], real })
  expect((await cluster.get('planets.manifests.example.com', 'mars')).spec).toEqual({ moons: 2 })
  expect((await cluster.get('configmaps', 'first')).data).toEqual({ color: 'red' })
  expect((await cluster.get('configmaps', 'second')).metadata.namespace).toBe(cluster.namespace)
  await cluster.settled({ quiet: '200ms' })
})

test('manifests of a test cluster can be folders, URLs of files, and objects', async () => {
  mkdirSync(join(folder, 'deploy'))
  write('deploy/2-mars.yaml', mars)
  write('deploy/1-crd.yml', crd)
  write('deploy/README.md', 'not a manifest')
  const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } }
  const manifests = [join(folder, 'deploy'), pathToFileURL(write('list.yaml', list)), settings]
  await using cluster = await startCluster({ manifests, real })
  await cluster.get('planets', 'mars')
  const names = (await cluster.list('configmaps')).map(({ metadata }) => metadata.name)
  expect(names).toEqual(expect.arrayContaining(['first', 'second', 'settings']))
})

test('a test cluster can apply further manifests, which changes existing objects', async () => {
  const path = write('list-again.yaml', list)
  await using cluster = await startCluster({ real })
  const [first] = await cluster.apply(path)
  expect(first).toMatchObject({ metadata: { name: 'first' }, data: { color: 'red' } })
  write('list-again.yaml', list.replace('red', 'blue'))
  const [changed] = await cluster.apply(pathToFileURL(path))
  expect(changed).toMatchObject({ metadata: { uid: first!.metadata.uid }, data: { color: 'blue' } })
  const [planet] = await cluster.apply(write('mars.yaml', mars), write('crd.yaml', crd))
  expect(planet).toMatchObject({ kind: 'Planet' })
})

test('an error in a manifest names the file, the document and the object', async () => {
  const start = (name: string, text: string) => startCluster({ manifests: [write(name, text)], real })
  await expect(start('bad.yaml', `${list}---\n${mars.replace('Planet', 'Comet')}`)).rejects.toThrow(
    `Cannot create Comet "mars", document 2 of "${join(folder, 'bad.yaml')}": Cannot find the resource`,
  )
  await expect(start('invalid.yaml', list.replace('red', '[1]'))).rejects.toThrow(
    `Cannot create ConfigMap "first", item 1 of "${join(folder, 'invalid.yaml')}": `,
  )
  await expect(start('nameless.yaml', 'apiVersion: v1\nkind: ConfigMap')).rejects.toThrow(
    `Cannot create "${join(folder, 'nameless.yaml')}": it has no metadata.name`,
  )
  await expect(start('broken.yaml', 'a: [')).rejects.toThrow(`Cannot read "${join(folder, 'broken.yaml')}": `)
  await expect(startCluster({ manifests: ['nowhere.yaml'], real })).rejects.toMatchObject({ code: 'KOPF_FILE' })
  await expect(startCluster({ manifests: ['https://example.com/crd.yaml'], real })).rejects.toThrow('not downloaded')
})

test('operators in a test cluster serve all its namespaces and no others, and manifests are created there', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', { labels: { mine: 'yes' } }, ({ patch, namespace }) => {
    patch.data.seen = namespace
  })
  const labels = { mine: 'yes' }
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'green' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'green', labels } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'robot', namespace: 'green' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'robot' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'blue' }],
    },
  ]
  await using cluster = await startCluster({ namespaces: ['blue', 'green'], objects, real })
  const [blue, green] = [cluster.namespaceOf('blue'), cluster.namespaceOf('green')]
  expect([cluster.namespace, [...cluster.namespaces!]]).toEqual([blue, [blue, green]])
  expect(blue).toMatch(isReal ? /^kopf-test-\w+-blue$/ : /^blue$/)
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name: 'settings', labels })
  await cluster.until('configmaps', 'settings', { data: { seen: blue } })
  await cluster.until('configmaps', 'settings', { data: { seen: green } }, { namespace: green })
  const binding = await cluster.get(['rbac.authorization.k8s.io/v1', 'rolebindings'], 'robot', { namespace: green })
  expect(binding.subjects?.[0]?.namespace).toBe(blue)
  await cluster.create('configmaps', { name: 'unserved', namespace: 'default', labels })
  await cluster.settled({ quiet: '300ms' })
  expect((await cluster.get('configmaps', 'unserved', { namespace: 'default' })).data).toBeUndefined()
  await cluster.delete('configmaps', 'unserved', { namespace: 'default' })
  expect(() => cluster.namespaceOf('red')).toThrow('the cluster was started with "blue", "green"')
  await expect(startCluster({ namespaces: [] })).rejects.toMatchObject({ code: 'KOPF_NAMESPACE' })
})

test('objects outside of the namespaces of a test cluster are removed at its end', async () => {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'kit-robot' },
    rules: [],
  }
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kit-settings', namespace: 'default' } }
  const first = await startCluster({ manifests: [role, config, write('crd-only.yaml', crd)], real })
  const made = [
    ['clusterroles', 'kit-robot'],
    ['configmaps', 'kit-settings'],
    ['customresourcedefinitions', 'planets.manifests.example.com'],
  ] as const
  for (const [resource, name] of made) await first.get(resource, name, { namespace: 'default' })
  await first.stop()
  await using second = await startCluster({ real })
  for (const [resource, name] of made) {
    const got = second.get(resource, name, { namespace: 'default' })
    const isGone = await got.then(({ metadata }) => metadata.deletionTimestamp !== undefined, isNotFound)
    expect(isGone).toBe(true)
  }
})
