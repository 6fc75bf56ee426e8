import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { restoreObject } from './converted-object.ts'

const original: KubeObject = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: {
    name: 'one',
    namespace: 'default',
    uid: 'u',
    generation: 3,
    finalizers: ['a/b'],
    // A stored label may be older than the current label validation.
    labels: { 'not a label': 'x' },
    annotations: { a: 'b' },
  },
  spec: { a: 1 },
}

const restore = (converted: unknown, from: KubeObject = original) =>
  restoreObject(converted, { original: from, desiredAPIVersion: 'example.com/v2', subject: 'it', index: 7 })

const converted = (more: object = {}, metadata: object = original.metadata) => ({
  apiVersion: 'example.com/v2',
  kind: 'Widget',
  metadata,
  spec: { b: 2 },
  ...more,
})

describe('a converted object', () => {
  test('keeps the contents of the webhook and the metadata of the object', () => {
    const metadata = { name: 'one', namespace: 'default', uid: 'u', generation: 99, labels: { c: 'd' }, extra: 1 }
    const restored = restore(converted({}, metadata))
    const { annotations: _, ...rest } = original.metadata
    expect(restored).toEqual({ ...converted(), metadata: { ...rest, labels: { c: 'd' } } })
  })

  test('shares nothing with the object that it was', () => {
    const restored = restore(converted())
    restored.metadata.finalizers!.push('c/d')
    expect(original.metadata.finalizers).toEqual(['a/b'])
  })

  test('may have wrong labels where it had them before', () => {
    expect(restore(converted()).metadata.labels).toEqual({ 'not a label': 'x' })
    const changed = { ...original.metadata, labels: { 'not a label': 'y' } }
    expect(() => restore(converted({}, changed))).toThrow(
      'it returned invalid metadata: metadata.labels: Invalid value',
    )
  })

  test('is of the cluster where the object is', () => {
    const cluster = { ...original, metadata: { name: 'one' } }
    expect(restore(converted({}, { name: 'one' }), cluster).metadata).toEqual({ name: 'one' })
    expect(() => restore(converted({}, { name: 'one', namespace: 'x' }), cluster)).toThrow(
      'it returned invalid object: must have the same namespace:  != x',
    )
  })

  test('keeps keys that mean something elsewhere', () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as object
    const restored = restore(converted({ spec: hostile }))
    expect(JSON.stringify(restored['spec'])).toBe(JSON.stringify(hostile))
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  test.each([
    ['nothing', null, 'unexpected end of JSON input'],
    ['a list', [], 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [
      'without a kind',
      converted({ kind: '' }),
      `Object 'Kind' is missing in '{"apiVersion":"example.com/v2","kind":""`,
    ],
    ['with a number for a kind', converted({ kind: 5 }), "Object 'Kind' is missing"],
    ['without a version', converted({ apiVersion: undefined }), 'groupVersion (expected example.com/v2, received )'],
    ['of no version', converted({ apiVersion: 'a/b/c' }), "Object 'Kind' is missing"],
    ['of another kind', converted({ kind: 'Gadget' }), 'at index 7: invalid kind (expected Widget, received Gadget)'],
    ['with null for metadata', converted({ metadata: null }), 'must have the same name: one != '],
    ['with a wrong name', converted({}, { ...original.metadata, name: 5 }), 'must have the same name: one != '],
    [
      'with a large number for a label',
      converted({}, { ...original.metadata, labels: { a: 2n ** 60n } }),
      'metadata.labels[a] must be a string, but is int64',
    ],
    [
      'with too large annotations',
      converted({}, { ...original.metadata, annotations: { a: 'x'.repeat(300_000) } }),
      'metadata.annotation: Too long',
    ],
  ])('is none that is %s', (_, given, words) => {
    expect(() => restore(given)).toThrow(words)
  })
})
