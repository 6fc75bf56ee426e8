/** Resource definitions: their defaults and refused values. test/types covers their types. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { KopfError } from '../../errors.ts'
import { defineResource, type ResourceOptions, resource } from './resources.ts'
import { EVERYTHING } from './selector-notations.ts'
import { toSelector } from './selectors.ts'

const minimal = { group: 'example.com', version: 'v1', kind: 'Database' }

test.each([
  ['Database', 'databases'],
  ['Policy', 'policies'],
  ['Gateway', 'gateways'],
  ['Box', 'boxes'],
  ['Ingress', 'ingresses'],
  ['Batch', 'batches'],
  ['KopfExample', 'kopfexamples'],
])('the plural of %s is %s', (kind, plural) => {
  expect(defineResource({ ...minimal, kind })).toMatchObject({ plural, singular: kind.toLowerCase() })
})

test('a resource definition fills in omitted fields', () => {
  expect(defineResource(minimal)).toEqual({
    ...minimal,
    selector: { group: 'example.com', version: 'v1', plural: 'databases' },
    plural: 'databases',
    singular: 'database',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    spec: undefined,
    status: undefined,
  })
})

test('a resource definition keeps given fields', () => {
  const given = {
    plural: 'datas',
    singular: 'data',
    shortNames: ['db'],
    categories: ['all'],
    scope: 'Cluster',
  } as const
  const spec = z.object({})
  expect(defineResource({ ...minimal, ...given, spec })).toMatchObject({
    ...given,
    spec,
    selector: { plural: 'datas' },
  })
})

test.each<[object, RegExp]>([
  [{ kind: 'database' }, /kind must be in CamelCase/],
  [{ kind: 'Data-Base' }, /kind must be in CamelCase/],
  [{ kind: undefined }, /kind must be in CamelCase/],
  [{ group: 'apps' }, /needs a domain with a dot.*resource<T>\("apps\/v1", "name"\)/],
  [{ group: '' }, /must be a domain/],
  [{ group: 'Example.com' }, /must be a domain/],
  [{ group: 'example.com/v1' }, /must be a domain/],
  [{ version: '1' }, /must be like "v1"/],
  [{ version: 'v1.0' }, /must be like "v1"/],
  [{ plural: 'Databases' }, /"Databases" is no name for it/],
  [{ singular: '' }, /"" is no name for it/],
  [{ shortNames: ['d b'] }, /"d b" is no name for it/],
  [{ categories: ['All'] }, /"All" is no name for it/],
  [{ scope: 'Namespace' }, /must be "Namespaced" or "Cluster"/],
  [{ spec: { type: 'object' } }, /its spec is not a schema/],
  [{ status: null }, /its status is not a schema/],
])('a resource definition with %j is refused', (wrong, message) => {
  const define = () => defineResource({ ...minimal, ...wrong } as ResourceOptions)
  expect(define).toThrow(KopfError)
  expect(define).toThrow(/^Cannot define the resource "/)
  expect(define).toThrow(message)
})

test('a typed resource accepts every notation, and refuses an invalid notation at once', () => {
  expect(resource('v1', 'pods').selector).toEqual(['v1', 'pods'])
  expect(resource('apps', 'v1', 'deployments').selector).toEqual(['apps', 'v1', 'deployments'])
  expect(resource('pods').selector).toEqual('pods')
  expect(toSelector(resource('kopf.dev', EVERYTHING)).name).toBe(EVERYTHING)
  expect(toSelector(resource({ group: 'apps', kind: 'Deployment' }))).toMatchObject({
    group: 'apps',
    kind: 'Deployment',
  })
  expect(() => resource('kopf.dev/v1')).toThrow(KopfError)
})
