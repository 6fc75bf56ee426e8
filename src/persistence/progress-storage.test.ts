import { describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { applyMergePatch } from '../util/json/merge-patch.ts'
import {
  AnnotationsProgressStorage,
  MultiProgressStorage,
  type ProgressRecord,
  type ProgressStorage,
  SmartProgressStorage,
  StatusProgressStorage,
} from './progress-storage.ts'

const empty: KubeObject = { apiVersion: 'example.com/v1', kind: 'Database', metadata: { name: 'db' } }
const record: ProgressRecord = {
  started: '2020-01-01T00:00:00.000000+00:00',
  delayed: '2020-01-01T00:01:00.000000+00:00',
  purpose: 'create',
  retries: 1,
  success: false,
  failure: false,
  message: 'oops',
}
const text =
  '{"started":"2020-01-01T00:00:00.000000+00:00","delayed":"2020-01-01T00:01:00.000000+00:00","purpose":"create",' +
  '"retries":1,"success":false,"failure":false,"message":"oops"}'

function annotated(annotations: Record<string, string>): KubeObject {
  return { ...empty, metadata: { name: 'db', annotations } }
}

function patched(body: KubeObject, patch: JsonObject): KubeObject {
  return applyMergePatch(body as never, patch) as never
}

function annotationsOf(holder: object): Record<string, unknown> | undefined {
  return (holder as { metadata?: { annotations?: Record<string, unknown> } }).metadata?.annotations
}

const storages: Record<string, ProgressStorage> = {
  annotations: new AnnotationsProgressStorage(),
  verbose: new AnnotationsProgressStorage({ verbose: true }),
  foreign: new AnnotationsProgressStorage({ prefix: 'example.com' }),
  status: new StatusProgressStorage(),
  multi: new MultiProgressStorage([new StatusProgressStorage(), new AnnotationsProgressStorage()]),
  smart: new SmartProgressStorage(),
}

describe.each(Object.entries(storages))('the progress storage "%s"', (_, storage) => {
  const key = 'fn/spec.field'
  const stored = (body: KubeObject, value: ProgressRecord): KubeObject => {
    const patch: JsonObject = {}
    storage.store({ key, record: value, body, patch })
    return patched(body, patch)
  }
  const body = stored(empty, { ...record, seen: 'digest', subrefs: ['fn/a'] })

  test('a progress storage returns the stored record', () => {
    expect(storage.fetch({ key, body })).toEqual({ ...record, seen: 'digest', subrefs: ['fn/a'] })
    expect(storage.fetch({ key: 'other', body })).toBeUndefined()
  })

  test('a progress storage overwrites the previous record', () => {
    expect(storage.fetch({ key, body: stored(body, { started: record.started, retries: 2 }) })).toEqual({
      started: record.started,
      retries: 2,
    })
  })

  test('a progress storage writes nothing if the record is stored already', () => {
    const patch: JsonObject = {}
    storage.store({ key, record: { ...record, seen: 'digest', subrefs: ['fn/a'], stopped: null }, body, patch })
    expect(patch).toEqual({})
  })

  test('a progress storage that stores a record reverts a pending purge of it', () => {
    const patch: JsonObject = {}
    storage.purge({ key, body, patch })
    storage.store({ key, record: { ...record, seen: 'digest', subrefs: ['fn/a'] }, body, patch })
    expect(storage.fetch({ key, body: patched(body, patch) })).toMatchObject({ seen: 'digest' })
  })

  test('a progress storage purges a record of the object', () => {
    const patch: JsonObject = {}
    storage.purge({ key, body, patch })
    expect(storage.fetch({ key, body: patched(body, patch) })).toBeUndefined()
  })

  test('a progress storage purges a record from the pending patch', () => {
    const patch: JsonObject = { spec: { a: 1 } }
    storage.store({ key, record, body: empty, patch })
    storage.purge({ key, body: empty, patch })
    expect(storage.fetch({ key, body: patched(empty, patch) })).toBeUndefined()
    expect(JSON.stringify(patch)).not.toContain('null')
  })

  test('the records of a progress storage are not part of the essence', () => {
    const { metadata, ...rest } = body
    const essence = { ...rest, metadata: { annotations: { kept: 'yes', ...metadata.annotations } } } as never
    const { status: _status, ...cleared } = storage.clear({ essence }) as JsonObject
    expect(cleared).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Database',
      metadata: { annotations: expect.anything() },
    })
    expect(storage.fetch({ key, body: storage.clear({ essence }) as never })).toBeUndefined()
  })
})

describe('progress in annotations', () => {
  const storage = new AnnotationsProgressStorage()

  test('a progress record in an annotation has the same fields and format as in Kopf', () => {
    const patch: JsonObject = {}
    const shuffled = { message: 'oops', ...record, subrefs: [], stopped: null }
    storage.store({ key: 'fn', record: shuffled, body: empty, patch })
    expect(patch).toEqual({ metadata: { annotations: { 'kopf.zalando.org/fn': text } } })
  })

  test('a progress record in an annotation has our own field at the end', () => {
    const patch: JsonObject = {}
    storage.store({ key: 'fn', record: { seen: 'digest', ...record }, body: empty, patch })
    expect(annotationsOf(patch)?.['kopf.zalando.org/fn']).toBe(text.replace('"oops"', '"oops","seen":"digest"'))
  })

  test.each<[string, string, ProgressRecord | undefined]>([
    ['invalid JSON', '{"retries":', undefined],
    ['a value that is not an object', '[1]', undefined],
    ['null', 'null', undefined],
    ['an empty text', '', undefined],
    ['fields of wrong types', '{"retries":"x","success":1,"subrefs":[1],"message":"m","started":5}', { message: 'm' }],
    ['impossible numbers', '{"retries":12345678901234567890}', {}],
    ['unknown fields', '{"retries":1,"unknown":{}}', { retries: 1 }],
    ['hostile keys', '{"__proto__":{"retries":5},"constructor":1}', {}],
  ])('a malformed progress record with %s is read as far as possible', (_, stored, expected) => {
    expect(storage.fetch({ key: 'fn', body: annotated({ 'kopf.zalando.org/fn': stored }) })).toEqual(expected)
  })

  test('a progress record with a long id is written to both keys, and read from the first valid one, the newer key first', () => {
    const key = 'a'.repeat(47)
    const patch: JsonObject = {}
    storage.store({ key, record, body: empty, patch })
    const names = Object.keys(annotationsOf(patch) ?? {})
    expect(names).toHaveLength(2)
    const [v2, v1] = names as [string, string]
    expect(storage.fetch({ key, body: annotated({ [v2]: '{"retries":2}', [v1]: '{"retries":1}' }) })?.retries).toBe(2)
    expect(storage.fetch({ key, body: annotated({ [v2]: '{', [v1]: '{"retries":1}' }) })?.retries).toBe(1)
  })

  test('a custom annotation prefix of a progress storage is marked once', () => {
    const own = new AnnotationsProgressStorage({ prefix: 'example.com' })
    const patch: JsonObject = {}
    own.store({ key: 'fn', record, body: empty, patch })
    expect(annotationsOf(patch)?.['example.com/kopf-managed']).toBe('yes')
    const next: JsonObject = {}
    own.store({ key: 'other', record, body: patched(empty, patch), patch: next })
    expect(Object.keys(annotationsOf(next) ?? {})).toEqual(['example.com/other'])
  })

  test('a long message in a progress record is cut between characters', () => {
    const patch: JsonObject = {}
    storage.store({ key: 'fn', record: { message: `${'x'.repeat(1023)}😀😀` }, body: empty, patch })
    expect(storage.fetch({ key: 'fn', body: patched(empty, patch) })?.message).toBe('x'.repeat(1023))
  })
})

test('a progress record in the status nulls its removed fields, since the patch is merged', () => {
  const storage = new StatusProgressStorage({ name: 'mine' })
  const body = { ...empty, status: { mine: { progress: { fn: { retries: 1, seen: 'digest' } } } } }
  const patch: JsonObject = {}
  storage.store({ key: 'fn', record: { retries: 2 }, body, patch })
  const written = {
    started: null,
    stopped: null,
    delayed: null,
    purpose: null,
    retries: 2,
    success: null,
    failure: null,
  }
  expect(patch).toEqual({
    status: { mine: { progress: { fn: { ...written, message: null, subrefs: null, seen: null } } } },
  })
})

test('the smart progress storage reads and purges records in the status, but writes none there', () => {
  const storage = new SmartProgressStorage()
  const body = { ...empty, status: { kopf: { progress: { fn: { retries: 3 } } } } }
  expect(storage.fetch({ key: 'fn', body })).toEqual({ retries: 3 })
  const patch: JsonObject = {}
  storage.purge({ key: 'fn', body, patch })
  expect(patch).toEqual({ status: { kopf: { progress: { fn: null } } } })
  const stored: JsonObject = {}
  storage.store({ key: 'fn', record, body, patch: stored })
  storage.touch({ body, patch: stored, value: 'now' })
  expect(stored['status']).toBeUndefined()
})
