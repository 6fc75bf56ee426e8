/** The values from which command-sequences.ts makes commands. */
import type { Tree } from '../../../support/answers.ts'

export const metadataFragments: readonly Tree[] = [
  { metadata: { labels: { app: 'one' } } },
  { metadata: { labels: { app: 'two', tier: '' } } },
  { metadata: { annotations: { note: 'x' } } },
  { metadata: { finalizers: ['example.com/hold'] } },
  { metadata: { finalizers: ['example.com/hold', 'example.com/other'] } },
  { spec: { size: 2 } },
  { spec: { size: 3, colour: 'red' } },
  { status: { phase: 'New', count: 1 } },
]

export const removals: readonly Tree[] = [
  { metadata: { finalizers: [] } },
  { metadata: { finalizers: null } },
  { metadata: { labels: null } },
  { metadata: { labels: { app: null } } },
  { metadata: { annotations: { note: null } } },
  { metadata: { uid: null, creationTimestamp: null } },
  { spec: null },
  { status: null },
  { data: null },
  { spec: { colour: null } },
]

export const preconditions: readonly Tree[] = [
  { metadata: { resourceVersion: '<rv:>' } },
  { metadata: { resourceVersion: '<old:>' } },
  { metadata: { resourceVersion: '' } },
  { metadata: { resourceVersion: null } },
  { metadata: { uid: '<uid:>' } },
  { metadata: { uid: '11111111-1111-4111-8111-111111111111' } },
]

/** Invalid fields, and fields that the server ignores. */
export const oddFragments: readonly Tree[] = [
  { apiVersion: 'v2' },
  { kind: 'Other' },
  { apiVersion: null },
  { kind: '' },
  { metadata: { name: 'b' } },
  { metadata: { namespace: 'elsewhere' } },
  { metadata: { namespace: '<ns>' } },
  { metadata: { uid: '22222222-2222-4222-8222-222222222222' } },
  { metadata: { resourceVersion: '7' } },
  { metadata: { resourceVersion: 'x' } },
  { metadata: { generation: 7 } },
  { metadata: { creationTimestamp: '2001-02-03T04:05:06Z' } },
  { metadata: { creationTimestamp: 'yesterday' } },
  { metadata: { deletionTimestamp: '2001-02-03T04:05:06Z' } },
  { metadata: { deletionGracePeriodSeconds: 5 } },
  { metadata: { selfLink: '/somewhere' } },
  { metadata: { labels: { app: 1 } } },
  { metadata: { labels: { 'not a key': 'not a value!' } } },
  { metadata: { labels: 'none' } },
  { metadata: { annotations: { 'Upper/Case': 'x' } } },
  { metadata: { annotations: { note: null } } },
  { metadata: { finalizers: ['short'] } },
  { metadata: { finalizers: ['example.com/Bad Name'] } },
  { metadata: { finalizers: 'one' } },
  { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: '', uid: '' }] } },
  { metadata: { ownerReferences: [{ apiVersion: '', kind: 'Event', name: 'x', uid: 'y' }] } },
  { metadata: { ownerReferences: {} } },
  { metadata: { colour: 'blue' } },
  { metadata: { generateName: 'Bad_' } },
  { colour: 'blue' },
]

export const customFragments: readonly Tree[] = [
  { spec: { colour: 'green' } },
  { spec: { colour: 'blue' } },
  { spec: { size: 11 } },
  { spec: { size: -1, ratio: 1 } },
  { spec: { size: '2' } },
  { spec: { size: 2.5 } },
  { spec: { size: null } },
  { spec: { ratio: 0.25 } },
  { spec: { ratio: 2 } },
  { spec: { code: 'abc' } },
  { spec: { code: '' } },
  { spec: { code: 'ABCDEF' } },
  { spec: { tags: ['x', 'y'] } },
  { spec: { tags: ['x', 'x'] } },
  { spec: { tags: ['1', '2', '3', '4'] } },
  { spec: { tags: [1, null] } },
  { spec: { tags: {} } },
  { spec: { ports: [{ name: 'http' }, { name: 'https', port: 443 }] } },
  { spec: { ports: [{ name: 'http' }, { name: 'http' }] } },
  { spec: { ports: [{ port: 1 }] } },
  { spec: { ports: [null] } },
  { spec: { amount: 5 } },
  { spec: { amount: '50%' } },
  { spec: { amount: true } },
  { spec: { free: { any: [1, { thing: null }] } } },
  { spec: { free: [] } },
  { spec: { limits: { one: 1, two: 2 } } },
  { spec: { limits: { one: 1, two: 2, three: 3 } } },
  { spec: { limits: { one: '1' } } },
  { spec: { since: '2020-01-01T00:00:00Z' } },
  { spec: { since: 'long ago' } },
  { spec: { maybe: null } },
  { spec: { maybe: 'yes' } },
  { spec: { mode: null } },
  { spec: { mode: 'manual' } },
  { spec: { nested: {} } },
  { spec: { nested: { must: true } } },
  { spec: { nested: { must: 'yes' } } },
  { spec: { choice: {} } },
  { spec: { choice: { one: 'x' } } },
  { spec: { choice: { one: 'x', other: 'y' } } },
  { spec: { extra: 'more' } },
  { spec: { unknown: 1, other: { unknown: 2 } } },
  { spec: [] },
  { spec: 'text' },
  { status: { phase: 'Done' } },
  { status: { phase: 'Odd' } },
  { status: { count: 2, rest: { deep: [1] } } },
  { status: { count: 'many' } },
  { status: { unknown: true } },
  { status: 'fine' },
]

export const configMapFragments: readonly Tree[] = [
  { data: { key: 'value' } },
  { data: { key: 'other', more: '' } },
  { data: { key: null } },
  { data: { key: 1 } },
  { data: { 'bad key': 'x' } },
  { data: [] },
  { binaryData: { blob: 'AAEC' } },
  { binaryData: { key: 'AAEC' } },
  { binaryData: { blob: 'not base64!' } },
  { immutable: true },
  { immutable: false },
  { immutable: 'yes' },
  { unknown: 1 },
]

function owner(name: string, rest: Tree = {}): Tree {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: `<uid:${name}>`, ...rest }
}

export const ownerFragments: readonly Tree[] = [
  { metadata: { ownerReferences: [owner('a')] } },
  { metadata: { ownerReferences: [owner('a', { blockOwnerDeletion: true })] } },
  { metadata: { ownerReferences: [owner('b', { controller: true, blockOwnerDeletion: true })] } },
  { metadata: { ownerReferences: [owner('a'), owner('b')] } },
  { metadata: { ownerReferences: [owner('a'), owner('a')] } },
  { metadata: { ownerReferences: [owner('a', { controller: true }), owner('b', { controller: true })] } },
  { metadata: { ownerReferences: [owner('never-made')] } },
  { metadata: { ownerReferences: null } },
]

export const finalizerFragments: readonly Tree[] = [
  { metadata: { finalizers: ['example.com/hold'] } },
  { metadata: { finalizers: ['foregroundDeletion'] } },
  { metadata: { finalizers: ['orphan'] } },
]

export type Query = Readonly<Record<string, string>>

export const writeQueries: readonly Query[] = [
  { dryRun: 'All' },
  { dryRun: 'All' },
  { dryRun: 'Some' },
  { fieldValidation: 'Strict' },
  { fieldValidation: 'Strict' },
  { fieldValidation: 'Strict' },
  { fieldValidation: 'Ignore' },
  { fieldValidation: 'Warn' },
  { fieldValidation: 'Odd' },
  { fieldManager: 'fuzzer' },
  { fieldManager: 'one' },
  { fieldManager: 'two' },
  { force: 'true' },
]

export const getQueries: readonly Query[] = [{ resourceVersion: '0' }, { resourceVersion: 'x' }, { pretty: 'true' }]

const selectors: readonly Query[] = [
  { labelSelector: 'app=one' },
  { labelSelector: 'app!=one' },
  { labelSelector: 'app in (one,two),!missing' },
  { labelSelector: 'tier' },
  { labelSelector: '!app' },
  { fieldSelector: 'metadata.name=a' },
  { fieldSelector: 'metadata.name!=a' },
  { fieldSelector: 'metadata.namespace=<ns>' },
]

export const listQueries: readonly Query[] = [
  ...selectors,
  { labelSelector: 'app=' },
  { labelSelector: 'app in (' },
  { labelSelector: 'a b' },
  { fieldSelector: 'spec.colour=red' },
  { fieldSelector: 'spec.size=2' },
  { fieldSelector: 'metadata.name' },
  { limit: '1' },
  { limit: '2' },
  { limit: '2' },
  { limit: '-1' },
  { limit: 'x' },
  { limit: '1', continue: '<continue>' },
  { limit: '2', continue: '<continue>' },
  { continue: '<continue>' },
  { continue: 'no token' },
  { continue: 'bm9uc2Vuc2U' },
  { continue: 'eyJ2IjoidjEifQ' },
  { resourceVersion: '0' },
  { resourceVersion: '<rv>' },
  { resourceVersion: '<rv>', resourceVersionMatch: 'Exact' },
  { resourceVersion: '<rv>', resourceVersionMatch: 'NotOlderThan' },
  { resourceVersion: '<rv:a>', resourceVersionMatch: 'Exact' },
  { resourceVersionMatch: 'Exact' },
  { resourceVersion: '0', resourceVersionMatch: 'Exact' },
  { resourceVersion: '0', resourceVersionMatch: 'Odd' },
  { resourceVersion: 'x' },
  { sendInitialEvents: 'true' },
]

export const watchQueries: readonly Query[] = [
  {},
  {},
  { resourceVersion: '0' },
  { resourceVersion: '<rv>' },
  { resourceVersion: '<rv:a>' },
  { resourceVersion: '<old:a>' },
  { resourceVersion: '<old:a>', labelSelector: 'app=one' },
  { resourceVersion: '<old:b>', fieldSelector: 'metadata.name=b' },
  ...selectors,
  { fieldSelector: 'spec.colour=red' },
  { allowWatchBookmarks: 'true' },
  { sendInitialEvents: 'true', allowWatchBookmarks: 'true', resourceVersionMatch: 'NotOlderThan' },
  { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', labelSelector: 'app=one' },
  {
    sendInitialEvents: 'true',
    allowWatchBookmarks: 'true',
    resourceVersionMatch: 'NotOlderThan',
    resourceVersion: '0',
  },
  { sendInitialEvents: 'false', allowWatchBookmarks: 'true', resourceVersionMatch: 'NotOlderThan' },
  { sendInitialEvents: 'true' },
  { sendInitialEvents: 'true', resourceVersionMatch: 'Exact' },
  { resourceVersionMatch: 'NotOlderThan' },
  { resourceVersion: 'x' },
  { continue: 'x' },
  { limit: '1' },
]

export interface DeletionOptions {
  readonly query?: Query
  readonly body?: unknown
}

const options = (rest: Tree): Tree => ({ kind: 'DeleteOptions', apiVersion: 'v1', ...rest })

export const deletions: readonly DeletionOptions[] = [
  {},
  {},
  {},
  { query: { propagationPolicy: 'Background' } },
  { query: { propagationPolicy: 'Odd' } },
  { query: { dryRun: 'All' } },
  { query: { dryRun: 'Some' } },
  { query: { gracePeriodSeconds: '5' } },
  { query: { gracePeriodSeconds: 'x' } },
  { query: { orphanDependents: 'false' } },
  { query: { orphanDependents: 'true', propagationPolicy: 'Orphan' } },
  { body: options({ propagationPolicy: 'Background' }) },
  { body: options({ dryRun: ['All'] }) },
  { body: options({ gracePeriodSeconds: -1 }) },
  { body: options({ gracePeriodSeconds: '1' }) },
  { body: options({ preconditions: { uid: '<uid:>' } }) },
  { body: options({ preconditions: { uid: '11111111-1111-4111-8111-111111111111' } }) },
  { body: options({ preconditions: { resourceVersion: '<rv:>' } }) },
  { body: options({ preconditions: { resourceVersion: '<old:>' } }) },
  { body: options({ preconditions: { resourceVersion: '7' } }) },
  { body: options({ unknown: 1 }) },
  { body: { preconditions: {} } },
  { body: { kind: 'Other', apiVersion: 'v1' } },
  { body: options({ dryRun: ['All'] }), query: { propagationPolicy: 'Background' } },
]

export const collectedDeletions: readonly DeletionOptions[] = [
  { query: { propagationPolicy: 'Foreground' } },
  { query: { propagationPolicy: 'Orphan' } },
  { query: { orphanDependents: 'true' } },
  { body: options({ propagationPolicy: 'Foreground' }) },
  { body: options({ orphanDependents: true }) },
]

export const dryDeletions: readonly DeletionOptions[] = [
  { query: { propagationPolicy: 'Foreground', dryRun: 'All' } },
  { query: { propagationPolicy: 'Orphan', dryRun: 'All' } },
]

export const collectionDeletions: readonly Query[] = [
  {},
  { labelSelector: 'app=one' },
  { labelSelector: '!app' },
  { fieldSelector: 'metadata.name=a' },
  { dryRun: 'All' },
  { limit: '1' },
  { propagationPolicy: 'Background' },
  { labelSelector: 'a b' },
]

export const operations: readonly Tree[] = [
  { op: 'add', path: '/metadata/labels', value: { app: 'one' } },
  { op: 'add', path: '/metadata/labels/app', value: 'two' },
  { op: 'add', path: '/metadata/finalizers', value: ['example.com/hold'] },
  { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/more' },
  { op: 'add', path: '/metadata/finalizers/0', value: 'example.com/first' },
  { op: 'add', path: '/metadata/finalizers/9', value: 'example.com/far' },
  { op: 'remove', path: '/metadata/finalizers' },
  { op: 'remove', path: '/metadata/finalizers/0' },
  { op: 'remove', path: '/metadata/finalizers/-1' },
  { op: 'remove', path: '/metadata/labels/app' },
  { op: 'replace', path: '/metadata/labels/app', value: 'one' },
  { op: 'replace', path: '/metadata/name', value: 'b' },
  { op: 'replace', path: '/metadata', value: {} },
  { op: 'remove', path: '/metadata' },
  { op: 'remove', path: '/kind' },
  { op: 'test', path: '/metadata/name', value: 'a' },
  { op: 'test', path: '/metadata/labels/app', value: 'one' },
  { op: 'test', path: '/spec/size', value: 2 },
  { op: 'test', path: '/spec/none', value: null },
  { op: 'add', path: '/spec', value: { size: 4 } },
  { op: 'add', path: '/spec/size', value: 5 },
  { op: 'add', path: '/spec/size', value: 'five' },
  { op: 'add', path: '/spec/tags', value: ['x'] },
  { op: 'add', path: '/spec/tags/-', value: 'y' },
  { op: 'add', path: '/spec/free', value: { x: 1 } },
  { op: 'replace', path: '/spec/size', value: 6 },
  { op: 'replace', path: '/spec/colour', value: null },
  { op: 'remove', path: '/spec/size' },
  { op: 'remove', path: '/spec' },
  { op: 'copy', from: '/spec/size', path: '/spec/limits' },
  { op: 'copy', from: '/metadata/name', path: '/metadata/labels/app' },
  { op: 'copy', from: '/metadata/labels', path: '/metadata/annotations' },
  { op: 'move', from: '/spec/size', path: '/spec/amount' },
  { op: 'move', from: '/metadata/labels', path: '/metadata/annotations' },
  { op: 'move', from: '/spec', path: '/spec/inner' },
  { op: 'move', from: '/nowhere', path: '/somewhere' },
  { op: 'add', path: '/data', value: { key: 'patched' } },
  { op: 'add', path: '/data/key', value: 'patched' },
  { op: 'add', path: '/status', value: { phase: 'Done' } },
  { op: 'replace', path: '/status/phase', value: 'New' },
  { op: 'add', path: '/deep/er', value: 1 },
  { op: 'add', path: '', value: {} },
  { op: 'add', path: 'spec', value: 1 },
  { op: 'add', path: '/spec/size' },
  { op: 'odd', path: '/spec' },
  { op: 'add' },
  { path: '/spec' },
]

/** Bodies that are not objects. */
export const texts: readonly string[] = [
  '{',
  '',
  '[]',
  '"text"',
  '1',
  'null',
  '{}',
  '{"metadata": 1}',
  '{"metadata": {"name": 1}}',
  '{"metadata": null}',
  '{"apiVersion": 1}',
  '{"kind": {}}',
  '{"metadata": {"name": "a", "name": "b"}}',
  '{"metadata": {"name": "a"}, "spec": {"size": 1, "size": 2}}',
  '{"metadata": {"name": "a"}} trailing',
  '{"metadata": {"name": "a", "labels": {"x": "\\u00e9"}}}',
  '[{"op": "add", "path": "/spec/size", "value": 1}] x',
  '[1]',
  '{"op": "add", "path": "/spec", "value": {}}',
]

/** Bodies for `/status`: mostly fragments with a status, and some of the others. */
export function statusFragments(others: readonly Tree[]): readonly Tree[] {
  const own = [...metadataFragments, ...customFragments].filter((fragment) => 'status' in fragment)
  return [...own, ...own, ...own, ...others, { status: null }]
}

export const applyQueries: readonly Query[] = [
  { fieldManager: 'one' },
  { fieldManager: 'one', force: 'true' },
  { fieldManager: 'two' },
  { fieldManager: 'two', force: 'true' },
  { fieldManager: 'kubectl' },
  {},
]

/** Fragments of applied configurations, which several managers own together. */
export const appliedFragments: readonly Tree[] = [
  { spec: { tags: ['x'] } },
  { spec: { tags: ['y', 'x'] } },
  { spec: { tags: ['z', 'y'] } },
  { spec: { ports: [{ name: 'http' }] } },
  { spec: { ports: [{ name: 'http', port: 8080 }] } },
  { spec: { ports: [{ name: 'https', port: 443 }, { name: 'http' }] } },
  { spec: { limits: { one: 1 } } },
  { spec: { limits: { two: 2 } } },
  { spec: { limits: {} } },
  { spec: { free: { a: { b: 1 }, c: [1] } } },
  { spec: { free: { a: { d: 2 } } } },
  { spec: {} },
  { data: { key: 'value', more: '1' } },
  { data: { more: '2' } },
  { data: {} },
  { metadata: { labels: { app: 'one', tier: 'x' } } },
  { metadata: { finalizers: ['example.com/other'] } },
  { metadata: { managedFields: [] } },
  { metadata: { managedFields: null } },
]

/** managedFields from a client. */
export const managedFragments: readonly Tree[] = [
  { metadata: { managedFields: [] } },
  { metadata: { managedFields: [{}] } },
  { metadata: { managedFields: [{ manager: 'odd' }] } },
  { metadata: { managedFields: null } },
]
