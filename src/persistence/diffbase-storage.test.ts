import { describe, expect, test } from 'vitest'
import type { Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { diffEssences } from '../causation/diff.ts'
import { isDigestEssence } from '../causation/essence.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { applyMergePatch } from '../util/json/merge-patch.ts'
import {
  AnnotationsDiffBaseStorage,
  DiffBaseStorage,
  MultiDiffBaseStorage,
  StatusDiffBaseStorage,
} from './diffbase-storage.ts'

const name = 'kopf.zalando.org/last-handled-configuration'
const empty: KubeObject = { apiVersion: 'example.com/v1', kind: 'Database', metadata: { name: 'db', uid: 'u1' } }

function annotated(annotations: Record<string, string>, fields: object = {}): KubeObject {
  return { ...empty, ...fields, metadata: { ...empty.metadata, annotations } }
}

function patched(body: KubeObject, patch: JsonObject): KubeObject {
  return applyMergePatch(body as never, patch) as never
}

function sizeOf(body: KubeObject): number {
  const entries = Object.entries(body.metadata.annotations ?? {})
  return entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
}

class MemoryStorage extends DiffBaseStorage {
  essence: Essence | undefined
  fetch(): Essence | undefined {
    return this.essence
  }
  store({ essence }: { essence: Essence }): void {
    this.essence = essence
  }
}

const storages: Record<string, DiffBaseStorage> = {
  annotations: new AnnotationsDiffBaseStorage(),
  foreign: new AnnotationsDiffBaseStorage({ prefix: 'example.com' }),
  status: new StatusDiffBaseStorage(),
  multi: new MultiDiffBaseStorage([new StatusDiffBaseStorage(), new AnnotationsDiffBaseStorage()]),
}

describe.each(Object.entries(storages))('the diff-base storage "%s"', (_, storage) => {
  const body = { ...empty, spec: { n: 2n ** 62n, ü: '😀', list: [null, { a: null }] } }
  const essence = storage.build({ body })
  const patch: JsonObject = {}
  storage.store({ body, patch, essence })
  const stored = patched(body, patch)

  test('a diff-base storage returns the stored essence, including large integers', () => {
    expect(storage.fetch({ body })).toBeUndefined()
    expect(storage.fetch({ body: stored })).toEqual(essence)
  })

  test('the data of a diff-base storage is not part of the essence', () => {
    expect(storage.build({ body: stored, extraFields: ['status', 'metadata.annotations'] })).toMatchObject(essence)
    expect(storage.build({ body: stored })).toEqual(essence)
  })

  test('a diff-base storage writes nothing if the essence is stored already', () => {
    const again: JsonObject = {}
    storage.store({ body: stored, patch: again, essence })
    expect(again).toEqual({})
  })

  test('a diff-base storage keeps older essences in order while handlers need them, and then forgets them', () => {
    const essences = new Map([
      ['older', { spec: { a: 1 } }],
      ['newer', { spec: { a: 2n ** 60n } as never }],
    ])
    const first: JsonObject = {}
    storage.storeSeen({ body: stored, patch: first, essences })
    const seen = patched(stored, first)
    expect([...storage.fetchSeen({ body: seen })]).toEqual([...essences])
    expect(storage.build({ body: seen })).toEqual(essence)

    const same: JsonObject = {}
    storage.storeSeen({ body: seen, patch: same, essences })
    expect(same).toEqual({})

    const purged: JsonObject = {}
    storage.purgeSeen({ body: seen, patch: purged })
    expect(patched(seen, purged)).toEqual(stored)
    const none: JsonObject = {}
    storage.storeSeen({ body: seen, patch: none, essences: new Map() })
    expect(none).toEqual(purged)
  })
})

describe('diff-base in annotations', () => {
  const storage = new AnnotationsDiffBaseStorage()

  test('the diff-base annotation has the same text as in Kopf', () => {
    const patch: JsonObject = {}
    const essence = { spec: { z: 1, a: { b: [1, 2, 'ü'] }, n: null } }
    expect(storage.store({ body: empty, patch, essence })).toEqual({ digested: false })
    const text = '{"spec":{"z":1,"a":{"b":[1,2,"\\u00fc"]},"n":null}}\n'
    expect(patch).toEqual({ metadata: { annotations: { [name]: text } } })
  })

  test.each(['{"spec":', '[]', 'null', '"text"', '', '5'])(
    'the malformed diff-base annotation %j is ignored',
    (text) => {
      expect(storage.fetch({ body: annotated({ [name]: text }) })).toBeUndefined()
      expect([...storage.fetchSeen({ body: annotated({ 'kopf.zalando.org/seen-configurations': text }) })]).toEqual([])
    },
  )

  test('a deeply nested essence is stored and fetched', () => {
    const depth = 5000
    const text = `{"spec":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
    const patch: JsonObject = {}
    const essence = storage.build({ body: annotated({ [name]: '{}' }, JSON.parse(text) as object) })
    storage.store({ body: empty, patch, essence })
    expect((patch['metadata'] as { annotations: JsonObject }).annotations[name]).toBe(`${text}\n`)
    expect(diffEssences(storage.fetch({ body: annotated({ [name]: text }) }), essence)).toEqual([])
  })

  test('the diff-base of a Secret has no content, and a diff-base that Kopf stored in clear still compares as equal', () => {
    const clear = '{"data":{"password":"aHVudGVyMg=="}}\n'
    const body = annotated({ [name]: clear }, { apiVersion: 'v1', kind: 'Secret', data: { password: 'aHVudGVyMg==' } })
    const essence = storage.build({ body })
    expect(diffEssences(concealSecret(storage.fetch({ body })!, body), essence)).toEqual([])
    const patch: JsonObject = {}
    storage.store({ body, patch, essence })
    expect(JSON.stringify(patch)).toMatch(/password.*sha256:/)
    expect(JSON.stringify(patch)).not.toContain('aHVudGVyMg')
  })
})

describe('diff-base without enough room', () => {
  const storage = new AnnotationsDiffBaseStorage()
  const limit = 262_144

  test.each<[string, number, number, boolean]>([
    ['is a digest if the essence is too large', 300_000, 0, true],
    ['is a digest if the essence is too large beside other annotations', 150_000, 100_000, true],
    ['is the whole essence if it fits', 200_000, 0, false],
  ])('the diff-base annotation %s', (_, size, others, digested) => {
    const body = annotated({ others: 'ü'.repeat(others / 2) }, { spec: { text: 'x'.repeat(size) } })
    const essence = { spec: body['spec'] } as Essence
    const patch: JsonObject = {}
    expect(storage.store({ body, patch, essence })).toEqual({ digested })
    const stored = patched(body, patch)
    expect(sizeOf(stored)).toBeLessThan(limit)
    const fetched = storage.fetch({ body: stored })!
    expect(isDigestEssence(fetched)).toBe(digested)
    expect(diffEssences(fetched, essence)).toEqual([])
    expect(diffEssences(fetched, { spec: {} })).toHaveLength(1)
    const again: JsonObject = {}
    storage.store({ body: stored, patch: again, essence })
    expect(again).toEqual({})
  })

  test('the digest of a large Secret is the same for plain values and for digests', () => {
    const data = { password: 'x'.repeat(300_000) }
    const body = annotated({}, { apiVersion: 'v1', kind: 'Secret', data })
    const [plain, many]: [JsonObject, JsonObject] = [{}, {}]
    expect(storage.store({ body, patch: plain, essence: { data } })).toEqual({ digested: true })
    const fetched = storage.fetch({ body: patched(body, plain) })!
    expect(diffEssences(fetched, storage.build({ body }))).toEqual([])
    expect(storage.store({ body, patch: many, essence: storage.build({ body }) })).toEqual({ digested: false })
  })

  test('the newest of the older essences are kept if there is no room for all', () => {
    const essences = new Map(['a', 'b', 'c'].map((digest) => [digest, { spec: { text: digest.repeat(100_000) } }]))
    const patch: JsonObject = {}
    storage.storeSeen({ body: empty, patch, essences })
    const stored = patched(empty, patch)
    expect([...storage.fetchSeen({ body: stored }).keys()]).toEqual(['b', 'c'])
    expect(sizeOf(stored)).toBeLessThan(limit)
  })

  test('the diff-base is a digest if there is no room for its two annotation keys', () => {
    const doubled = new AnnotationsDiffBaseStorage({ prefix: 'example.com', key: 'k'.repeat(60) })
    const patch: JsonObject = {}
    const essence = { spec: { text: 'x'.repeat(150_000) } }
    expect(doubled.store({ body: empty, patch, essence })).toEqual({ digested: true })
    expect(sizeOf(patched(empty, patch))).toBeLessThan(limit)
  })
})

test('a diff-base storage of a user needs only `fetch` and `store`', () => {
  const memory = new MemoryStorage({ ignoredFields: ['spec.a'] })
  const storage = new MultiDiffBaseStorage([memory, new AnnotationsDiffBaseStorage()])
  const body = { ...empty, spec: { a: 1, b: 2 } }
  const essence = storage.build({ body })
  expect(essence).toEqual({ spec: { b: 2 } })
  expect(storage.store({ body, patch: {}, essence })).toEqual({ digested: false })
  expect(storage.fetch({ body })).toEqual(essence)
  expect(memory.fetchSeen({ body }).size).toBe(0)
})

test('a chain of diff-base storages detects a ReplicaSet of a Deployment by its owner', () => {
  const storage = new MultiDiffBaseStorage([new AnnotationsDiffBaseStorage({ prefix: 'kopf.example.com' })])
  const body = annotated({ 'kopf.example.com/last-handled-configuration-ofDRS': '{}' }, { kind: 'ReplicaSet' })
  body.metadata.ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u' }]
  expect(storage.build({ body })).toEqual({})
})
