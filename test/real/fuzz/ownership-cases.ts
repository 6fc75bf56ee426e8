/** The same as kept-cases.ts, about server-side apply and who owns which field. */
import type { Tree } from '../../support/answers.ts'
import type { Command } from './commands.ts'
import { type ResourceName, types } from './definitions.ts'
import { create, type KeptCase } from './kept-cases.ts'

function apply(resource: ResourceName, name: string, rest: Tree, query: Record<string, string> = {}): Command {
  const { metadata = {}, ...fields } = rest as { metadata?: Tree }
  const body = { ...types[resource], metadata: { name, ...metadata }, ...fields }
  return { method: 'PATCH', patch: 'apply', resource, name, query: { fieldManager: 'one', ...query }, body }
}

export const ownershipCases: readonly KeptCase[] = [
  {
    name: 'what does not fit its type is owned by nobody, even where it is not stored',
    commands: [create('widgets', { name: 'a' }, { spec: { colour: 'green' }, status: { count: 'many' } })],
  },
  {
    name: 'who applies to what has no place in the version of another owner is told so',
    commands: [
      create('widgets.v2', { name: 'c' }, { spec: { extra: 'x' } }),
      apply('widgets', 'c', { spec: { choice: { one: 'x' } } }),
    ],
  },
  {
    name: 'a configuration of no type is told what it says',
    commands: [apply('widgets', 'c', { apiVersion: null }), apply('configmaps', 'c', { apiVersion: null, kind: 1 })],
  },
  {
    name: 'times in a configuration are read for built-in kinds only',
    commands: [
      apply('configmaps', 'a', { metadata: { creationTimestamp: 'yesterday' } }),
      create('widgets', { name: 'a' }),
      apply('widgets', 'a', { metadata: { creationTimestamp: 'yesterday' }, spec: { size: 1 } }),
    ],
  },
  {
    name: 'a configuration that creates minds a version that is none, but no other',
    commands: [
      apply('widgets', 'b', { metadata: { resourceVersion: 'x' }, spec: { nested: {} } }),
      apply('widgets', 'b', { metadata: { resourceVersion: '7' } }),
    ],
  },
  {
    name: 'an owner in another version is asked whether it could see what is applied',
    commands: [
      apply('widgets.v2', 'a', { metadata: { annotations: { note: 'x' } } }),
      apply('widgets', 'a', { spec: { limits: { one: 1 } } }),
    ],
  },
  {
    name: 'no status can be applied to the status',
    commands: [create('widgets', { name: 'c' }), { ...apply('widgets', 'c', { status: null }), subresource: 'status' }],
  },
  {
    name: 'a configuration that changes nothing fills in nothing either',
    commands: [apply('widgets', 'a', { spec: { choice: { one: 'x' } } }), apply('widgets.v2', 'a', {})],
  },
  {
    name: 'a dry run keeps the version of what it does not create',
    commands: [apply('widgets', 'c', { metadata: { resourceVersion: '7' } }, { dryRun: 'All' })],
  },
  {
    name: 'bytes that are none are told of as what they were read from',
    commands: [apply('configmaps', 'a', { binaryData: { blob: 'not base64!' } })],
  },
  {
    name: 'what is created by a configuration can be on its way out already',
    commands: [
      apply('configmaps', 'c', {
        metadata: { finalizers: ['example.com/hold'], deletionTimestamp: '2001-02-03T04:05:06Z' },
      }),
    ],
  },
]
