import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { systemClock } from '../../util/async/clock.ts'
import type { ApiResource } from '../resource.ts'
import { crdDefinitionResource } from './crd-resource.ts'
import type { CustomResourceDefinition } from './definition.ts'
import { crdResources, crdStoredVersionResources } from './resources.ts'

/** No webhook is called in these cases. */
const parts = { webhooks: undefined as never, clock: systemClock }

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
const versions = [
  {
    name: 'v1',
    served: true,
    storage: true,
    deprecated: true,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { ...anything, properties: { a: { type: 'string', default: 'A' } } }, status: anything },
      },
    },
    subresources: { status: {}, scale },
  },
  {
    name: 'v2beta1',
    served: true,
    storage: false,
    deprecated: true,
    deprecationWarning: 'use something else',
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string', default: 'B' } } },
        },
      },
    },
    selectableFields: [{ jsonPath: '.spec.a' }],
    additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a' }],
  },
  { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
  { name: 'v3', served: false, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
]

function define(spec: object = {}): CustomResourceDefinition {
  const names = { plural: 'widgets', kind: 'Widget', shortNames: ['wd'], categories: ['all'] }
  const { object } = crdDefinitionResource.strategy.decode({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions, ...spec },
  })
  return object as CustomResourceDefinition
}

function widget(version: string, spec: object): KubeObject {
  return { apiVersion: `example.com/${version}`, kind: 'Widget', metadata: { name: 'x' }, spec }
}

const [v1, beta, v2] = crdResources(define(), parts) as [ApiResource, ApiResource, ApiResource]

describe('the resources of a CRD', () => {
  test('are the versions that are served, of one collection', () => {
    expect(crdResources(define(), parts).map(({ version, collection }) => [version, collection])).toEqual([
      ['v1', 'widgets.example.com'],
      ['v2beta1', 'widgets.example.com'],
      ['v2', 'widgets.example.com'],
    ])
  })

  test('have the names, verbs and subresources of the real discovery', () => {
    expect(v1).toMatchObject({
      group: 'example.com',
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
      shortNames: ['wd'],
      categories: ['all'],
      namespaced: true,
      verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      subresources: [
        { name: 'status', group: 'example.com', version: 'v1', kind: 'Widget', verbs: ['get', 'patch', 'update'] },
        { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get', 'patch', 'update'] },
      ],
      scale,
    })
    expect(v2.subresources).toEqual([])
  })

  test('keep the accepted names while others are asked for', () => {
    const crd = define()
    crd.status.acceptedNames = { plural: 'widgets', singular: 'wid', kind: 'Widget', listKind: 'Widgets' }
    expect(crdResources(crd, parts)[0]).toMatchObject({ singular: 'wid', listKind: 'Widgets', shortNames: [] })
  })

  test('cannot be written while the CRD is deleted', () => {
    const crd = define()
    crd.status.conditions = [{ type: 'Terminating', status: 'True', lastTransitionTime: null }]
    expect(crdResources(crd, parts)[0]!.verbs).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch'])
  })

  test('warn of deprecated versions and name the best of the others', () => {
    expect(v1.warning).toBe('example.com/v1 Widget is deprecated; use example.com/v2 Widget')
    expect(beta.warning).toBe('use something else')
    expect(v2.warning).toBeUndefined()
  })

  test('show the columns of their version, or the age', () => {
    expect(v1.columns.map(({ name }) => name)).toEqual(['Name', 'Age'])
    expect(beta.columns.map(({ name }) => name)).toEqual(['Name', 'A'])
  })

  test('can be selected by what the version says', () => {
    expect(v1.strategy.selectableFieldNames).toEqual([])
    expect(beta.strategy.selectableFieldNames).toEqual(['spec.a'])
    expect(beta.strategy.selectableFields!(widget('v2beta1', { a: 'x' }))).toEqual({ 'spec.a': 'x' })
    expect(beta.strategy.selectableFields!(widget('v2beta1', {}))).toEqual({ 'spec.a': '' })
  })
})

describe('a version that is not stored', () => {
  test('is kept in the stored one, pruned by it', () => {
    expect(v1.conversion).toBeUndefined()
    expect(beta.conversion!.toStorage(widget('v2beta1', { a: 'x', b: 'y' }))).toEqual(widget('v1', { a: 'x', b: 'y' }))
    expect(v2.conversion!.toStorage({ ...widget('v2', {}), other: 1 } as KubeObject)).toEqual(widget('v1', {}))
  })

  test('is read with the defaults of the stored one, and pruned by its own schema', () => {
    const stored = widget('v1', { z: 1 })
    const read = beta.strategy.fromStorage!(beta.conversion!.fromStorage(stored))
    expect(read).toEqual(widget('v2beta1', { a: 'A' }))
    expect(stored).toEqual(widget('v1', { z: 1 }))
  })

  test('has a converter where a webhook converts, as has the stored one, and nobody gets past it', () => {
    const webhook = { clientConfig: { url: 'https://a.example.com' }, conversionReviewVersions: ['v1'] }
    const crd = define({ conversion: { strategy: 'Webhook', webhook } })
    const served = crdResources(crd, parts)
    expect(served.map(({ conversion, converter }) => [conversion !== undefined, converter !== undefined])).toEqual([
      [false, true],
      [true, true],
      [true, true],
    ])
    expect(() => served[2]!.conversion!.toStorage(widget('v2', {}))).toThrow('has to be asked beforehand')
    expect(v2.converter).toBeUndefined()
  })

  test('can be changed without the webhook by rules of its own, served or not', () => {
    const webhook = { clientConfig: { url: 'https://a.example.com' }, conversionReviewVersions: ['v1'] }
    const storedVersionResources = crdStoredVersionResources(define({ conversion: { strategy: 'Webhook', webhook } }))
    expect(storedVersionResources.map(({ version }) => version)).toEqual(['v1', 'v2beta1', 'v2', 'v3'])
    expect(storedVersionResources[1]!.strategy.fromStorage!(widget('v2beta1', { z: 1 }))).toEqual(
      widget('v2beta1', { b: 'B' }),
    )
    expect(crdStoredVersionResources(define())).toEqual([])
  })
})

describe('the rules of a custom resource', () => {
  const { strategy } = v1

  test('let nobody set the status on creation, and number the generation', () => {
    const { object } = strategy.decode({ ...widget('v1', {}), status: { a: 1 } } as KubeObject)
    strategy.prepareForCreate(object)
    expect(object).toEqual({ ...widget('v1', { a: 'A' }), metadata: { name: 'x', generation: 1 } })
  })

  test('count a change of anything but metadata and status', () => {
    const old = { ...widget('v1', { a: 'A' }), metadata: { name: 'x', generation: 3 }, status: { s: 1 } } as KubeObject
    const generationAfter = (change: object): unknown => {
      const object = { ...old, ...change } as KubeObject
      object.metadata = { ...object.metadata }
      strategy.prepareForUpdate(object, old)
      expect(object['status']).toEqual({ s: 1 })
      return object.metadata.generation
    }
    expect(generationAfter({ status: { s: 2 } })).toBe(3)
    expect(generationAfter({ metadata: { name: 'x', generation: 3, labels: { a: 'b' } } })).toBe(3)
    expect(generationAfter({ spec: { a: 'B' } })).toBe(4)
    expect(generationAfter({ spec: { a: 'A' }, status: undefined })).toBe(3)
  })

  test('count a change of the status where it is no subresource', () => {
    const old = { ...widget('v2', {}), metadata: { name: 'x', generation: 3 } } as KubeObject
    const object = { ...old, metadata: { ...old.metadata }, status: { s: 1 } } as KubeObject
    v2.strategy.prepareForUpdate(object, old)
    expect([object.metadata.generation, object['status']]).toEqual([4, { s: 1 }])
  })

  test('let an update of the status change the status and who manages it', () => {
    const old = {
      ...widget('v1', { a: 'A' }),
      metadata: { name: 'x', managedFields: [{ manager: 'a' }] },
    } as KubeObject
    const metadata = { name: 'x', labels: { a: 'b' }, managedFields: [{ manager: 'b' }] }
    const object = { ...widget('v1', { a: 'B' }), metadata, status: { s: 1 }, more: 1 } as KubeObject
    strategy.prepareForStatusUpdate(object, old)
    const expected = { name: 'x', managedFields: [{ manager: 'b' }] }
    expect(object).toEqual({ ...widget('v1', { a: 'A' }), metadata: expected, status: { s: 1 } })
  })

  test('keep nothing of the body', () => {
    const body = widget('v1', { list: [{ a: 1 }] })
    const { object } = strategy.decode(body)
    ;(object['spec'] as { list: unknown[] }).list.push('more')
    expect(body).toEqual(widget('v1', { list: [{ a: 1 }] }))
  })

  test('survive ten thousand levels', () => {
    const nested = (open: string, close: string): unknown => JSON.parse(`${open.repeat(9_990)}1${close.repeat(9_990)}`)
    for (const value of [nested('[', ']'), nested('{"a":', '}')]) {
      const body = { ...widget('v1', { value }), status: value, unknown: value } as KubeObject
      for (const resource of [v1, beta, v2]) {
        const { object } = resource.strategy.decode(body)
        const old = resource.strategy.fromStorage!(object)
        expect(() => resource.strategy.validate(object)).not.toThrow()
        expect(() => resource.strategy.validateUpdate(object, old)).not.toThrow()
      }
    }
  })
})
