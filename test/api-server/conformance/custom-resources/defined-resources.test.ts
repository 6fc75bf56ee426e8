/** CRDs of `defineResource` with every option: the API server stores them unchanged and acts by them. */
import { type CustomResource, defineResource, toCrd } from 'kopf'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crdsPath, installCrd } from '../../../support/crds.ts'
import { expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { object } from '../../../support/objects.ts'

const cluster = useCluster()
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().optional(),
})

const spec = z.object({
  replicas: z.int().min(0).default(1),
  maxReplicas: z.int().optional(),
  color: z.enum(['red', 'green']).default('red'),
  paused: z.boolean().default(false),
  since: z.iso.datetime().optional(),
  name: z
    .string()
    .max(20)
    .meta({ 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the name cannot be changed' }] })
    .optional(),
  port: z
    .union([z.number(), z.string()])
    .meta({ 'x-kubernetes-int-or-string': true, description: 'A number or a name.' })
    .optional(),
  target: z.union([z.int().min(1), z.string().max(4)]).optional(),
  ports: z
    .array(z.object({ name: z.string(), number: z.int() }))
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional(),
  zones: z.array(z.string()).meta({ 'x-kubernetes-list-type': 'set' }).optional(),
  labels: z.record(z.string(), z.string()).meta({ 'x-kubernetes-map-type': 'atomic' }).optional(),
  template: z.looseObject({}).meta({ 'x-kubernetes-embedded-resource': true }).optional(),
  parameters: z.any().meta({ 'x-kubernetes-preserve-unknown-fields': true }).optional(),
  note: z.string().meta({ nullable: true }).optional(),
})

const status = z.object({
  phase: z.string(),
  replicas: z.int(),
  selector: z.string(),
  conditions: z.array(condition).meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] }),
})

function define() {
  return defineResource({
    group: cluster.group,
    version: 'v1',
    kind: 'Database',
    listKind: 'Databases',
    shortNames: ['db'],
    categories: ['all'],
    description: 'A database with replicas.',
    spec,
    status,
    printerColumns: [
      { name: 'Phase', path: 'status.phase', description: 'The state of the database.' },
      { name: 'Replicas', path: 'spec.replicas', format: 'int32' },
      { name: 'Paused', path: 'spec.paused' },
      { name: 'Since', path: 'spec.since' },
      { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'Color', path: 'spec.color', priority: 1 },
      { name: 'Team', path: 'metadata.labels.team', type: 'string' },
      { name: 'Age', path: 'metadata.creationTimestamp' },
    ],
    scale: { specReplicas: 'spec.replicas', statusReplicas: 'status.replicas', selector: 'status.selector' },
    rules: [
      {
        rule: '!has(self.spec.maxReplicas) || self.spec.replicas <= self.spec.maxReplicas',
        message: 'there are more replicas than allowed',
        reason: 'FieldValueForbidden',
        fieldPath: 'spec.replicas',
      },
      {
        rule: 'self.metadata.name != "reserved"',
        messageExpression: '"the name " + self.metadata.name + " is reserved"',
      },
      { rule: '!oldSelf.hasValue() || oldSelf.value().spec.color == self.spec.color', optionalOldSelf: true },
    ],
    selectableFields: ['spec.color', 'spec.paused', 'spec.replicas', 'status.phase'],
    storage: true,
    labels: { 'example.com/team': 'storage' },
    annotations: { 'example.com/docs': 'https://example.com/databases' },
  })
}

const databases = () => cluster.custom('databases')

function create(name: string, fields: Tree = {}, metadata: Tree = {}): Promise<Answer> {
  return cluster.api.post(databases(), object(`${cluster.group}/v1`, 'Database', { name, ...metadata }, fields))
}

async function install(...[definition, ...versions]: [CustomResource<object>, ...CustomResource<object>[]]) {
  const crd = toCrd(definition, ...versions) as unknown as Tree & { metadata: { name: string } }
  cluster.defer(() => cluster.api.delete(`${crdsPath}/${crd.metadata.name}`))
  await installCrd(cluster.api, crd)
  return { crd, stored: expectStatus(await cluster.api.get(`${crdsPath}/${crd.metadata.name}`), 200) }
}

describe('a resource with every option', () => {
  let installed: Awaited<ReturnType<typeof install>>

  beforeAll(async () => {
    const alpha = { group: cluster.group, kind: 'Database', listKind: 'Databases' } as const
    installed = await install(
      define(),
      defineResource({ ...alpha, version: 'v1beta1', spec, status, deprecated: 'use v1, v1beta1 ends in May' }),
      defineResource({ ...alpha, version: 'v1alpha2', deprecated: true, preserveUnknownFields: true, spec }),
      defineResource({ ...alpha, version: 'v1alpha1', served: false }),
    )
  })

  test('the API server stores the CRD unchanged', () => {
    const { crd, stored } = installed
    const { conversion: _, ...storedSpec } = stored.spec
    expect(storedSpec).toEqual(crd['spec'])
    expect(stored.metadata).toMatchObject({
      labels: { 'example.com/team': 'storage' },
      annotations: { 'example.com/docs': 'https://example.com/databases' },
    })
    expect(stored.status['storedVersions']).toEqual(['v1'])
    expect(JSON.stringify(stored)).not.toContain('9007199254740991')
  })

  test('a table of the objects has the printer columns, with types from the schema', async () => {
    const since = new Date(Date.now() - 3_600_000).toISOString()
    expectStatus(await create('shown', { spec: { replicas: 3, since } }, { labels: { team: 'red' } }), 201)
    const conditions = [{ type: 'Ready', status: 'True' }]
    expectStatus(
      await cluster.api.mergePatch(`${databases()}/shown/status`, { status: { phase: 'Running', conditions } }),
      200,
    )
    const { body } = await cluster.api.get(`${databases()}/shown`, {}, asTable)
    expect(body.columnDefinitions.map(({ name, type, priority }) => [name, type, priority])).toEqual([
      ['Name', 'string', 0],
      ['Phase', 'string', 0],
      ['Replicas', 'integer', 0],
      ['Paused', 'boolean', 0],
      ['Since', 'date', 0],
      ['Ready', 'string', 0],
      ['Color', 'string', 1],
      ['Team', 'string', 0],
      ['Age', 'date', 0],
    ])
    expect(body.columnDefinitions[1]!['description']).toBe('The state of the database.')
    expect(body.rows[0]!.cells).toEqual([
      'shown',
      'Running',
      3,
      false,
      expect.stringMatching(/^(59|60|61)m$/),
      'True',
      'red',
      'red',
      expect.stringMatching(/^\d+s$/),
    ])
  })

  test('the scale subresource reads and writes the fields of the resource', async () => {
    expectStatus(await create('scaled', { spec: { replicas: 2 } }), 201)
    expectStatus(
      await cluster.api.mergePatch(`${databases()}/scaled/status`, { status: { replicas: 1, selector: 'app=db' } }),
      200,
    )
    const scale = expectStatus(await cluster.api.get(`${databases()}/scaled/scale`), 200)
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 1, selector: 'app=db' } })
    expectStatus(await cluster.api.put(`${databases()}/scaled/scale`, { ...scale, spec: { replicas: 5 } }), 200)
    expect((await cluster.api.get(`${databases()}/scaled`)).body.spec['replicas']).toBe(5)
  })

  test('a rule of the resource refuses an object with its message, reason and field', async () => {
    const subject = { kind: 'Database', group: cluster.group }
    expectInvalid(
      await create('crowded', { spec: { replicas: 5, maxReplicas: 3 } }),
      { ...subject, name: 'crowded' },
      'spec.replicas: Forbidden: there are more replicas than allowed',
    )
    const reserved = await create('reserved')
    expect([reserved.status, reserved.body['message']]).toEqual([
      422,
      expect.stringContaining('the name reserved is reserved'),
    ])
  })

  test('a rule with optionalOldSelf allows the creation of an object and refuses its change', async () => {
    expectStatus(await create('painted', { spec: { color: 'green' } }), 201)
    const answer = await cluster.api.mergePatch(`${databases()}/painted`, { spec: { color: 'red' } })
    expect(answer.status).toBe(422)
  })

  test('a rule in the metadata of a field refuses a change of the field', async () => {
    expectStatus(await create('named', { spec: { name: 'first' } }), 201)
    const answer = await cluster.api.mergePatch(`${databases()}/named`, { spec: { name: 'second' } })
    expect([answer.status, answer.body['message']]).toEqual([
      422,
      expect.stringContaining('the name cannot be changed'),
    ])
  })

  test.each([
    ['a color', 'spec.color=green', 'status.phase=Nothing,spec.color=green', 'selected-green', { color: 'green' }],
    ['a boolean', 'spec.paused=true', 'spec.paused=true,spec.color=green', 'selected-paused', { paused: true }],
    ['an integer', 'spec.replicas=77', 'spec.replicas=77,spec.paused=true', 'selected-77', { replicas: 77 }],
  ])('objects can be selected by %s of the spec', async (_, matching, empty, name, fields) => {
    expectStatus(await create(name, { spec: fields }), 201)
    const list = async (fieldSelector: string) =>
      expectStatus(await cluster.api.get(databases(), { fieldSelector }), 200).items.map(
        ({ metadata }) => metadata.name,
      )
    expect(await list(matching)).toContain(name)
    expect(await list(empty)).toEqual([])
  })

  test.each<[string, Tree, number]>([
    ['a port that is a number', { port: 80 }, 201],
    ['a port that is a name', { port: 'http' }, 201],
    ['a port that is a boolean', { port: true }, 422],
    ['an integer or string within its bounds', { target: 1 }, 201],
    ['an integer or string that is a string within its bounds', { target: 'http' }, 201],
    ['an integer or string below its minimum', { target: 0 }, 422],
    ['an integer or string above its length', { target: 'https' }, 422],
    ['a list of type set with the same item twice', { zones: ['a', 'a'] }, 422],
    ['a list of type map with the same key twice', { ports: Array(2).fill({ name: 'a', number: 1 }) }, 422],
    ['an embedded resource', { template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: {} } }, 201],
    ['an embedded resource without a kind', { template: { apiVersion: 'v1' } }, 422],
    ['a field that is nullable by metadata', { note: null }, 201],
    ['an integer beyond the safe integers of JavaScript', { maxReplicas: 2 ** 53 }, 201],
  ])('by the extensions in the schema, the API server handles %s', async (_, fields, expected) => {
    const metadata = { generateName: 'extended-' }
    const body = object(`${cluster.group}/v1`, 'Database', metadata, { spec: fields })
    const answer = await cluster.api.post(databases(), body)
    expect([answer.status, answer.text]).toEqual([expected, expect.any(String)])
    if (expected === 201) expect(answer.body.spec).toMatchObject(fields)
  })

  test.each([
    ['9223372036854775807', 201],
    ['9223372036854775808', 422],
  ])('an integer without a format has the range of int64: %s gives %d', async (value, expected) => {
    const body = object(`${cluster.group}/v1`, 'Database', { generateName: 'int64-' }, { spec: { maxReplicas: 1 } })
    const text = JSON.stringify(body).replace('"maxReplicas":1', `"maxReplicas":${value}`)
    expect((await cluster.api.post(databases(), text)).status).toBe(expected)
  })

  test('the API server keeps unknown fields where the schema preserves them, and drops others', async () => {
    const { body } = await create('open', { spec: { parameters: { a: [1] }, unknown: 1 }, data: 1 })
    expect(body.spec).toMatchObject({ parameters: { a: [1] } })
    expect(body.spec).not.toHaveProperty('unknown')
    expect(body).not.toHaveProperty('data')
  })

  test('deprecated versions answer with warnings, and versions that are not served with 404', async () => {
    const beta = await cluster.api.get(cluster.custom('databases', 'v1beta1'))
    expect(warningsOf(beta)).toEqual(['use v1, v1beta1 ends in May'])
    const alpha = await cluster.api.get(cluster.custom('databases', 'v1alpha2'))
    expect(warningsOf(alpha)).toEqual([
      `${cluster.group}/v1alpha2 Database is deprecated; use ${cluster.group}/v1 Database`,
    ])
    expect((await cluster.api.get(cluster.custom('databases', 'v1alpha1'))).status).toBe(404)
  })

  test('the OpenAPI document of the server has the description of the resource', async () => {
    const { body } = await cluster.api.get(`/openapi/v3/apis/${cluster.group}/v1`)
    const schemas = (body['components'] as { schemas: Record<string, Tree> }).schemas
    const descriptions = Object.values(schemas).map(({ description }) => description)
    expect(descriptions).toContain('A database with replicas.')
  })
})

describe('printer columns without the option', () => {
  const cells = async (plural: string): Promise<[unknown[], unknown[]]> => {
    const { body }: { body: Body } = await cluster.api.get(cluster.custom(plural), {}, asTable)
    return [body.columnDefinitions.map(({ name }) => name), body.rows[0]?.cells ?? []]
  }
  const created = async (kind: string, plural: string): Promise<void> => {
    expectStatus(await cluster.api.post(cluster.custom(plural), object(`${cluster.group}/v1`, kind, 'one')), 201)
  }
  const minimal = { version: 'v1', get group() { return cluster.group } } // biome-ignore format: one line

  test('conditions and the phase of the status schema are shown, and the age last', async () => {
    await install(defineResource({ ...minimal, kind: 'Task', status }))
    await created('Task', 'tasks')
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Starting' }]
    await cluster.api.mergePatch(cluster.custom('tasks/one/status'), { status: { phase: 'Pending', conditions } })
    expect(await cells('tasks')).toEqual([
      ['Name', 'Ready', 'Reason', 'Phase', 'Age'],
      ['one', 'False', 'Starting', 'Pending', expect.stringMatching(/^\d+s$/)],
    ])
  })

  test.each([
    ['a resource without schemas', 'Plain', 'plains', {}],
    ['an empty list of columns', 'Bare', 'bares', { status, printerColumns: [] }],
  ])('%s leaves the columns to the API server', async (_, kind, plural, options) => {
    await install(defineResource({ ...minimal, kind, ...options }))
    await created(kind, plural)
    expect(await cells(plural)).toEqual([
      ['Name', 'Age'],
      ['one', expect.any(String)],
    ])
  })
})
