/** `buildObject`: the fields that it fills in, and the resources that it refuses. test/types/builtin-types.ts covers its types. */
import { ConfigMap, Deployment } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { buildObject, type KnownResource } from './build-object.ts'
import { defineResource, resource } from './resources/resources.ts'

test('buildObject fills in the apiVersion and the kind of a built-in kind', () => {
  const config = buildObject(ConfigMap, { metadata: { name: 'settings' }, data: { color: 'blue' } })
  expect(config).toEqual({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings' },
    data: { color: 'blue' },
  })
  const spec = { selector: {}, template: { spec: { containers: [] } } }
  expect(buildObject(Deployment, { metadata: {}, spec })).toMatchObject({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec,
  })
})

test('buildObject fills in the apiVersion and the kind of a custom resource', () => {
  const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database' })
  const database = buildObject(Database, { metadata: { name: 'orders' }, spec: { size: 1 } })
  expect(database).toEqual({
    apiVersion: 'example.com/v1',
    kind: 'Database',
    metadata: { name: 'orders' },
    spec: { size: 1 },
  })
})

test.each([['pods'], [resource('v1', 'pods')]])(
  'buildObject refuses the resource %j, whose kind is unknown',
  (unknown) => {
    expect(() => buildObject(unknown as unknown as KnownResource, { metadata: {} })).toThrow(
      expect.objectContaining({
        code: 'KOPF_OBJECT',
        message: expect.stringContaining('use a resource of "kopf/kubernetes"'),
      }),
    )
  },
)
