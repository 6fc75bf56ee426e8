import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cloneJson, isDeepEqual } from '../util/json/deep-equal.ts'
import { isContainer } from '../util/json/json.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { buildEssence, type EssenceOptions, withoutEmptyStanzas } from './essence.ts'

const identity = { apiVersion: 'example.com/v1', kind: 'Database' }
const metadata = { name: 'db', uid: 'u', resourceVersion: '1', labels: { l: 'v' }, annotations: { a: 'b' } }

describe('buildEssence', () => {
  test.each<[string, object, EssenceOptions, object]>([
    [
      'excludes the identity of the object and its status',
      { ...identity, metadata: { name: 'db' }, status: { x: 1 }, spec: { a: 1 } },
      {},
      { spec: { a: 1 } },
    ],
    [
      'keeps labels and annotations',
      { ...identity, metadata },
      {},
      { metadata: { labels: { l: 'v' }, annotations: { a: 'b' } } },
    ],
    ['is empty for an object without content', { ...identity, metadata: { name: 'db' } }, {}, {}],
    ['accepts an object without metadata', { spec: {} }, {}, { spec: {} }],
    ['accepts metadata of a wrong type', { metadata: 'text', spec: {} }, {}, { spec: {} }],
    [
      'accepts labels and annotations of a wrong type',
      { metadata: { labels: 5, annotations: null }, spec: {} },
      {},
      { spec: {} },
    ],
    ['includes extra fields', { status: { x: 1, y: 2 } }, { extraFields: ['status.x'] }, { status: { x: 1 } }],
    [
      'includes extra fields with null',
      { status: { x: null } },
      { extraFields: ['status.x'] },
      { status: { x: null } },
    ],
    [
      'skips extra fields that the object does not have',
      { status: 'text', spec: {} },
      { extraFields: ['status.x.y', 'spec.z'] },
      { spec: {} },
    ],
    [
      'excludes ignored fields, and their parents once they are empty',
      { spec: { a: { b: 1 }, c: 1 } },
      { ignoredFields: ['spec.a.b'] },
      { spec: { c: 1 } },
    ],
    [
      'excludes ignored keys with dots',
      { metadata: { labels: { 'x.io/y': 'v', l: 'v' } } },
      { ignoredFields: [['metadata', 'labels', 'x.io/y']] },
      { metadata: { labels: { l: 'v' } } },
    ],
    [
      'excludes a field that is both extra and ignored',
      { status: { x: 1 } },
      { extraFields: ['status.x'], ignoredFields: ['status.x'] },
      {},
    ],
  ])('the essence %s', (_, body, options, expected) => {
    expect(buildEssence(body, options)).toEqual(expected)
  })

  test('the essence keeps keys such as __proto__ as plain keys', () => {
    const body = parseJsonText('{"__proto__":{"a":1},"constructor":1,"spec":{"__proto__":2}}') as object
    expect(JSON.stringify(buildEssence(body, { ignoredFields: ['spec.x'] }))).toBe(
      '{"__proto__":{"a":1},"constructor":1,"spec":{"__proto__":2}}',
    )
  })

  test('the essence shares unchanged values with the body', () => {
    const body = { ...identity, metadata, spec: { a: { deep: {} }, b: {} }, data: {} }
    const essence = buildEssence(body, { extraFields: ['spec.a'], ignoredFields: ['spec.b'] }) as typeof body
    expect(essence.data).toBe(body.data)
    expect(essence.spec.a).toBe(body.spec.a)
    expect(essence.metadata.labels).toBe(metadata.labels)
    expect(essence.metadata.annotations).toBe(metadata.annotations)
  })
})

test('empty stanzas are not part of an essence', () => {
  expect(withoutEmptyStanzas({ metadata: { labels: {}, annotations: {} }, status: {}, spec: {} })).toEqual({ spec: {} })
  expect(withoutEmptyStanzas({ metadata: { labels: {}, name: 'x' } })).toEqual({ metadata: { name: 'x' } })
})

function deepFreeze(root: unknown): void {
  for (const value of isContainer(root) ? Object.values(root) : []) deepFreeze(value)
  Object.freeze(root)
}

const annotationKey = fc.constantFrom(
  'a',
  'kopf.zalando.org/x',
  'x.io/kopf-managed',
  'x.io/y',
  'kubectl.kubernetes.io/last-applied-configuration',
)
const body = fc.record(
  {
    apiVersion: fc.constantFrom('v1', 'example.com/v1'),
    kind: fc.constantFrom('Secret', 'Database'),
    metadata: fc.record(
      {
        uid: fc.string(),
        labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.string()),
        annotations: fc.dictionary(annotationKey, fc.string()),
      },
      { requiredKeys: [] },
    ),
    spec: fc.jsonValue(),
    data: fc.dictionary(fc.string(), fc.string()),
    status: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const field = fc.constantFrom(
  'spec',
  'spec.a',
  'status',
  'status.a.b',
  'metadata.annotations',
  'metadata.labels.a',
  'data',
)

test('the essence of an essence is the essence itself, and the body is never changed', () => {
  fc.assert(
    fc.property(body, fc.array(field), fc.array(field), (given, extraFields, ignoredFields) => {
      const before = cloneJson(given)
      deepFreeze(given)
      const essence = buildEssence(given, { extraFields, ignoredFields })
      expect(isDeepEqual(given, before)).toBe(true)
      const { apiVersion, kind, metadata: identified } = given
      const again = {
        ...essence,
        apiVersion,
        kind,
        metadata: { ...(essence['metadata'] as object), uid: identified?.uid },
      }
      expect(buildEssence(again, { extraFields, ignoredFields })).toEqual(essence)
    }),
  )
})
