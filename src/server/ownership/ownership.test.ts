/** Managed fields of objects of a test kind before and after writes. test/api-server/conformance runs the same cases on kube-apiserver. */
import { describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { builtinFieldTypes } from '../builtins/types.ts'
import { applyConfiguration } from './apply.ts'
import type { FieldSet } from './field-set.ts'
import { createOwnership } from './ownership.ts'
import { type Ownership, trackWrite } from './track.ts'

const text = { type: 'string' }
const item = { type: 'object', properties: { name: text, port: { type: 'integer', default: 80 }, note: text } }
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
        list: { type: 'array', items: text },
        items: {
          type: 'array',
          items: item,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'port'],
        },
        map: { type: 'object', additionalProperties: text },
        whole: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    status: { type: 'object', properties: { phase: text } },
  },
} as unknown as JsonObject

function ownershipOf(kind: JsonObject, subresource = ''): Ownership {
  return createOwnership({
    apiVersion: 'x/v1',
    type: () => builtinFieldTypes.custom(kind),
    resets: (part) => ({ [part === 'status' ? 'f:spec' : 'f:status']: {} }),
  })(subresource)
}

const ownership = ownershipOf(schema)
const blank: KubeObject = { apiVersion: 'x/v1', kind: 'Thing', metadata: {} }
const now = '2026-01-01T00:00:00Z'
const later = '2026-01-01T00:00:01Z'

function thing(spec: JsonObject, rest: JsonObject = {}): KubeObject {
  return { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a', uid: '1' }, spec, ...rest }
}

/** The owned fields by manager and operation. */
function owners({ metadata }: KubeObject): Record<string, FieldSet> {
  const entries = (metadata.managedFields ?? []) as unknown as Array<Record<string, FieldSet>>
  return Object.fromEntries(entries.map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1!]))
}

function created(spec: JsonObject, manager = 'creator'): KubeObject {
  const object = thing(spec)
  trackWrite(ownership, { old: blank, object, manager, now })
  return object
}

function updated(old: KubeObject, spec: JsonObject, manager = 'updater', kind = ownership): KubeObject {
  const object = thing(spec)
  trackWrite(kind, { old, object, manager, now: later }, { isForeign: kind !== ownership })
  return object
}

function applied(live: KubeObject, spec: JsonObject, manager = 'applier', force = false): KubeObject {
  const config = { apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a' }, spec }
  return applyConfiguration(ownership, { live, config, manager, force, now: later, empty: blank }).object
}

describe('a write that changes', () => {
  test.each<[string, JsonObject, JsonObject, FieldSet | undefined, FieldSet]>([
    ['a value', { size: 1 }, { size: 2 }, { 'f:spec': {} }, { 'f:spec': { 'f:size': {} } }],
    [
      'an item of a set',
      { set: ['a', 'b'] },
      { set: ['b', 'c'] },
      { 'f:spec': { '.': {}, 'f:set': { '.': {}, 'v:"b"': {} } } },
      { 'f:spec': { 'f:set': { 'v:"c"': {} } } },
    ],
    [
      'the order of a set',
      { set: ['a', 'b'] },
      { set: ['b', 'a'] },
      { 'f:spec': { '.': {}, 'f:set': { '.': {}, 'v:"a"': {}, 'v:"b"': {} } } },
      {},
    ],
    [
      'a list that is owned as a whole',
      { list: ['a', 'b'] },
      { list: ['b', 'a'] },
      { 'f:spec': {} },
      { 'f:spec': { 'f:list': {} } },
    ],
    [
      'an item that is known by its keys, one of which is a default',
      { items: [{ name: 'x', note: '1' }] },
      { items: [{ name: 'x', port: 80, note: '2' }] },
      { 'f:spec': { '.': {}, 'f:items': { '.': {}, 'k:{"name":"x","port":80}': { '.': {}, 'f:name': {} } } } },
      { 'f:spec': { 'f:items': { 'k:{"name":"x","port":80}': { 'f:note': {}, 'f:port': {} } } } },
    ],
    [
      'a map that is owned as a whole',
      { whole: { a: '1' } },
      { whole: { a: '1', b: '1' } },
      { 'f:spec': {} },
      { 'f:spec': { 'f:whole': {} } },
    ],
    [
      'what is free from a map to a list',
      { free: { a: { b: 1 } } },
      { free: { a: [1] } },
      { 'f:spec': { '.': {}, 'f:free': {} } },
      { 'f:spec': { 'f:free': { 'f:a': {} } } },
    ],
    [
      'an item into two',
      { set: ['a'] },
      { set: ['a', 'a'] },
      { 'f:spec': { '.': {}, 'f:set': {} } },
      { 'f:spec': { 'f:set': { 'v:"a"': {} } } },
    ],
  ])('%s', (_, before, after, left, taken) => {
    const found = owners(updated(created(before), after))
    expect(found['creator Update']).toEqual(left)
    expect(found['updater Update'] ?? {}).toEqual(taken)
  })

  test('nothing keeps the very entries that were there', () => {
    const old = created({ size: 1 })
    expect(updated(old, { size: 1 }).metadata.managedFields).toBe(old.metadata.managedFields)
  })

  test('what does not fit the type is owned by nobody', () => {
    const object = thing({ size: 'large' })
    trackWrite(ownership, { old: blank, object, manager: 'x', now })
    expect(object.metadata).not.toHaveProperty('managedFields')
  })

  test('what a schema now takes for a whole belongs to who had a part of it', () => {
    const spec = (schema['properties'] as JsonObject)['spec'] as JsonObject
    const properties = { ...(spec['properties'] as JsonObject), set: { type: 'array', items: text } }
    const stricter = ownershipOf({ ...schema, properties: { spec: { ...spec, properties } } } as JsonObject)
    const object = updated(created({ set: ['a'], size: 1 }), { set: ['a'], size: 2 }, 'updater', stricter)
    expect(owners(object)).toEqual({
      'creator Update': { 'f:spec': { '.': {}, 'f:set': {} } },
      'updater Update': { 'f:spec': { 'f:size': {} } },
    })
  })
})

describe('a configuration', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['puts items that are new where it has them', { set: ['a', 'b'] }, { set: ['x', 'b'] }, { set: ['a', 'x', 'b'] }],
    ['keeps items that it does not mention', { set: ['a', 'b', 'c'] }, { set: ['c'] }, { set: ['a', 'b', 'c'] }],
    ['has its own order', { set: ['a', 'b', 'c'] }, { set: ['c', 'a'] }, { set: ['b', 'c', 'a'] }],
    [
      'merges items by their keys',
      { items: [{ name: 'x', port: 1, note: '1' }] },
      { items: [{ name: 'y' }, { name: 'x', port: 1, note: '2' }] },
      { items: [{ name: 'y' }, { name: 'x', port: 1, note: '2' }] },
    ],
    ['replaces what is owned as a whole', { whole: { a: '1' } }, { whole: { b: '1' } }, { whole: { b: '1' } }],
    ['merges what is free', { free: { a: { b: 1 } } }, { free: { a: { c: 2 } } }, { free: { a: { b: 1, c: 2 } } }],
  ])('%s', (_, live, config, expected) => {
    expect(applied(created(live), config, 'applier', true)['spec']).toEqual(expected)
  })

  test('gives up what it does not mention any more, but nothing of others', () => {
    const first = applied(created({ map: { a: '1' } }), { map: { b: '1', c: '1' }, set: ['x'] })
    const shared = applied(first, { map: { c: '1' } }, 'other')
    const second = applied(shared, { map: { b: '1' } })
    expect(second['spec']).toEqual({ map: { a: '1', b: '1', c: '1' } })
    expect(owners(second)['applier Apply']).toEqual({ 'f:spec': { 'f:map': { 'f:b': {} } } })
  })

  test('is refused with all that is in its way', () => {
    const live = applied(created({ size: 1, map: { a: '1' } }), { map: { b: '1' } }, 'other')
    const message =
      'Apply failed with 3 conflicts: conflicts with "creator" using x/v1:\n- .spec.size\n- .spec.map.a\nconflicts with "other":\n- .spec.map.b'
    expect(() => applied(live, { size: 2, map: { a: '2', b: '2' } })).toThrow(message)
  })

  test('of kubectl may change what kubectl applied by itself, and says so where it did', () => {
    const key = 'kubectl.kubernetes.io/last-applied-configuration'
    const last = JSON.stringify({ apiVersion: 'x/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { size: 1 } })
    const live = thing({ size: 1 })
    live.metadata.annotations = { [key]: last }
    trackWrite(ownership, { old: blank, object: live, manager: 'kubectl-client-side-apply', now })
    expect(() => applied(live, { size: 2 })).toThrow('conflict with "kubectl-client-side-apply" using x/v1: .spec.size')
    const object = applied(live, { size: 2 }, 'kubectl')
    expect(object['spec']).toEqual({ size: 2 })
    expect(JSON.parse(object.metadata.annotations![key]!)).toMatchObject({ spec: { size: 2 } })
  })
})
