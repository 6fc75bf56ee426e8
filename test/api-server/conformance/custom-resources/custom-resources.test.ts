/** CRDs: establishing, several versions, printer columns, changes, deletion, selectable fields. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { anything, crd, crdServed, crdsPath, installCrd } from '../../../support/crds.ts'
import {
  eventually,
  expectFailure,
  expectInvalid,
  expectStatus,
  timestamp,
  warningsOf,
} from '../../../support/expectations.ts'
import { object } from '../../../support/objects.ts'

const cluster = useCluster()
const struct = (properties: Tree, rest: Tree = {}): Tree => ({ type: 'object', properties, ...rest })

let count = 0

/** A new API group, for one test. */
function newGroup(): string {
  return `t${++count}.${cluster.group}`
}

const collection = (group: string, plural: string, version = 'v1') =>
  `/apis/${group}/${version}/namespaces/${cluster.namespace}/${plural}`

const conditions = (definition: Body) =>
  Object.fromEntries((definition.status['conditions'] as Tree[]).map(({ type, ...rest }) => [type as string, rest]))

describe.concurrent('new CRDs', () => {
  test('the API server accepts the names of a new CRD and establishes it', async () => {
    const group = newGroup()
    await cluster.installAs({ group, kind: 'Thing', names: { shortNames: ['tg'], categories: ['all'] } })
    const { body } = await cluster.api.get(`${crdsPath}/things.${group}`)
    expect(conditions(body)).toEqual({
      NamesAccepted: {
        status: 'True',
        lastTransitionTime: timestamp,
        reason: 'NoConflicts',
        message: 'no conflicts found',
      },
      Established: {
        status: 'True',
        lastTransitionTime: timestamp,
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      },
    })
    expect(body.status).toMatchObject({
      acceptedNames: {
        plural: 'things',
        singular: 'thing',
        kind: 'Thing',
        listKind: 'ThingList',
        shortNames: ['tg'],
        categories: ['all'],
      },
      storedVersions: ['v1'],
    })
  })

  test('a CRD does not get names that another CRD of its group has', async () => {
    const group = newGroup()
    await cluster.installAs({ group, kind: 'Thing', names: { shortNames: ['tg'] } })
    const second = crd({ group, kind: 'Thing', plural: 'stuffs', names: { shortNames: ['tg'] } })
    expectStatus(await cluster.api.post(crdsPath, second), 201)
    cluster.defer(() => cluster.api.delete(`${crdsPath}/stuffs.${group}`))
    await eventually(async () => {
      const { body } = await cluster.api.get(`${crdsPath}/stuffs.${group}`)
      expect(conditions(body)).toMatchObject({
        NamesAccepted: { status: 'False' },
        Established: { status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
      })
    })
    const answer = await cluster.api.get(collection(group, 'stuffs'))
    expect(answer.status).toBe(404)
  })

  test('a second CRD of the same name is refused', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({ group, kind: 'Thing' })
    const answer = await cluster.api.post(crdsPath, crd({ group, kind: 'Thing' }))
    const { name } = definition.metadata
    const details = { name, group: 'apiextensions.k8s.io', kind: 'customresourcedefinitions' }
    const message = `customresourcedefinitions.apiextensions.k8s.io "${name}" already exists`
    expectFailure(answer, 409, 'AlreadyExists', message, details)
  })

  test('objects of a cluster-scoped CRD have no namespace', async () => {
    const group = newGroup()
    await cluster.installAs({ group, kind: 'World', scope: 'Cluster' })
    const path = `/apis/${group}/v1/worlds`
    const { body } = await cluster.api.post(path, object(`${group}/v1`, 'World', 'earth'))
    expect(body.metadata).not.toHaveProperty('namespace')
    expect((await cluster.api.get(`${path}/earth`)).body).toEqual(body)
    const within = await cluster.api.get(collection(group, 'worlds'))
    expect([within.status, within.text]).toEqual([404, '404 page not found\n'])
    const misplaced = await cluster.api.post(
      path,
      object(`${group}/v1`, 'World', { name: 'mars', namespace: 'default' }),
    )
    expect(misplaced.body.metadata).not.toHaveProperty('namespace')
  })

  test('a list of custom objects has the listKind of its CRD', async () => {
    const group = newGroup()
    await cluster.installAs({ group, kind: 'Sheep', plural: 'sheep', names: { listKind: 'Flock' } })
    expect((await cluster.api.get(collection(group, 'sheep'))).body.kind).toBe('Flock')
  })

  test('the Table of a CRD has its name and creation time', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({ group, kind: 'Thing' })
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { body } = await cluster.api.get(`${crdsPath}/${definition.metadata.name}`, {}, { accept })
    expect(body.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Created At'])
    expect(body.rows[0]!.cells).toEqual([definition.metadata.name, definition.metadata.creationTimestamp])
  })
})

describe.concurrent('CRDs with several versions', () => {
  let group: string
  const version = (name: string, rest: Tree = {}) => ({
    name,
    served: true,
    storage: false,
    schema: { openAPIV3Schema: anything },
    ...rest,
  })

  beforeAll(async () => {
    group = newGroup()
    await cluster.installAs({
      group,
      kind: 'Thing',
      versions: [
        version('v1alpha1', { deprecated: true }),
        version('v1beta1', { deprecated: true, deprecationWarning: 'better use v1' }),
        version('v1', { storage: true }),
        version('v2', { served: false }),
        version('v11alpha2'),
        version('other'),
      ],
    })
  })

  test('discovery lists the versions of a CRD from the most to the least stable', async () => {
    const { body } = await cluster.api.get(`/apis/${group}`)
    const expected = ['v1', 'v1beta1', 'v11alpha2', 'v1alpha1', 'other']
    expect((body['versions'] as Tree[]).map(({ version }) => version)).toEqual(expected)
    expect(body['preferredVersion']).toEqual({ groupVersion: `${group}/v1`, version: 'v1' })
  })

  test('every version of a CRD shows the same object', async () => {
    const thing = object(`${group}/v1beta1`, 'Thing', 'shared', { spec: { size: 1 } })
    const { body } = await cluster.api.post(collection(group, 'things', 'v1beta1'), thing)
    expect(body.apiVersion).toBe(`${group}/v1beta1`)
    const { body: other } = await cluster.api.get(`${collection(group, 'things', 'v1')}/shared`)
    expect(other).toEqual({ ...body, apiVersion: `${group}/v1` })
    const changed = await cluster.api.mergePatch(`${collection(group, 'things', 'v1alpha1')}/shared`, {
      spec: { size: 2 },
    })
    expect(changed.body).toMatchObject({ apiVersion: `${group}/v1alpha1`, spec: { size: 2 } })
    const { body: list } = await cluster.api.get(collection(group, 'things', 'v1'), {
      fieldSelector: 'metadata.name=shared',
    })
    expect(list).toMatchObject({ apiVersion: `${group}/v1`, items: [{ apiVersion: `${group}/v1`, spec: { size: 2 } }] })
  })

  test('a watch shows custom objects in the version of its path', async () => {
    const path = collection(group, 'things', 'v1beta1')
    const { resourceVersion } = (await cluster.api.get(path)).body.metadata
    const watch = await cluster.api.watch(path, { resourceVersion, fieldSelector: 'metadata.name=watched' })
    const thing = object(`${group}/v1`, 'Thing', 'watched')
    expectStatus(await cluster.api.post(collection(group, 'things', 'v1'), thing), 201)
    const { object: seen } = await watch.next()
    expect([seen.apiVersion, seen.metadata.name]).toEqual([`${group}/v1beta1`, 'watched'])
    watch.close()
  })

  test('a version that is not served answers 404', async () => {
    const answer = await cluster.api.get(collection(group, 'things', 'v2'))
    expect([answer.status, answer.text]).toEqual([404, '404 page not found\n'])
  })

  test('a deprecated version of a CRD answers with a warning', async () => {
    const alpha = await cluster.api.get(collection(group, 'things', 'v1alpha1'))
    expect(warningsOf(alpha)).toEqual([`${group}/v1alpha1 Thing is deprecated; use ${group}/v1 Thing`])
    const beta = await cluster.api.get(collection(group, 'things', 'v1beta1'))
    expect(warningsOf(beta)).toEqual(['better use v1'])
    const stable = await cluster.api.get(collection(group, 'things', 'v1'))
    expect(warningsOf(stable)).toEqual([])
  })

  test('each version of a CRD prunes and fills in by its own schema', async () => {
    const group = newGroup()
    const schema = (field: string) => ({
      openAPIV3Schema: struct({ spec: struct({ [field]: { type: 'string', default: field } }) }),
    })
    await cluster.installAs({
      group,
      kind: 'Thing',
      versions: [version('v1', { storage: true, schema: schema('a') }), version('v2', { schema: schema('b') })],
    })
    const thing = object(`${group}/v2`, 'Thing', 'x', { spec: { b: 'mine' } })
    expectStatus(await cluster.api.post(collection(group, 'things', 'v2'), thing), 201)
    const kept = await cluster.api.get(`${collection(group, 'things', 'v1')}/x`)
    expect(kept.body.spec).toEqual({ a: 'a' })
    // Fields that the storage version does not have are lost, and only the storage version fills in defaults.
    const other = await cluster.api.get(`${collection(group, 'things', 'v2')}/x`)
    expect(other.body.spec).toEqual({})
  })
})

describe.concurrent('printer columns', () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  let path: string

  beforeAll(async () => {
    const group = newGroup()
    await cluster.installAs({
      group,
      kind: 'Thing',
      version: {
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size', description: 'How large' },
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
          { name: 'First', type: 'string', jsonPath: '.spec.list[0].name' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'On', type: 'boolean', jsonPath: '.spec.on' },
          { name: 'Part', type: 'number', jsonPath: '.spec.part', priority: 1 },
          { name: 'Since', type: 'date', jsonPath: '.spec.since' },
          { name: 'Object', type: 'string', jsonPath: '.spec.map' },
          { name: 'Label', type: 'string', jsonPath: '.metadata.labels.example\\.com/part' },
        ],
      },
    })
    path = collection(group, 'things')
    const conditions = [
      { type: 'Other', status: 'False' },
      { type: 'Ready', status: 'True' },
    ]
    const full = {
      spec: {
        size: 3,
        on: true,
        part: 0.5,
        list: [{ name: 'one' }, { name: 'two' }],
        map: { a: 1 },
        since: '2020-01-01T00:00:00Z',
      },
      status: { phase: 'Ready', conditions },
    }
    const metadata = { name: 'full', labels: { 'example.com/part': 'x' } }
    expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', metadata, full)), 201)
    expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', 'bare')), 201)
    const wrong = { spec: { size: 'large', on: 'yes', since: 'never' } }
    expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', 'wrong', wrong)), 201)
  })

  test('the Table of custom objects has the printer columns of the CRD after the name', async () => {
    const { body } = await cluster.api.get(path, {}, { accept })
    const columns = body.columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority])
    expect(columns).toEqual([
      ['Name', 'string', 'name', 0],
      ['Size', 'integer', '', 0],
      ['Phase', 'string', '', 0],
      ['First', 'string', '', 0],
      ['Ready', 'string', '', 0],
      ['On', 'boolean', '', 0],
      ['Part', 'number', '', 1],
      ['Since', 'date', '', 0],
      ['Object', 'string', '', 0],
      ['Label', 'string', '', 0],
    ])
    const descriptions = body.columnDefinitions.map(({ description }) => description)
    expect(descriptions.slice(1, 3)).toEqual([
      'How large',
      'Custom resource definition column (in JSONPath format): .status.phase',
    ])
  })

  test.each<[string, unknown[]]>([
    ['full', ['full', 3, 'Ready', 'one', 'True', true, 0.5, expect.stringMatching(/^\d+y(\d+d)?$/), '{"a":1}', 'x']],
    ['bare', ['bare', null, null, null, null, null, null, null, null, null]],
    ['wrong', ['wrong', null, null, null, null, null, null, '<invalid>', null, null]],
  ])('printer columns show the values of the object: %s', async (name, cells) => {
    const { body } = await cluster.api.get(`${path}/${name}`, {}, { accept })
    expect(body.rows[0]!.cells).toEqual(cells)
  })
})

describe.concurrent('changed CRDs', () => {
  test('a changed schema of a CRD takes effect', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({
      group,
      kind: 'Thing',
      schema: struct({ spec: struct({ a: { type: 'string' } }) }),
    })
    const path = collection(group, 'things')
    const before = await cluster.api.post(path, object(`${group}/v1`, 'Thing', 'x', { spec: { a: '1', b: '2' } }))
    expect(before.body.spec).toEqual({ a: '1' })
    const properties = { a: { type: 'string' }, b: { type: 'string', default: 'new' } }
    const operations = [
      { op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: struct({ spec: struct(properties) }) },
    ]
    const changed = await cluster.api.jsonPatch(`${crdsPath}/${definition.metadata.name}`, operations)
    expect(changed.body.metadata.generation).toBe(2)
    await eventually(async () => {
      // Objects that were stored before are read with the new defaults.
      expect((await cluster.api.get(`${path}/x`)).body.spec).toEqual({ a: '1', b: 'new' })
    })
  })

  test('a version that is added to a CRD is served', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({ group, kind: 'Thing' })
    expectStatus(await cluster.api.post(collection(group, 'things'), object(`${group}/v1`, 'Thing', 'x')), 201)
    const second = { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: anything } }
    const operations = [{ op: 'add', path: '/spec/versions/-', value: second }]
    const changed = expectStatus(
      await cluster.api.jsonPatch(`${crdsPath}/${definition.metadata.name}`, operations),
      200,
    )
    await crdServed(cluster.api, changed)
    const { body } = await cluster.api.get(`${collection(group, 'things', 'v2')}/x`)
    expect(body.apiVersion).toBe(`${group}/v2`)
  })

  test('the status of a CRD keeps the versions in which objects may be stored', async () => {
    const group = newGroup()
    const versions = [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } },
      { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: anything } },
    ]
    const definition = await cluster.installAs({ group, kind: 'Thing', versions })
    const path = `${crdsPath}/${definition.metadata.name}`
    const moved = versions.map((each) => ({ ...each, storage: each.name === 'v2' }))
    const { body } = await cluster.api.mergePatch(path, { spec: { versions: moved } })
    expect(body.status['storedVersions']).toEqual(['v1', 'v2'])
    const answer = await cluster.api.mergePatch(path, { spec: { versions: [moved[1]] } })
    expectInvalid(
      answer,
      { kind: 'CustomResourceDefinition', group: 'apiextensions.k8s.io', name: definition.metadata.name },
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and ' +
        'must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from ' +
        'status.storedVersions',
    )
  })

  test('the scope of a CRD is immutable', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({ group, kind: 'Thing' })
    const answer = await cluster.api.mergePatch(`${crdsPath}/${definition.metadata.name}`, {
      spec: { scope: 'Cluster' },
    })
    expectInvalid(
      answer,
      { kind: 'CustomResourceDefinition', group: 'apiextensions.k8s.io', name: definition.metadata.name },
      'spec.scope: Invalid value: "Cluster": field is immutable',
    )
  })

  test('a CRD whose version is no longer served answers 404', async () => {
    const group = newGroup()
    const definition = await cluster.installAs({ group, kind: 'Thing' })
    const operations = [{ op: 'replace', path: '/spec/versions/0/served', value: false }]
    expectStatus(await cluster.api.jsonPatch(`${crdsPath}/${definition.metadata.name}`, operations), 200)
    await eventually(async () => void expectStatus(await cluster.api.get(collection(group, 'things')), 404))
  })
})

describe.concurrent('deleted CRDs', () => {
  test('the deletion of a CRD deletes its objects, and watches see them deleted', async () => {
    const group = newGroup()
    const definition = await installCrd(cluster.api, crd({ group, kind: 'Thing' }))
    const path = collection(group, 'things')
    for (const name of ['x', 'y']) expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', name)), 201)
    const { resourceVersion } = (await cluster.api.get(path)).body.metadata
    const watch = await cluster.api.watch(path, { resourceVersion })
    expectStatus(await cluster.api.delete(`${crdsPath}/${definition.metadata.name}`), 200)
    const events = await watch.take(2)
    expect(events.map(({ type, object: { metadata } }) => `${type} ${metadata.name}`).sort()).toEqual([
      'DELETED x',
      'DELETED y',
    ])
    await eventually(
      async () => void expectStatus(await cluster.api.get(`${crdsPath}/${definition.metadata.name}`), 404),
    )
    await eventually(async () => void expectStatus(await cluster.api.get(path), 404))
    watch.close()
  })

  test('a CRD that is created again has none of its old objects', async () => {
    const group = newGroup()
    const definition = await installCrd(cluster.api, crd({ group, kind: 'Thing' }))
    const path = collection(group, 'things')
    expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', 'x')), 201)
    expectStatus(await cluster.api.delete(`${crdsPath}/${definition.metadata.name}`), 200)
    await eventually(
      async () => void expectStatus(await cluster.api.get(`${crdsPath}/${definition.metadata.name}`), 404),
    )
    await cluster.installAs({ group, kind: 'Thing' })
    await eventually(async () => expect((await cluster.api.get(path)).body.items).toEqual([]))
  })

  test('a deleted CRD waits for objects with finalizers, and accepts no new objects', async () => {
    const group = newGroup()
    const definition = await installCrd(cluster.api, crd({ group, kind: 'Thing' }))
    const path = collection(group, 'things')
    const held = object(`${group}/v1`, 'Thing', { name: 'held', finalizers: ['example.com/keep'] })
    expectStatus(await cluster.api.post(path, held), 201)
    const deleted = await cluster.api.delete(`${crdsPath}/${definition.metadata.name}`)
    expect(deleted.body.metadata).toMatchObject({
      deletionTimestamp: timestamp,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    })
    await eventually(async () => {
      const { body } = await cluster.api.get(`${crdsPath}/${definition.metadata.name}`)
      expect(conditions(body)).toMatchObject({ Terminating: { status: 'True' } })
    })
    await eventually(async () => {
      expect((await cluster.api.get(`${path}/held`)).body.metadata.deletionTimestamp).toEqual(timestamp)
    })
    const late = await cluster.api.post(path, object(`${group}/v1`, 'Thing', 'late'))
    const why = 'create not allowed while custom resource definition is terminating'
    const details = { name: 'late', group, kind: 'things' }
    expectFailure(late, 403, 'Forbidden', `things.${group} "late" is forbidden: ${why}`, details)
    expectStatus(await cluster.api.mergePatch(`${path}/held`, { metadata: { finalizers: null } }), 200)
    await eventually(
      async () => void expectStatus(await cluster.api.get(`${crdsPath}/${definition.metadata.name}`), 404),
    )
  })
})

describe('selectable fields', () => {
  let group: string
  let path: string

  beforeAll(async () => {
    group = newGroup()
    await cluster.installAs({
      group,
      kind: 'Thing',
      schema: struct({
        spec: struct({ colour: { type: 'string' }, size: { type: 'integer' }, on: { type: 'boolean' } }),
      }),
      version: {
        selectableFields: [{ jsonPath: '.spec.colour' }, { jsonPath: '.spec.size' }, { jsonPath: '.spec.on' }],
      },
    })
    path = collection(group, 'things')
    for (const [name, spec] of Object.entries({
      a: { colour: 'red', size: 1, on: true },
      b: { colour: 'blue', size: 2, on: false },
      c: {},
    })) {
      expectStatus(await cluster.api.post(path, object(`${group}/v1`, 'Thing', name, { spec })), 201)
    }
  })

  test.each([
    ['spec.colour=red', ['a']],
    ['spec.colour!=red', ['b', 'c']],
    ['spec.size=2', ['b']],
    ['spec.on=true', ['a']],
    ['spec.colour=', ['c']],
    ['spec.colour=blue,metadata.name=b', ['b']],
  ])('a field selector selects custom objects by selectable fields: %s', async (fieldSelector, expected) => {
    const { body } = await cluster.api.get(path, { fieldSelector })
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual(expected)
  })

  test('a watch with a selectable field sees objects enter and leave the selection', async () => {
    const { resourceVersion } = (await cluster.api.get(path)).body.metadata
    const watch = await cluster.api.watch(path, { resourceVersion, fieldSelector: 'spec.colour=green' })
    const thing = object(`${group}/v1`, 'Thing', 'd', { spec: { colour: 'green' } })
    expectStatus(await cluster.api.post(path, thing), 201)
    expect((await watch.next()).type).toBe('ADDED')
    expectStatus(await cluster.api.mergePatch(`${path}/d`, { spec: { colour: 'grey' } }), 200)
    expect((await watch.next()).type).toBe('DELETED')
    watch.close()
    expectStatus(await cluster.api.delete(`${path}/d`), 200)
  })

  test('a field selector with another field is a bad request', async () => {
    const answer = await cluster.api.get(path, { fieldSelector: 'spec.other=x' })
    expectFailure(answer, 400, 'BadRequest', 'field label not supported: spec.other')
  })
})
