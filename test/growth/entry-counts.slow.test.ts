/**
 * Work on n entries of an object takes time in proportion to n: conditions, finalizers, owners, labels, records, children. The authors
 * of objects decide on n. Each list or map that the code iterates has a row in the table.
 */
import { expect, test } from 'vitest'
import { findClientCalls } from '../../src/cli/deployment/source/seen-calls.ts'
import { tokenize } from '../../src/cli/deployment/source/source-tokens.ts'
import { readSource } from '../../src/cli/deployment/source/source-values.ts'
import { hideSecrets } from '../../src/client/auth/exec-plugin.ts'
import { Smallest } from '../../src/dashboard/views/smallest.ts'
import { findRecords } from '../../src/explain/stored-records.ts'
import { findPatternMismatch, PRESENT } from '../../src/handlers/filters.ts'
import { toPairs } from '../../src/indexing/indexer.ts'
import { compareStates } from '../../src/journal/field-changes.ts'
import { secretsOf } from '../../src/journal/mask.ts'
import { ObjectRings } from '../../src/journal/object-rings.ts'
import { type Condition, withCondition } from '../../src/kube/conditions.ts'
import { addFinalizer, removeFinalizer } from '../../src/kube/finalizers.ts'
import type { KubeObject } from '../../src/kube/objects.ts'
import { adopt, appendOwnerReference, removeOwnerReference } from '../../src/kube/owners.ts'
import { toSelector } from '../../src/kube/resources/selectors.ts'
import { AnnotationsProgressStorage } from '../../src/persistence/progress-storage.ts'
import { readReconciled } from '../../src/reconciling/children/desired.ts'
import { isMet, parseRequirements } from '../../src/server/label-requirements.ts'
import { repeatsSecret, secretValuesOf } from '../../src/steps/secret-values.ts'
import { toJsonLine, toSafeLine } from '../../src/util/log/error-text.ts'
import { expectLinearGrowth } from '../support/growth.ts'

const owner = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default', uid: 'u' } }
const numbers = (n: number) => Array.from({ length: n }, (_, index) => index)
const keyed = (n: number, key: (index: number) => string, value: (index: number) => string) =>
  Object.fromEntries(numbers(n).map((index) => [key(index), value(index)]))

function bodyOf(metadata: object): KubeObject {
  return { ...owner, metadata: { ...owner.metadata, ...metadata } }
}

const record = { started: '2026-01-31T11:59:00.000000+00:00', retries: 1 }

function recordsOf(body: KubeObject) {
  const storage = new AnnotationsProgressStorage()
  return findRecords({ body, storage, prefixes: ['kopf.zalando.org'], ids: ['h0'], nowMs: 0 })
}

interface Row {
  /** The smallest size; four times as much is the most that an object can have. */
  readonly n: number
  readonly prepare: (n: number) => unknown
  readonly run: (input: never) => unknown
}

const row = <Input>(n: number, prepare: (n: number) => Input, run: (input: Input) => unknown): Row => ({
  n,
  prepare,
  run,
})

const conditionOf = (index: number): Condition => ({
  type: `Type${index}`,
  status: 'True',
  reason: 'Because',
  message: '',
  lastTransitionTime: '2026-01-31T11:59:00Z',
})
const ready = { type: 'Ready', status: 'True', reason: 'Done', message: '', nowMs: 0, generation: 1 } as const
const family = {
  owner,
  kinds: [{ selector: toSelector('configmaps'), resource: undefined }],
  label: 'r',
  existing: 'refuse' as const,
}
const child = (index: number) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${index}` } })

const rows: Readonly<Record<string, Row>> = {
  'adding a condition': row(
    5000,
    (n) => numbers(n).map(conditionOf),
    (conditions) => expect(withCondition(conditions, ready)).toHaveLength(conditions.length + 1),
  ),
  'comparing two states for the journal': row(
    4000,
    (n) =>
      [1, 2].map((value) => ({
        spec: keyed(
          n,
          (index) => `k${index}`,
          (index) => `${index} ${value}`,
        ),
      })),
    ([before, after]) => compareStates(before!, after!),
  ),
  'comparing two lists with names for the journal': row(
    2500,
    (n) => [1, 2].map((value) => ({ spec: { list: numbers(n).map((index) => ({ name: `n${index}`, value })) } })),
    ([before, after]) => compareStates(before!, after!),
  ),
  'finding the secrets of an object for the journal': row(
    4000,
    (n) => ({ spec: { list: numbers(n).map((index) => ({ name: `n${index}`, value: `plain ${index}` })) } }),
    (body) => secretsOf(body),
  ),
  'keeping entries in the journal': row(
    25_000,
    (n) => numbers(n),
    (all) => {
      const rings = new ObjectRings<{ readonly index: number }>({ entriesPerObject: 5, maxBytes: 200_000 })
      for (const index of all) rings.add(`object ${index % 1000}`, { index })
    },
  ),
  'selecting one page of the objects of the dashboard': row(
    25_000,
    (n) => numbers(n).map((index) => (index * 7919) % n),
    (all) => {
      const smallest = new Smallest<number>(200, (a, b) => a - b)
      for (const one of all) smallest.add(one)
      expect(smallest.items.slice(0, 3)).toEqual([0, 1, 2])
    },
  ),
  'adding and removing a finalizer': row(
    25_000,
    (n) => bodyOf({ finalizers: numbers(n).map((index) => `example.com/f${index}`) }),
    (body) => {
      addFinalizer(body, 'kopf/ours')
      removeFinalizer(body, 'kopf/ours')
    },
  ),
  'removing an owner reference': row(
    5000,
    (n) => bodyOf({ ownerReferences: numbers(n).map((index) => ({ uid: `u${index}`, name: 'x', kind: 'X' })) }),
    (body) => removeOwnerReference(appendOwnerReference(body, owner), owner),
  ),
  'adopting children': row(
    2500,
    (n) => numbers(n).map(child),
    (children) => adopt(children, owner),
  ),
  'filtering by labels': row(
    5000,
    (n) => keyed(n, (index) => `k${index}`, String),
    (labels) =>
      findPatternMismatch(Object.fromEntries(Object.keys(labels).map((key) => [key, PRESENT])), labels, () => ({})),
  ),
  'parsing a label selector': row(
    2500,
    (n) => keyed(n, (index) => `k${index}`, String),
    (labels) => {
      const text = Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join()
      expect(parseRequirements(text).every((requirement) => isMet(requirement, labels))).toBe(true)
    },
  ),
  'reading the pairs of an index': row(
    5000,
    (n) => numbers(n).map((index) => [`k${index}`, index] as const),
    (pairs) => [toPairs(pairs), toPairs(new Map(pairs)), toPairs(Object.fromEntries(pairs))],
  ),
  'reading the children of a reconciler': row(
    1000,
    (n) => ({ children: numbers(n).map(child) }),
    (result) => readReconciled(result, family),
  ),
  'reading the groups of children of a reconciler': row(
    1000,
    (n) => ({ children: numbers(n).map((index) => [child(index)]) }),
    (result) => readReconciled(result, family),
  ),
  'finding the client calls in a source': row(
    1000,
    (n) => "function f() { const it = { a: [1, 2] }; client.get('pods', `x`) }\n".repeat(n),
    (source) => findClientCalls([readSource('operator.ts', tokenize(source))], []),
  ),
  'explaining records of nested sub-handlers': row(
    1000,
    (n) => {
      const text = (index: number) => JSON.stringify({ ...record, subrefs: [`h${index + 1}`] })
      return bodyOf({ annotations: keyed(n, (index) => `kopf.zalando.org/h${index}`, text) })
    },
    (body) => expect(recordsOf(body).progress).toHaveLength(Object.keys(body.metadata.annotations!).length),
  ),
  'explaining records of many sub-handlers': row(
    1000,
    (n) => {
      const subrefs = numbers(n).map((index) => `h0/s${index}`)
      const [first, other] = [JSON.stringify({ ...record, subrefs }), JSON.stringify(record)]
      const annotations = keyed(
        n,
        (index) => `kopf.zalando.org/h0.s${index}`,
        () => other,
      )
      return bodyOf({ annotations: { ...annotations, 'kopf.zalando.org/h0': first } })
    },
    (body) => recordsOf(body),
  ),
  'explaining annotations of many prefixes': row(
    1500,
    (n) =>
      bodyOf({
        annotations: keyed(
          n,
          (index) => `p${index}.example.com/kopf-managed`,
          () => 'yes',
        ),
      }),
    (body) => recordsOf(body),
  ),
  'logging a text': row(
    250_000,
    (n) => 'line\n\u001b[31m "'.repeat(n / 10),
    (text) => [toSafeLine(text), toJsonLine({ text })],
  ),
  'logging an object': row(
    5000,
    (n) => keyed(n, (index) => `k${index}`, String),
    (fields) => toJsonLine({ fields, list: Object.values(fields) }),
  ),
  'hiding secrets in an error output': row(
    50_000,
    (n) => `${'token'.repeat(n / 10)}${'"'.repeat(n)}${'password = "" '.repeat(n / 10)}${'x'.repeat(n)}`,
    (text) => hideSecrets(text, ['secret-1', 'secret-2']),
  ),
  'collecting the secret values of an object': row(
    2500,
    (n) => ({
      kind: 'Secret',
      data: keyed(
        n,
        (index) => `k${index}`,
        (index) => `value-${index}`,
      ),
    }),
    (secret) => secretValuesOf(secret),
  ),
}

test.each(Object.entries(rows))('the time of %s grows linearly', async (_, { n, prepare, run }) => {
  await expectLinearGrowth({ n, prepare, run: (input) => void run(input as never) })
})

test('comparing a long text with many secret values is refused within a moment', () => {
  const values = new Set(numbers(100_000).map((index) => `value-${index}`))
  const before = performance.now()
  expect(repeatsSecret('x'.repeat(1_000_000), values)).toBe(true)
  expect(performance.now() - before).toBeLessThan(100)
  expect(repeatsSecret('x', values)).toBe(false)
})
