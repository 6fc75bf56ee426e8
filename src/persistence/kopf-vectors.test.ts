/** Compares with the behaviour of Kopf as recorded by tools/kopf-vectors/generate.py. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Essence } from '../causation/cause.ts'
import { diffValues, reduceDiff } from '../causation/diff.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { AnnotationKeys } from './annotation-keys.ts'
import {
  AnnotationsDiffBaseStorage,
  type DiffBaseStorage,
  MultiDiffBaseStorage,
  StatusDiffBaseStorage,
} from './diffbase-storage.ts'
import type { ProgressRecord } from './progress-record.ts'
import {
  AnnotationsProgressStorage,
  MultiProgressStorage,
  type ProgressStorage,
  SmartProgressStorage,
  StatusProgressStorage,
} from './progress-storage.ts'

type Items = Array<[string, string[], unknown, unknown]>

interface Vectors {
  keys: Array<{ prefix: string; key: string; kind: string; expected: string[] }>
  bodies: Record<string, KubeObject>
  extraFields: Record<string, string[]>
  essences: Array<{
    storage: string
    body: string
    extra: string
    essence: Essence
    fetched?: Essence | null
    patch?: JsonObject
  }>
  records: Record<string, ProgressRecord>
  progress: Array<{
    storage: string
    body: string
    touched: JsonObject
    untouched: JsonObject
    cleared: Essence
    keys: Array<{ key: string; fetched: ProgressRecord | null; purged: JsonObject }>
    stored?: Record<string, JsonObject>
  }>
  diffs: Array<{ old: unknown; new: unknown; diff: Items; reduced: Array<[string[], Items]> }>
}

const file = new URL('./testdata/kopf-vectors.json', import.meta.url)
const vectors = parseJsonText(readFileSync(file, 'utf8')) as Vectors

const diffbaseStorages: Record<string, DiffBaseStorage> = {
  default: new AnnotationsDiffBaseStorage(),
  'own prefix': new AnnotationsDiffBaseStorage({ prefix: 'my-op.example.com' }),
  'unmarked prefix': new AnnotationsDiffBaseStorage({ prefix: 'kopf.example.com' }),
  'long key': new AnnotationsDiffBaseStorage({ prefix: 'my-op.example.com', key: 'k'.repeat(60) }),
  'long key without v1': new AnnotationsDiffBaseStorage({
    prefix: 'my-op.example.com',
    key: 'k'.repeat(60),
    v1: false,
  }),
  ignoring: new AnnotationsDiffBaseStorage({
    ignoredFields: [
      'spec.field',
      ['metadata', 'annotations', 'no-slash'],
      'spec.a.b',
      'status.x',
      'data.k',
      'metadata.labels.somelabel',
      'spec.list.a',
      'rules.x',
    ],
  }),
  status: new StatusDiffBaseStorage(),
  'named status': new StatusDiffBaseStorage({ name: 'other', field: 'status.{name}.base' }),
  multi: new MultiDiffBaseStorage([
    new AnnotationsDiffBaseStorage({ prefix: 'my-op.example.com' }),
    new StatusDiffBaseStorage(),
  ]),
}

const progressStorages: Record<string, ProgressStorage> = {
  annotations: new AnnotationsProgressStorage(),
  'own prefix': new AnnotationsProgressStorage({ prefix: 'my-op.example.com' }),
  verbose: new AnnotationsProgressStorage({ verbose: true }),
  'without v1': new AnnotationsProgressStorage({ v1: false }),
  status: new StatusProgressStorage(),
  multi: new MultiProgressStorage([new AnnotationsProgressStorage(), new StatusProgressStorage()]),
  smart: new SmartProgressStorage(),
}

/** Kopf leaves empty stanzas in a patch after reading them; empty stanzas have no effect. */
function withoutEmpty(patch: JsonObject): JsonObject {
  const metadata = patch['metadata'] as JsonObject | undefined
  if (Object.keys((metadata?.['annotations'] as JsonObject | undefined) ?? { none: 0 }).length > 0) return patch
  const { metadata: _, ...rest } = patch
  return rest
}

test('annotations have the same names as in Kopf', () => {
  for (const { prefix, key, kind, expected } of vectors.keys) {
    const body = { kind, metadata: { ownerReferences: [{ kind: 'Deployment' }] } }
    expect(new AnnotationKeys({ prefix, v1: true }).readable(key, body), `${prefix}/${key}`).toEqual(expected)
    expect(new AnnotationKeys({ prefix, v1: false }).readable(key, body)).toEqual(expected.slice(0, 1))
  }
})

describe.each(Object.keys(diffbaseStorages))('the diff-base storage "%s"', (name) => {
  const storage = diffbaseStorages[name]!
  const cases = vectors.essences.filter((one) => one.storage === name)

  test.each(cases)('the diff-base storage behaves as in Kopf with $body, extra fields: $extra', (vector) => {
    const body = vectors.bodies[vector.body]!
    const extraFields = vectors.extraFields[vector.extra]!
    const essence = storage.build({ body, extraFields })
    expect(essence).toEqual(vector.essence)
    expect(Object.keys(essence)).toEqual(Object.keys(vector.essence))
    if (vector.patch === undefined) return
    expect(storage.fetch({ body }) ?? null).toEqual(vector.fetched)
    const patch: JsonObject = {}
    storage.store({ body, patch, essence })
    expect(patch).toEqual(vector.patch)
  })
})

describe.each(Object.keys(progressStorages))('the progress storage "%s"', (name) => {
  const storage = progressStorages[name]!
  const cases = vectors.progress.filter((one) => one.storage === name)

  test.each(cases)('the progress storage behaves as in Kopf with $body', (vector) => {
    const body = vectors.bodies[vector.body]!
    for (const { key, fetched, purged } of vector.keys) {
      expect(storage.fetch({ key, body }) ?? null).toEqual(fetched)
      expect(patchOf((patch) => storage.purge({ key, body, patch }))).toEqual(withoutEmpty(purged))
    }
    expect(patchOf((patch) => storage.touch({ body, patch, value: 'now!' }))).toEqual(vector.touched)
    expect(patchOf((patch) => storage.touch({ body, patch, value: null }))).toEqual(vector.untouched)
    const essence = { metadata: body.metadata, status: body['status'] ?? {} } as unknown as Essence
    expect(storage.clear({ essence })).toEqual(vector.cleared)
    for (const [record, expected] of Object.entries(vector.stored ?? {})) {
      const key = `fn/${record[0]!.repeat(50)}`
      const stored = patchOf((patch) => storage.store({ key, record: vectors.records[record]!, body, patch }))
      expect(stored).toEqual(withoutEmpty(expected))
    }
  })
})

function patchOf(write: (patch: JsonObject) => void): JsonObject {
  const patch: JsonObject = {}
  write(patch)
  return patch
}

test.each(vectors.diffs)('the diff of $old and $new is the same as in Kopf, whole and reduced', (vector) => {
  const diff = diffValues(vector.old, vector.new)
  expect(sorted(diff)).toEqual(sorted(vector.diff))
  for (const [path, expected] of vector.reduced) expect(sorted(reduceDiff(diff, path))).toEqual(sorted(expected))
})

/** The order of keys in Kopf is random, and Kopf has null instead of undefined. */
function sorted(diff: ReadonlyArray<readonly [string, readonly string[], unknown, unknown]>): unknown[] {
  const items = diff.map(([operation, path, old, value]) => [operation, path, old ?? null, value ?? null])
  return items.sort((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1))
}
