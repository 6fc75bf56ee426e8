/** Definitions of resources: what is filled in, and what is refused. What their types promise is in test/types. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { KopfError } from '../errors.ts'
import { defineResource, EVERYTHING, type ResourceOptions, resource } from './resources.ts'
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

test('fills in what is not given', () => {
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

test('keeps what is given', () => {
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
])('refuses %j', (wrong, message) => {
  const define = () => defineResource({ ...minimal, ...wrong } as ResourceOptions)
  expect(define).toThrow(KopfError)
  expect(define).toThrow(/^Cannot define the resource "/)
  expect(define).toThrow(message)
})

test('names resources in every notation, and refuses wrong ones at once', () => {
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
