import { describe, expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { applyMergePatch } from '../../util/merge-patch.ts'
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

describe.each(Object.entries(storages))('the storage "%s"', (_, storage) => {
  const key = 'fn/spec.field'
  const stored = (body: KubeObject, value: ProgressRecord): KubeObject => {
    const patch: JsonObject = {}
    storage.store({ key, record: value, body, patch })
    return patched(body, patch)
  }
  const body = stored(empty, { ...record, seen: 'digest', subrefs: ['fn/a'] })

  test('returns what was stored', () => {
    expect(storage.fetch({ key, body })).toEqual({ ...record, seen: 'digest', subrefs: ['fn/a'] })
    expect(storage.fetch({ key: 'other', body })).toBeUndefined()
  })

  test('stores over what was there', () => {
    expect(storage.fetch({ key, body: stored(body, { started: record.started, retries: 2 }) })).toEqual({
      started: record.started,
      retries: 2,
    })
  })

  test('writes nothing that is there already', () => {
    const patch: JsonObject = {}
    storage.store({ key, record: { ...record, seen: 'digest', subrefs: ['fn/a'], stopped: null }, body, patch })
    expect(patch).toEqual({})
  })

  test('takes back a purge that is not sent yet', () => {
    const patch: JsonObject = {}
    storage.purge({ key, body, patch })
    storage.store({ key, record: { ...record, seen: 'digest', subrefs: ['fn/a'] }, body, patch })
    expect(storage.fetch({ key, body: patched(body, patch) })).toMatchObject({ seen: 'digest' })
  })

  test('purges what is on the object', () => {
    const patch: JsonObject = {}
    storage.purge({ key, body, patch })
    expect(storage.fetch({ key, body: patched(body, patch) })).toBeUndefined()
  })

  test('purges what is on its way', () => {
    const patch: JsonObject = { spec: { a: 1 } }
    storage.store({ key, record, body: empty, patch })
    storage.purge({ key, body: empty, patch })
    expect(storage.fetch({ key, body: patched(empty, patch) })).toBeUndefined()
    expect(JSON.stringify(patch)).not.toContain('null')
  })

  test('is no part of an essence', () => {
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

describe('in annotations', () => {
  const storage = new AnnotationsProgressStorage()

  test('a record has the fields and the form that Kopf gives it', () => {
    const patch: JsonObject = {}
    const shuffled = { message: 'oops', ...record, subrefs: [], stopped: null }
    storage.store({ key: 'fn', record: shuffled, body: empty, patch })
    expect(patch).toEqual({ metadata: { annotations: { 'kopf.zalando.org/fn': text } } })
  })

  test('our own field comes last', () => {
    const patch: JsonObject = {}
    storage.store({ key: 'fn', record: { seen: 'digest', ...record }, body: empty, patch })
    expect(annotationsOf(patch)?.['kopf.zalando.org/fn']).toBe(text.replace('"oops"', '"oops","seen":"digest"'))
  })

  test.each<[string, string, ProgressRecord | undefined]>([
    ['no JSON', '{"retries":', undefined],
    ['no object', '[1]', undefined],
    ['null', 'null', undefined],
    ['an empty text', '', undefined],
    ['fields of wrong types', '{"retries":"x","success":1,"subrefs":[1],"message":"m","started":5}', { message: 'm' }],
    ['numbers that cannot be', '{"retries":12345678901234567890}', {}],
    ['fields of the future', '{"retries":1,"unknown":{}}', { retries: 1 }],
    ['hostile keys', '{"__proto__":{"retries":5},"constructor":1}', {}],
  ])('%s, where somebody has edited it, is taken as far as possible', (_, stored, expected) => {
    expect(storage.fetch({ key: 'fn', body: annotated({ 'kopf.zalando.org/fn': stored }) })).toEqual(expected)
  })

  test('both names are written, the newer is read first, and a broken one passed over', () => {
    const key = 'a'.repeat(47)
    const patch: JsonObject = {}
    storage.store({ key, record, body: empty, patch })
    const names = Object.keys(annotationsOf(patch) ?? {})
    expect(names).toHaveLength(2)
    const [v2, v1] = names as [string, string]
    expect(storage.fetch({ key, body: annotated({ [v2]: '{"retries":2}', [v1]: '{"retries":1}' }) })?.retries).toBe(2)
    expect(storage.fetch({ key, body: annotated({ [v2]: '{', [v1]: '{"retries":1}' }) })?.retries).toBe(1)
  })

  test('a prefix of its own is marked once', () => {
    const own = new AnnotationsProgressStorage({ prefix: 'example.com' })
    const patch: JsonObject = {}
    own.store({ key: 'fn', record, body: empty, patch })
    expect(annotationsOf(patch)?.['example.com/kopf-managed']).toBe('yes')
    const next: JsonObject = {}
    own.store({ key: 'other', record, body: patched(empty, patch), patch: next })
    expect(Object.keys(annotationsOf(next) ?? {})).toEqual(['example.com/other'])
  })

  test('a message that is too long is cut, and not in the middle of a character', () => {
    const patch: JsonObject = {}
    storage.store({ key: 'fn', record: { message: `${'x'.repeat(1023)}😀😀` }, body: empty, patch })
    expect(storage.fetch({ key: 'fn', body: patched(empty, patch) })?.message).toBe('x'.repeat(1023))
  })
})

test('in the status, fields that are no more are nulled, for the patch is merged', () => {
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

test('the smart one reads and purges what is in the status, and writes nothing there', () => {
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
