/**
 * Random strategic merge patches, mostly of Deployments, which have nested lists. Each patch changes one field: with several errors,
 * the answer of the real API server depends on the random order of Go's maps.
 */
import fc from 'fast-check'
import type { Tree } from '../../../support/answers.ts'
import type { Command } from './commands.ts'
import { types } from './fuzzed-resources.ts'

const names = fc.constantFrom('a', 'b', 'c', 'd')
const value = fc.constantFrom<unknown>('1', '2', null)

function listOf(element: fc.Arbitrary<Tree>, maxLength = 4): fc.Arbitrary<Tree[]> {
  return fc.array(element, { maxLength })
}

/** Mostly plain elements; sometimes a directive or an invalid element. */
function elements(plain: fc.Arbitrary<Tree>, mergeKey: string): fc.Arbitrary<Tree[]> {
  const deletion = names.map((name) => ({ $patch: 'delete', [mergeKey]: keyFor(mergeKey, name) }))
  const odd = fc.constantFrom<Tree>(
    { $patch: 'replace' },
    { $patch: 'merge', [mergeKey]: 'a' },
    { $patch: 'odd' },
    { $patch: 'delete' },
    { image: 'keyless' },
    5 as unknown as Tree,
    null as unknown as Tree,
  )
  return listOf(
    fc.oneof({ weight: 8, arbitrary: plain }, { weight: 2, arbitrary: deletion }, { weight: 1, arbitrary: odd }),
  )
}

function keyFor(mergeKey: string, name: string): unknown {
  return mergeKey === 'containerPort' ? 80 + name.charCodeAt(0) : name
}

/** A list, sometimes with `$setElementOrder`, sometimes only `$setElementOrder`. */
function ordered(field: string, list: fc.Arbitrary<Tree[]>, mergeKey: string): fc.Arbitrary<Tree> {
  const order = fc
    .shuffledSubarray(['a', 'b', 'c', 'd'])
    .map((all) => all.map((name) => (mergeKey === '' ? name : { [mergeKey]: keyFor(mergeKey, name) })))
  return fc.oneof(
    { weight: 5, arbitrary: list.map((all) => ({ [field]: all })) },
    { weight: 2, arbitrary: order.map((all) => ({ [`$setElementOrder/${field}`]: all })) },
    {
      weight: 3,
      arbitrary: fc.tuple(list, order).map(([all, some]) => ({ [`$setElementOrder/${field}`]: some, [field]: all })),
    },
    { weight: 1, arbitrary: fc.constantFrom<Tree>({ [field]: null }, { [field]: 'text' }, { [field]: [] }) },
  )
}

const variable: fc.Arbitrary<Tree> = fc.record({ name: names, value })
const port: fc.Arbitrary<Tree> = names.map((name) => ({ containerPort: keyFor('containerPort', name), name }))

const inContainer: fc.Arbitrary<Tree> = fc.oneof(
  fc.constantFrom<Tree>({ image: 'x:1' }, { image: 'x:2' }, { args: ['1', '2'] }, { args: null }, { tty: true }, {}),
  ordered('env', elements(variable, 'name'), 'name'),
  ordered('ports', elements(port, 'containerPort'), 'containerPort'),
  fc.constantFrom<Tree>(
    { resources: { limits: { cpu: '1' } } },
    { resources: { limits: { cpu: null } } },
    { resources: { $patch: 'delete' } },
    { resources: { $patch: 'replace', requests: { memory: '1Gi' } } },
    { readinessProbe: { exec: { command: ['true'] } } },
    { image: 7 },
    { unknown: { a: null } },
  ),
)

const container: fc.Arbitrary<Tree> = fc
  .tuple(names, inContainer)
  .map(([name, rest]) => ({ name, image: 'y:1', ...rest }))

const volume: fc.Arbitrary<Tree> = fc
  .tuple(
    names,
    fc.constantFrom<Tree>(
      { emptyDir: {} },
      { configMap: { name: 'x' } },
      { $retainKeys: ['name', 'emptyDir'], emptyDir: { medium: 'Memory' } },
      { $retainKeys: ['name'], emptyDir: {} },
      { $retainKeys: ['name', 'configMap'], configMap: { name: 'x', optional: true }, emptyDir: null },
    ),
  )
  .map(([name, source]) => ({ name, ...source }))

const templates: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 6, arbitrary: ordered('containers', elements(container, 'name'), 'name') },
  { weight: 2, arbitrary: ordered('volumes', elements(volume, 'name'), 'name') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Tree>(
      { tolerations: [{ key: 'a', operator: 'Exists' }] },
      { '$deleteFromPrimitiveList/tolerations': [{ key: 'a' }] },
      { '$setElementOrder/none': [] },
      { '$setElementOrder/restartPolicy': [] },
      { nodeSelector: { a: 'b', c: null } },
      { nodeSelector: { $retainKeys: ['a'], a: 'c' } },
      { terminationGracePeriodSeconds: 1.5 },
      { terminationGracePeriodSeconds: '5' },
      { $patch: 'replace' },
      { $patch: 7 },
    ),
  },
)

const finalizer = names.map((name) => `example.com/${name}`)
const someFinalizers = fc.array(finalizer, { maxLength: 4 })

const metadata: fc.Arbitrary<Tree> = fc.oneof(
  someFinalizers.map((finalizers) => ({ finalizers })),
  someFinalizers.map((gone) => ({ '$deleteFromPrimitiveList/finalizers': gone })),
  fc
    .tuple(someFinalizers, fc.uniqueArray(finalizer))
    .map(([finalizers, order]) => ({ '$setElementOrder/finalizers': order, finalizers })),
  fc.constantFrom<Tree>(
    { labels: { a: '1', b: null } },
    { labels: { $patch: 'replace', z: '1' } },
    { labels: { $retainKeys: ['a'], a: '2' } },
    { labels: { $retainKeys: ['a'], b: '2' } },
    { labels: { a: 5 } },
    { labels: { a: { b: 'c' } } },
    { annotations: { $patch: 'delete' } },
    { annotations: null },
    { finalizers: [1] },
    { finalizers: null },
    { finalizers: {} },
    { ownerReferences: [{ uid: 'x' }] },
    { ownerReferences: [{ $patch: 'delete', uid: 'x' }] },
    { '$setElementOrder/finalizers': {} },
    { '$setElementOrder/finalizers': [{ a: 1.5, b: [true, null, 'x'] }], finalizers: ['example.com/q'] },
    { creationTimestamp: 'yesterday' },
    { generation: 9 },
    { uid: 'other' },
  ),
)

const ofDeployment: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 6, arbitrary: templates.map((spec) => ({ spec: { template: { spec } } })) },
  { weight: 3, arbitrary: metadata.map((fields) => ({ metadata: fields })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Tree>(
      { spec: { replicas: 3 } },
      { spec: { replicas: 4294967298 } },
      { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
      { spec: { strategy: { $retainKeys: ['type', 'rollingUpdate'], type: 'RollingUpdate' } } },
      { spec: { strategy: { type: 'Recreate' } } },
      { spec: null },
      { spec: { template: { $patch: 'delete' } } },
      { status: { replicas: 5 } },
      { kind: 'Other', apiVersion: 'v9' },
      { unknown: null, more: { nested: 1 } },
      { $patch: 'delete' },
      { $patch: 'replace', metadata: { name: 'a' } },
    ),
  },
)

const ofConfigMap: fc.Arbitrary<Tree> = fc.oneof(
  metadata.map((fields) => ({ metadata: fields })),
  fc.constantFrom<Tree>(
    { data: { a: '1', b: null } },
    { data: { $patch: 'replace', z: '1' } },
    { data: { $retainKeys: ['a'], a: '2' } },
    { data: { a: 1 } },
    { data: [] },
    { binaryData: { a: 'AAEC' } },
    { binaryData: { a: 5 } },
    { immutable: 'yes' },
  ),
)

const query = fc.constantFrom<Record<string, string>>(
  {},
  {},
  {},
  { fieldValidation: 'Strict' },
  { fieldValidation: 'Ignore' },
  { dryRun: 'All' },
)

function patchOf(resource: 'deployments' | 'configmaps', body: fc.Arbitrary<Tree>): fc.Arbitrary<Command> {
  return fc
    .record({ name: fc.constantFrom('a', 'b'), query, body })
    .map((parts) => ({ method: 'PATCH', patch: 'strategic', resource, ...parts }))
}

/** The objects that are created before the patches. */
const beginnings: readonly Command[] = ['a', 'b'].flatMap((name): Command[] => {
  const labels = { app: name }
  const containers = ['a', 'b', 'c'].slice(name === 'a' ? 0 : 2).map((each) => ({
    name: each,
    image: `${each}:1`,
    env: [
      { name: 'a', value: '1' },
      { name: 'b', value: '1' },
    ],
  }))
  const volumes = [{ name: 'a', emptyDir: {} }]
  const template = { metadata: { labels }, spec: { containers, volumes, nodeSelector: { a: 'b' } } }
  const spec = { selector: { matchLabels: labels }, template }
  const own = { name, labels: { a: '0' }, finalizers: ['example.com/a', 'example.com/b'] }
  return [
    { method: 'POST', resource: 'deployments', body: { ...types.deployments, metadata: own, spec } },
    { method: 'POST', resource: 'configmaps', body: { ...types.configmaps, metadata: own, data: { a: '1', b: '2' } } },
  ]
})

export function strategicPatches(maxLength: number): fc.Arbitrary<Command[]> {
  const patch = fc.oneof(
    { weight: 3, arbitrary: patchOf('deployments', ofDeployment) },
    { weight: 1, arbitrary: patchOf('configmaps', ofConfigMap) },
  )
  return fc.array(patch, { minLength: 1, maxLength, size: 'max' }).map((patches) => [...beginnings, ...patches])
}
