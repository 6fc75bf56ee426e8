import { describe, expect, test } from 'vitest'
import type { ObjectMeta } from '../kube/objects.ts'
import { formatFieldError } from './field-errors.ts'
import { decodeMetadata, finalizerWarnings, validateMetadata, validateMetadataUpdate } from './metadata.ts'
import { labelNameProblems, subdomainNameProblems } from './names.ts'

const custom = { kind: 'Widget', version: 'v1', isCustom: true }
const builtIn = { kind: 'ConfigMap', version: 'v1' }

describe('decoding', () => {
  test('keeps what it knows, without what is empty', () => {
    const raw = {
      uid: 'u',
      name: 'a',
      namespace: '',
      generation: 0,
      labels: { b: 'c', n: null },
      annotations: {},
      finalizers: ['x', null],
      ownerReferences: [{ name: 'o', controller: false, blockOwnerDeletion: null }],
      deletionGracePeriodSeconds: 0,
      creationTimestamp: '2020-01-01T00:00:00.5+01:00',
      deletionTimestamp: null,
      managedFields: [{ manager: 'm', time: '2020-01-01T00:00:00Z', fieldsV1: { 'f:a': {} }, subresource: '' }],
    }
    const { metadata, problems } = decodeMetadata(raw, custom)
    expect(metadata).toEqual({
      creationTimestamp: '2019-12-31T23:00:00Z',
      deletionGracePeriodSeconds: 0,
      finalizers: ['x', ''],
      labels: { b: 'c', n: '' },
      managedFields: [{ fieldsV1: { 'f:a': {} }, manager: 'm', time: '2020-01-01T00:00:00Z' }],
      name: 'a',
      ownerReferences: [{ apiVersion: '', controller: false, kind: '', name: 'o', uid: '' }],
      uid: 'u',
    })
    expect(problems).toEqual([])
    expect(metadata.managedFields![0]!['fieldsV1']).not.toBe(raw.managedFields[0]!.fieldsV1)
  })

  test.each([undefined, null, {}])('makes nothing of %j', (raw) => {
    expect(decodeMetadata(raw, custom)).toEqual({ metadata: {}, problems: [] })
  })

  test('names unknown fields: sorted for custom resources, in the order of the text for other kinds', () => {
    const raw = JSON.parse('{"zzz":1,"ownerReferences":[{},{"x":1}],"__proto__":{},"Name":"a"}')
    expect(decodeMetadata(raw, custom).problems).toEqual([
      'unknown field "metadata.Name"',
      'unknown field "metadata.__proto__"',
      'unknown field "metadata.ownerReferences[1].x"',
      'unknown field "metadata.zzz"',
    ])
    expect(decodeMetadata(raw, builtIn).problems).toEqual([
      'unknown field "metadata.zzz"',
      'unknown field "metadata.ownerReferences[1].x"',
      'unknown field "metadata.__proto__"',
      'unknown field "metadata.Name"',
    ])
  })

  test('keeps hostile keys of labels as keys', () => {
    const { metadata } = decodeMetadata(JSON.parse('{"labels":{"__proto__":"x"}}'), custom)
    expect(JSON.stringify(metadata)).toBe('{"labels":{"__proto__":"x"}}')
  })

  const field = 'json: cannot unmarshal'
  test.each<[unknown, string, string]>([
    [
      5,
      `${field} number into Go value of type v1.ObjectMeta`,
      `${field} number into Go struct field ConfigMap.metadata of type v1.ObjectMeta`,
    ],
    [
      { labels: { a: 1 } },
      `${field} number into Go struct field ObjectMeta.labels of type string`,
      `${field} number into Go struct field ObjectMeta.metadata.labels of type string`,
    ],
    [
      { labels: [] },
      `${field} array into Go struct field ObjectMeta.labels of type map[string]string`,
      `${field} array into Go struct field ObjectMeta.metadata.labels of type map[string]string`,
    ],
    [
      { ownerReferences: [{ uid: {} }] },
      `${field} object into Go struct field OwnerReference.ownerReferences.uid of type types.UID`,
      `${field} object into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID`,
    ],
    [
      { name: true, generation: 1.5 },
      `${field} number 1.5 into Go struct field ObjectMeta.generation of type int64`,
      `${field} bool into Go struct field ObjectMeta.metadata.name of type string`,
    ],
    [
      { annotations: 5, creationTimestamp: 'x' },
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
      'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
    [
      { annotations: 5, creationTimestamp: 5 },
      `${field} number into Go struct field ObjectMeta.creationTimestamp of type string`,
      `${field} number into Go struct field ObjectMeta.metadata.creationTimestamp of type string`,
    ],
  ])('refuses %j', (raw, forCustom, forBuiltIn) => {
    const widget = `Widget in version "v1" cannot be handled as a Widget: ${forCustom}`
    const map = `ConfigMap in version "v1" cannot be handled as a ConfigMap: ${forBuiltIn}`
    expect(() => decodeMetadata(raw, custom)).toThrow(expect.objectContaining({ code: 400, message: widget }))
    expect(() => decodeMetadata(raw, builtIn)).toThrow(expect.objectContaining({ code: 400, message: map }))
  })
})

const rules = { namespaced: true, nameProblems: subdomainNameProblems }
const good: ObjectMeta = { name: 'a', namespace: 'default' }

function errorsOf(meta: ObjectMeta, more = {}): string[] {
  return validateMetadata(meta, { ...rules, ...more }).map(formatFieldError)
}

describe('validation', () => {
  test('finds nothing wrong with what is right', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'A', name: 'b', uid: 'c', controller: true }
    const labels = { 'example.com/a': '' }
    const finalizers = ['example.com/x', 'foregroundDeletion']
    const annotations = { 'EXAMPLE.com/A': 'anything ✓' }
    const meta = { ...good, generateName: 'web-', labels, annotations, finalizers, ownerReferences: [owner] }
    expect(errorsOf(meta, { needsStandardFinalizers: true })).toEqual([])
  })

  test.each<[string, ObjectMeta, object, RegExp[]]>([
    ['no name', { namespace: 'x' }, {}, [/^metadata.name: Required value: name or generateName is required$/]],
    ['a bad name', { ...good, name: 'A' }, {}, [/^metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain/]],
    [
      'a bad prefix',
      { ...good, generateName: 'A.b' },
      { nameProblems: labelNameProblems },
      [/^metadata.generateName: Invalid value: "A.b": a lowercase RFC 1123 label/],
    ],
    ['no namespace', { name: 'a' }, {}, [/^metadata.namespace: Required value$/]],
    [
      'a bad namespace',
      { name: 'a', namespace: 'a.b' },
      {},
      [/^metadata.namespace: Invalid value: "a.b": must not contain dots$/],
    ],
    [
      'a namespace where there is none',
      good,
      { namespaced: false },
      [/^metadata.namespace: Forbidden: not allowed on this type$/],
    ],
    [
      'a negative generation',
      { ...good, generation: -1 },
      {},
      [/^metadata.generation: Invalid value: -1: must be greater than or equal to 0$/],
    ],
    [
      'bad labels',
      { ...good, labels: { 'a b': 'c d' } },
      {},
      [
        /^metadata.labels: Invalid value: "a b": name part must/,
        /^metadata.labels: Invalid value: "c d": a valid label must/,
      ],
    ],
    [
      'annotations that are too large',
      { ...good, annotations: { a: 'ä'.repeat(131_072) } },
      {},
      [/^metadata.annotations: Too long: may not be more than 262144 bytes$/],
    ],
    [
      'bad owners',
      { ...good, ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      {},
      [
        /^metadata.ownerReferences.apiVersion: Invalid value: "a\/b\/c": version must not be empty$/,
        /^metadata.ownerReferences.kind: Invalid value: "": must not be empty$/,
        /^metadata.ownerReferences.name: Invalid value: "": must not be empty$/,
        /^metadata.ownerReferences.uid: Invalid value: "": must not be empty$/,
      ],
    ],
    [
      'an event as an owner',
      { ...good, ownerReferences: [{ uid: '<', name: 'n', kind: 'Event', apiVersion: 'v1' }] },
      {},
      [
        /^metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"\\u003c"}: \/v1, Kind=Event is disallowed from being an owner$/,
      ],
    ],
    [
      'two controllers',
      {
        ...good,
        ownerReferences: [
          { apiVersion: 'v1', kind: 'A', name: 'a', uid: '1', controller: true },
          { apiVersion: 'v1', kind: 'B', name: 'b', uid: '2', controller: true },
        ],
      },
      {},
      [
        /^metadata.ownerReferences: Invalid value: \[{.*"controller":true}]: Only one reference can have Controller set to true. Found "true" in references for A\/a and B\/b$/,
      ],
    ],
    [
      'bad finalizers, of the core',
      { ...good, finalizers: ['x', 'y z', 'a/b'] },
      { needsStandardFinalizers: true },
      [
        /^metadata.finalizers: Invalid value: "y z": name part/,
        /^metadata.finalizers\[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified$/,
        /^metadata.finalizers\[1]: Invalid value: "y z": name is neither/,
      ],
    ],
    ['finalizers of others', { ...good, finalizers: ['x'] }, {}, []],
    [
      'finalizers that contradict each other',
      { ...good, finalizers: ['orphan', 'foregroundDeletion'] },
      {},
      [
        /^metadata.finalizers: Invalid value: \["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set$/,
      ],
    ],
    [
      'managed fields',
      { ...good, managedFields: [{ operation: 'x', fieldsType: 'y', manager: 'm'.repeat(129) }] },
      {},
      [
        /^metadata.managedFields\[0].operation: Invalid value: "x": must be `Apply` or `Update`$/,
        /^metadata.managedFields\[0].fieldsType: Invalid value: "y": must be `FieldsV1`$/,
        /^metadata.managedFields\[0].manager: Too long: may not be more than 128 bytes$/,
      ],
    ],
  ])('finds %s', (_, meta, more, expected) => {
    const errors = errorsOf(meta, more)
    expect(errors).toHaveLength(expected.length)
    for (const [index, pattern] of expected.entries()) expect(errors[index]).toMatch(pattern)
  })
})

describe('validation of updates', () => {
  const old: ObjectMeta = {
    ...good,
    uid: 'u',
    resourceVersion: '1',
    generation: 2,
    creationTimestamp: '2020-01-01T00:00:00Z',
  }
  const errorsOfUpdate = (changes: ObjectMeta, before: ObjectMeta = old): string[] =>
    validateMetadataUpdate({ ...before, ...changes }, before).map(formatFieldError)

  test('lets pass what may change', () => {
    expect(errorsOfUpdate({ labels: { a: 'b' }, finalizers: ['x y'], generation: 3 })).toEqual([])
  })

  test('finds what may not', () => {
    const changes = {
      name: 'b',
      namespace: '',
      uid: 'v',
      creationTimestamp: '2021-01-01T00:00:00Z',
      deletionTimestamp: '2021-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      resourceVersion: '',
      generation: 1,
      annotations: { '': '' },
    }
    expect(errorsOfUpdate(changes).slice(0, 8)).toEqual([
      'metadata.resourceVersion: Invalid value: "": must be specified for an update',
      'metadata.generation: Invalid value: 1: must not be decremented',
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.namespace: Invalid value: "": field is immutable',
      'metadata.uid: Invalid value: "v": field is immutable',
      'metadata.creationTimestamp: Invalid value: "2021-01-01T00:00:00Z": field is immutable',
      'metadata.deletionTimestamp: Invalid value: "2021-01-01T00:00:00Z": field is immutable',
      'metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable',
    ])
  })

  test('takes no new finalizers once the object is being deleted', () => {
    const deleting = { ...old, deletionTimestamp: '2021-01-01T00:00:00Z', finalizers: ['a/b'] }
    expect(errorsOfUpdate({ finalizers: ['z', 'a/b', 'x'] }, deleting)).toEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x", "z"}',
    ])
    expect(errorsOfUpdate({ finalizers: [] }, deleting)).toEqual([])
  })
})

test('warns of finalizers without a domain, when they are put on', () => {
  const meta = { finalizers: ['b.c', 'a', 'example.com/x', 'orphan'] }
  const advice = 'to avoid accidental conflicts with other finalizer writers'
  expect(finalizerWarnings(meta)).toEqual([
    `metadata.finalizers: "a": prefer a domain-qualified finalizer name ${advice}`,
    `metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/) ${advice}`,
  ])
  expect(finalizerWarnings(meta, { finalizers: ['a', 'b.c'] })).toEqual([])
})
