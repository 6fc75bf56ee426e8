import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { ApiResource } from '../resource.ts'
import { builtinResources } from './resources.ts'

const resources = builtinResources(() => new Date(0))

function find(plural: string, group = ''): ApiResource {
  return resources.find((resource) => resource.plural === plural && resource.group === group)!
}

function created(plural: string, body: object, group = ''): KubeObject {
  const resource = find(plural, group)
  const apiVersion = group === '' ? 'v1' : `${group}/v1`
  const { object } = resource.strategy.decode({
    apiVersion,
    kind: resource.kind,
    metadata: { name: 'a', namespace: 'b' },
    ...body,
  } as KubeObject)
  resource.strategy.prepareForCreate(object)
  return object
}

test('each resource is served once', () => {
  const names = resources.map(({ group, version, plural }) => `${group}/${version}/${plural}`)
  expect(new Set(names).size).toBe(names.length)
})

test('each resource has a definition and columns', () => {
  for (const { kind, openapi, columns } of resources) {
    expect(openapi, kind).toMatchObject({ type: 'object' })
    expect(columns[0], kind).toMatchObject({ name: expect.any(String) })
  }
})

describe('pods are deleted gracefully', () => {
  const grace = find('pods').strategy.gracePeriodSeconds!
  const pod = (spec: object, phase = 'Running'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec,
    status: { phase },
  })
  test.each([
    ['that run somewhere: as long as they say', pod({ nodeName: 'n', terminationGracePeriodSeconds: 7 }), undefined, 7],
    ['that run somewhere: as long as the request says', pod({ nodeName: 'n', terminationGracePeriodSeconds: 7 }), 3, 3],
    ['that run somewhere: at once if asked to', pod({ nodeName: 'n' }), 0, 0],
    ['a negative period is a second', pod({ nodeName: 'n' }), -5, 1],
    ['that run nowhere: at once', pod({ terminationGracePeriodSeconds: 7 }), 30, 0],
    ['that have failed: at once', pod({ nodeName: 'n', terminationGracePeriodSeconds: 7 }, 'Failed'), undefined, 0],
    [
      'that have succeeded: at once',
      pod({ nodeName: 'n', terminationGracePeriodSeconds: 7 }, 'Succeeded'),
      undefined,
      0,
    ],
  ])('%s', (_, object, requested, seconds) => {
    expect(grace(object, requested)).toBe(seconds)
  })
})

describe('services get addresses', () => {
  const service = (name: string): KubeObject =>
    created('services', { metadata: { name, namespace: 'ns' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } })
  const addressOf = (object: KubeObject): unknown => (object['spec'] as { clusterIP: string }).clusterIP
  const nodePortOf = (object: KubeObject): number =>
    (object['spec'] as { ports: [{ nodePort: number }] }).ports[0].nodePort

  test('of their own, from the range', () => {
    const services = Array.from({ length: 200 }, (_, index) => service(`s${index}`))
    expect(new Set(services.map(addressOf)).size).toBe(200)
    expect(new Set(services.map(nodePortOf)).size).toBe(200)
    for (const object of services) {
      expect(addressOf(object)).toMatch(/^10\.0\.0\.\d+$/)
      expect(nodePortOf(object)).toBeGreaterThanOrEqual(30_000)
      expect(nodePortOf(object)).toBeLessThanOrEqual(32_767)
    }
  })

  test('that are the same when they come again', () => {
    expect(addressOf(service('again'))).toBe(addressOf(service('again')))
  })
})

describe('events are one collection with two forms', () => {
  const old = find('events')
  const { collection, conversion } = find('events', 'events.k8s.io')
  const stored = created('events', {
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'b' },
    reason: 'R',
    message: 'm',
    source: { component: 'c', host: 'h' },
    firstTimestamp: '2024-01-01T00:00:00Z',
    count: 2,
    type: 'Normal',
  })

  test('kept together', () => {
    expect(collection).toBe(old.collection)
  })

  test('told apart by the names of their fields', () => {
    expect(conversion!.fromStorage(stored)).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      regarding: { name: 'p' },
      note: 'm',
      deprecatedSource: { component: 'c' },
      deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
      deprecatedCount: 2,
    })
  })

  test('and the same after a round trip', () => {
    expect(conversion!.toStorage(conversion!.fromStorage(stored))).toEqual(stored)
  })
})

describe('namespaces', () => {
  const { strategy } = find('namespaces')
  test('are held by their own finalizers', () => {
    const namespace = created('namespaces', { metadata: { name: 'a' } })
    expect(strategy.isHeld!(namespace)).toBe(true)
    expect(strategy.isHeld!({ ...namespace, spec: {} })).toBe(false)
  })

  test('say that they are going', () => {
    const namespace = created('namespaces', { metadata: { name: 'a' } })
    strategy.markDeleting!(namespace, '2024-01-01T00:00:00Z')
    expect(namespace['status']).toEqual({ phase: 'Terminating' })
  })
})

describe('fields to select by', () => {
  test.each([
    ['pods', { spec: { containers: [], nodeName: 'n' } }, 'spec.nodeName', 'n'],
    ['pods', { spec: { containers: [] } }, 'spec.hostNetwork', 'false'],
    ['secrets', {}, 'type', 'Opaque'],
    ['nodes', { spec: { unschedulable: true } }, 'spec.unschedulable', 'true'],
    ['services', { spec: { ports: [{ port: 1 }] } }, 'spec.type', 'ClusterIP'],
    ['events', { source: { component: 'c' } }, 'source', 'c'],
    ['events', { reportingComponent: 'r' }, 'source', 'r'],
    ['namespaces', {}, 'status.phase', 'Active'],
  ])('%s %j: %s', (plural, body, field, value) => {
    const { strategy } = find(plural)
    expect(strategy.selectableFieldNames).toContain(field)
    expect(strategy.selectableFields!(created(plural, body))[field]).toBe(value)
  })
})
