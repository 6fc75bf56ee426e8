/** Sequences that two servers once answered differently, shrunk by the fuzzer. They run before the random sequences. */
import type { Tree } from '../../../support/answers.ts'
import type { Command } from './commands.ts'
import { type ResourceName, types } from './fuzzed-resources.ts'

export interface KeptCase {
  readonly name: string
  readonly commands: readonly Command[]
}

export function create(resource: ResourceName, metadata: Tree, rest: Tree = {}): Command {
  return { method: 'POST', resource, body: { ...types[resource], metadata, ...rest } }
}

function merge(resource: ResourceName, name: string, body: Tree, rest: Partial<Command> = {}): Command {
  return { method: 'PATCH', patch: 'merge', resource, name, body, ...rest }
}

const list = (resource: ResourceName, query: Record<string, string> = {}): Command => ({
  method: 'GET',
  resource,
  query,
})
const watch = (resource: ResourceName, query: Record<string, string>): Command => ({ method: 'WATCH', resource, query })

const initialEvents = { sendInitialEvents: 'true', allowWatchBookmarks: 'true', resourceVersionMatch: 'NotOlderThan' }

const bodies: readonly KeptCase[] = [
  {
    name: 'a body that is not JSON is quoted in the refusal',
    commands: [
      { method: 'POST', resource: 'configmaps', body: '{' },
      { method: 'PUT', resource: 'configmaps', name: 'a', body: '"text"' },
      { method: 'POST', resource: 'configmaps', body: 'null' },
      { method: 'POST', resource: 'widgets', body: 'null' },
      { method: 'POST', resource: 'widgets', body: '{"metadata": {"name": "a"}} trailing' },
    ],
  },
  {
    name: 'a kind or apiVersion that is not text is refused with the name of the Go field',
    commands: [
      { method: 'POST', resource: 'configmaps', body: '{"apiVersion": 1}' },
      { method: 'POST', resource: 'widgets', body: '{"kind": {}}' },
      { method: 'DELETE', resource: 'widgets', name: 'a', body: '{"kind": {}}' },
      { method: 'DELETE', resource: 'widgets', name: 'a', body: '"text"' },
    ],
  },
  {
    name: 'the refusal of a custom resource without a kind quotes the body',
    commands: [
      { method: 'POST', resource: 'widgets', body: '{"metadata": {"name": "a", "name": "b"}}' },
      { method: 'POST', resource: 'widgets', body: { ...types.widgets, kind: '', metadata: { name: 'a' } } },
      {
        method: 'PUT',
        resource: 'widgets',
        name: 'a',
        query: { fieldValidation: 'Ignore' },
        body: { ...types.widgets, kind: '', metadata: { name: 'a' } },
      },
      { method: 'POST', resource: 'widgets', body: { ...types.widgets, apiVersion: null, metadata: { name: 'a' } } },
    ],
  },
  {
    name: 'the wrong kind of a custom resource is reported only without other errors',
    commands: [
      { method: 'PUT', resource: 'gizmos', name: 'a', body: { $read: 'a', kind: 'Other' } },
      create('widgets', { generateName: 'gen1-' }, { kind: 'Other' }),
      create('widgets', { name: 'a' }, { kind: 'Other', spec: { tags: ['x', 'x'] } }),
      { ...create('widgets', { name: 'a', colour: 'blue' }, { kind: 'Other' }), query: { fieldValidation: 'Strict' } },
    ],
  },
  {
    name: 'a body in another version is decoded by the schema of that version before it is refused',
    commands: [
      create('widgets.v2', { name: 'b' }),
      { method: 'PUT', resource: 'widgets', name: 'b', body: { $read: 'b', spec: { nested: {} } } },
    ],
  },
  {
    name: 'duplicate fields inside an unknown field are not reported',
    commands: [
      { method: 'POST', resource: 'configmaps', body: '{"metadata": {"name": "a"}, "spec": {"size": 1, "size": 2}}' },
    ],
  },
]

const writes: readonly KeptCase[] = [
  {
    name: 'all validation errors of an object are reported at once',
    commands: [create('gizmos', { name: 'b', labels: { 'not a key': 'not a value!' } }, { spec: [] })],
  },
  {
    name: 'a resourceVersion on creation is refused only where it is a number',
    commands: [
      create('configmaps', { name: 'a' }),
      create('configmaps', { name: 'a', resourceVersion: '7' }),
      create('widgets', { name: 'b', resourceVersion: 'x' }),
      { ...create('configmaps', { name: 'c', resourceVersion: '7' }), query: { dryRun: 'All' } },
    ],
  },
  {
    name: 'warnings are sent also where the name exists',
    commands: [create('widgets', { name: 'c' }), create('widgets', { name: 'c', finalizers: ['short'] })],
  },
  {
    name: 'the refusal of an existing name differs where generateName is given too',
    commands: [
      create('widgets', { name: 'b', finalizers: ['example.com/hold'] }),
      create('widgets', { name: 'b', generateName: 'gen1-' }),
      { method: 'DELETE', resource: 'widgets', name: 'b' },
      create('widgets', { name: 'b', generateName: 'gen1-' }),
      create('widgets', { name: 'b' }),
    ],
  },
  {
    name: 'selfLink is not stored',
    commands: [
      create('configmaps', { name: 'a' }),
      { method: 'PUT', resource: 'configmaps', name: 'a', body: { $read: 'a', metadata: { selfLink: '/somewhere' } } },
    ],
  },
  {
    name: 'the conflict of another uid has the storage key in its message',
    commands: [
      create('widgets', { name: 'a' }),
      {
        method: 'PUT',
        resource: 'widgets',
        name: 'a',
        body: { $read: 'a', metadata: { uid: '22222222-2222-4222-8222-222222222222' } },
      },
      create('configmaps', { name: 'a' }),
      merge('configmaps', 'a', { metadata: { uid: '22222222-2222-4222-8222-222222222222' } }),
    ],
  },
  {
    name: 'generateName is validated when a ConfigMap changes',
    commands: [create('configmaps', { name: 'a' }), merge('configmaps', 'a', { metadata: { generateName: 'Bad_' } })],
  },
  {
    name: 'a built-in object without an apiVersion after a patch is not recognised',
    commands: [
      create('configmaps', { name: 'a' }, { data: { key: 'abcd' } }),
      merge('configmaps', 'a', { apiVersion: null }),
      merge('configmaps', 'a', { apiVersion: null }, { query: { fieldValidation: 'Strict' } }),
      merge('configmaps', 'a', { apiVersion: null }, { query: { fieldValidation: 'Ignore' } }),
      merge('configmaps', 'a', { kind: null }),
      merge('configmaps', 'a', { kind: 'Secret' }),
    ],
  },
  {
    name: 'a patch cannot remove kind and apiVersion of a custom resource',
    commands: [
      create('widgets', { name: 'a' }),
      merge('widgets', 'a', { apiVersion: null }),
      merge('widgets', 'a', { kind: null }),
      merge('widgets', 'a', { apiVersion: 'v2' }),
      merge('widgets', 'a', { kind: 'Other' }),
    ],
  },
  {
    name: 'the warning about duplicate owner references has another text for patches',
    commands: [
      create('configmaps', { name: 'a' }),
      merge('configmaps', 'a', {
        metadata: {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: '<uid:a>' },
            { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: '<uid:a>' },
          ],
        },
      }),
    ],
  },
]

const versions: readonly KeptCase[] = [
  {
    name: 'an object that is written in another version has the defaults of the storage version',
    commands: [
      watch('widgets', initialEvents),
      create('widgets.v2', { name: 'b' }, { spec: { size: 1 } }),
      { method: 'GET', resource: 'widgets', name: 'b' },
      list('widgets'),
    ],
  },
  {
    name: 'a dry run in another version shows the object as the storage version keeps it',
    commands: [{ ...create('widgets.v2', { name: 'b' }, { spec: {} }), query: { dryRun: 'All' } }],
  },
  {
    name: 'an empty patch in a version with fewer fields is a change',
    commands: [
      create('widgets', { name: 'c' }, { spec: { size: 1 } }),
      merge('widgets.v2', 'c', {}, { subresource: 'status' }),
      merge('widgets.v2', 'c', {}),
      merge('widgets', 'c', {}),
    ],
  },
]

const reads: readonly KeptCase[] = [
  {
    name: 'lists of custom resources always have a continue field',
    commands: [list('widgets'), { method: 'DELETE', resource: 'gizmos' }, list('configmaps')],
  },
  {
    name: 'a malformed resourceVersion is refused differently by get, list and watch',
    commands: [
      list('widgets', { resourceVersion: 'x' }),
      { method: 'GET', resource: 'widgets', name: 'a', query: { resourceVersion: 'x' } },
      watch('widgets', { resourceVersion: 'x' }),
    ],
  },
  {
    name: 'selectors are parsed before the other options are validated',
    commands: [
      list('configmaps', { labelSelector: 'app in (', resourceVersion: '0', resourceVersionMatch: 'Odd' }),
      list('configmaps', { fieldSelector: 'spec.size=1', resourceVersion: '0', resourceVersionMatch: 'Odd' }),
      list('gizmos', { fieldSelector: 'spec.colour=red' }),
    ],
  },
  {
    name: 'a malformed continue token is refused with its first wrong byte',
    commands: [list('configmaps', { continue: 'no token' }), list('configmaps', { continue: 'bm9uc2Vuc2U' })],
  },
  {
    name: 'a watch without a resourceVersion begins with the existing objects and a bookmark',
    commands: [
      create('gizmos', { name: 'a' }, { spec: { size: 1 } }),
      watch('gizmos', { allowWatchBookmarks: 'true' }),
      watch('gizmos', { continue: 'x' }),
      watch('gizmos', { sendInitialEvents: 'true', resourceVersionMatch: 'Exact' }),
      watch('configmaps', initialEvents),
    ],
  },
  {
    name: 'one object as PartialObjectMetadataList is refused, and a watch as such has no events',
    commands: [
      watch('widgets', { resourceVersion: '0' }),
      { ...watch('widgets', {}), as: 'PartialObjectMetadataList' },
      create('widgets', { name: 'a' }),
      create('configmaps', { name: 'a' }),
      { method: 'GET', resource: 'widgets', name: 'a', as: 'PartialObjectMetadataList' },
      { method: 'GET', resource: 'configmaps', name: 'a', as: 'PartialObjectMetadataList' },
    ],
  },
  {
    name: 'a missing status subresource of a custom resource is not found by the name of the object',
    commands: [
      { method: 'GET', resource: 'gizmos', name: 'a', subresource: 'status' },
      { method: 'GET', resource: 'configmaps', name: 'a', subresource: 'status' },
    ],
  },
]

const pair = ['a', 'b', 'c'].map((name) => ({ name, image: `${name}:1` }))
const labels = { app: 'a' }
const deployment: Command = create(
  'deployments',
  { name: 'a' },
  { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: pair } } } },
)

function strategic(resource: 'deployments' | 'configmaps', body: Tree, rest: Partial<Command> = {}): Command {
  return { method: 'PATCH', patch: 'strategic', resource, name: 'a', body, ...rest }
}

const containers = (spec: Tree): Command => strategic('deployments', { spec: { template: { spec } } })

const patches: readonly KeptCase[] = [
  {
    name: 'an element that a strategic merge patch deletes and adds again keeps its place in the list',
    commands: [
      deployment,
      containers({
        '$setElementOrder/containers': [{ name: 'b' }],
        containers: [
          { $patch: 'delete', name: 'b' },
          { name: 'b', image: 'x' },
        ],
      }),
    ],
  },
  {
    name: 'a strategic merge patch with an empty order puts added elements in place of deleted ones',
    commands: [
      deployment,
      containers({
        '$setElementOrder/containers': [],
        containers: [
          { name: 'b', image: 'y' },
          { $patch: 'delete', name: 'a' },
          { name: 'd', image: 'y' },
        ],
      }),
    ],
  },
  {
    name: 'environment variables that hide others cause a warning',
    commands: [
      deployment,
      containers({
        containers: [
          {
            name: 'new',
            image: 'x',
            env: [
              { name: 'a', value: '1' },
              { name: 'a', value: '2' },
            ],
          },
        ],
      }),
      strategic('deployments', { metadata: { labels: { b: 'c' } } }),
    ],
  },
]

export const keptCases: readonly KeptCase[] = [...bodies, ...writes, ...versions, ...reads, ...patches]
