import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../kube/objects.ts'
import type { ApiResource } from '../resource.ts'
import { OpenApi } from './documents.ts'

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const names = { shortNames: [], categories: [], subresources: [], columns: [], strategy: {} as never }

const widget: ApiResource = {
  ...names,
  group: 'tables.kopf.dev',
  version: 'v1',
  plural: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  listKind: 'WidgetList',
  namespaced: true,
  verbs,
  isCustom: true,
  collection: 'widgets.tables.kopf.dev',
  subresources: [
    { name: 'status', group: 'tables.kopf.dev', version: 'v1', kind: 'Widget', verbs: ['get', 'patch', 'update'] },
    { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
  ],
  openapi: JSON.parse(
    '{"type":"object","properties":{"spec":{"type":"object"},"$ref":{"type":"string"},"__proto__":{}}}',
  ),
}
const configMap: ApiResource = {
  ...names,
  group: '',
  version: 'v1',
  plural: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  listKind: 'ConfigMapList',
  namespaced: true,
  verbs,
  collection: 'configmaps',
}
const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const toMeta = (name: string): JsonObject => ({ $ref: `#/components/schemas/${meta}.${name}` })
const definitions: Record<string, JsonObject> = {
  'io.k8s.api.core.v1.ConfigMap': { type: 'object', properties: { metadata: { allOf: [toMeta('ObjectMeta')] } } },
  'io.k8s.api.core.v1.ConfigMapList': { type: 'object', properties: { metadata: toMeta('ListMeta') } },
  'io.k8s.api.core.v1.Unused': { type: 'object' },
  'io.k8s.api.autoscaling.v1.Scale': { type: 'object', properties: { metadata: toMeta('ObjectMeta') } },
  [`${meta}.ObjectMeta`]: { type: 'object', properties: { creationTimestamp: toMeta('Time') } },
  [`${meta}.ListMeta`]: { type: 'object' },
  [`${meta}.Time`]: { type: 'string', format: 'date-time' },
  [`${meta}.Status`]: { type: 'object' },
  [`${meta}.Patch`]: { type: 'object' },
  [`${meta}.DeleteOptions`]: { type: 'object', properties: { kind: { type: 'string', description: 'The kind.' } } },
}
const api = new OpenApi([widget, configMap], definitions)

interface Parsed {
  paths: Record<string, Record<string, JsonObject>>
  components: { schemas: Record<string, JsonObject> }
}

function read(path: string): Parsed {
  return JSON.parse(api.answer({ path }).body as string)
}

const collection = '/apis/tables.kopf.dev/v1/namespaces/{namespace}/widgets'

describe('a document', () => {
  const { paths, components } = read('apis/tables.kopf.dev/v1')

  test('has the paths that the real server has for a CRD, and the same operations', () => {
    const ids = Object.entries(paths).map(([path, { parameters: _, ...operations }]) => {
      return [path, Object.values(operations).map((operation) => operation['operationId'])]
    })
    const group = 'TablesKopfDevV1'
    const subresource = (name: string): string[] =>
      ['read', 'patch', 'replace'].map((word) => `${word}${group}NamespacedWidget${name}`)
    expect(Object.fromEntries(ids)).toEqual({
      [collection]: [
        `list${group}NamespacedWidget`,
        `create${group}NamespacedWidget`,
        `delete${group}CollectionNamespacedWidget`,
      ],
      [`${collection}/{name}`]: ['read', 'replace', 'patch', 'delete'].map((word) => `${word}${group}NamespacedWidget`),
      [`${collection}/{name}/status`]: subresource('Status'),
      [`${collection}/{name}/scale`]: subresource('Scale'),
      '/apis/tables.kopf.dev/v1/widgets': [`list${group}WidgetForAllNamespaces`],
    })
  })

  test('tells kubectl that patches take fieldValidation', () => {
    expect(paths[`${collection}/{name}`]!['patch']).toMatchObject({
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: 'tables.kopf.dev', version: 'v1', kind: 'Widget' },
      parameters: expect.arrayContaining([expect.objectContaining({ name: 'fieldValidation', in: 'query' })]),
    })
  })

  test('describes the kind with the fields of all objects', () => {
    const schema = components.schemas['dev.kopf.tables.v1.Widget']!
    expect(Object.keys(schema['properties']!).sort()).toEqual([
      '$ref',
      '__proto__',
      'apiVersion',
      'kind',
      'metadata',
      'spec',
    ])
    expect(schema['x-kubernetes-group-version-kind']).toEqual([
      { group: 'tables.kopf.dev', kind: 'Widget', version: 'v1' },
    ])
  })

  test('refers to nothing that it does not have', () => {
    for (const path of ['apis/tables.kopf.dev/v1', 'api/v1']) {
      const body = api.answer({ path }).body as string
      const referred = [...body.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name)
      expect(referred.length).toBeGreaterThan(0)
      expect(Object.keys(read(path).components.schemas)).toEqual(expect.arrayContaining([...new Set(referred)]))
    }
  })

  test('of built-in kinds has their definitions under the names that clients know', () => {
    const { schemas } = read('api/v1').components
    expect(schemas['io.k8s.api.core.v1.ConfigMap']).toMatchObject({
      properties: { metadata: { allOf: [toMeta('ObjectMeta')] } },
    })
    expect(schemas).toHaveProperty(['io.k8s.apimachinery.pkg.apis.meta.v1.Time'])
    expect(schemas).not.toHaveProperty(['io.k8s.api.core.v1.Unused'])
  })
})

describe('answers', () => {
  const index = JSON.parse(api.answerIndex().body as string) as { paths: Record<string, { serverRelativeURL: string }> }
  const url = new URL(index.paths['api/v1']!.serverRelativeURL, 'http://server')
  const hash = url.searchParams.get('hash')!

  test('the index with the address of every document', () => {
    expect(Object.keys(index.paths)).toEqual(['api/v1', 'apis/tables.kopf.dev/v1'])
    expect(url.pathname).toBe('/openapi/v3/api/v1')
  })

  test('what is asked for by its hash so that it can be kept', () => {
    expect(api.answer({ path: 'api/v1', hash })).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, immutable', etag: `"${hash}"` },
    })
  })

  test('another hash by leading to the present one', () => {
    expect(api.answer({ path: 'api/v1', hash: 'old' })).toMatchObject({
      status: 301,
      headers: { location: `/openapi/v3/api/v1?hash=${hash}` },
    })
  })

  test('who has it already, or cannot read it', () => {
    expect(api.answer({ path: 'api/v1', ifNoneMatch: `"${hash}"` })).toMatchObject({ status: 304, body: '' })
    expect(api.answer({ path: 'api/v1', accept: 'text/html' })).toMatchObject({ status: 406 })
    expect(api.answer({ path: 'apis/nope/v1' })).toMatchObject({ status: 404, body: '' })
    expect(api.answerIndex(api.answerIndex().headers['etag'] as string).status).toBe(304)
  })
})
