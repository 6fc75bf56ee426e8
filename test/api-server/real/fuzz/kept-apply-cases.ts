/** Kept sequences about server-side apply and managed fields; see kept-cases.ts. */
import type { Tree } from '../../../support/answers.ts'
import type { Command } from './commands.ts'
import { type ResourceName, types } from './fuzzed-resources.ts'
import { create, type KeptCase } from './kept-cases.ts'

function apply(resource: ResourceName, name: string, rest: Tree, query: Record<string, string> = {}): Command {
  const { metadata = {}, ...fields } = rest as { metadata?: Tree }
  const body = { ...types[resource], metadata: { name, ...metadata }, ...fields }
  return { method: 'PATCH', patch: 'apply', resource, name, query: { fieldManager: 'one', ...query }, body }
}

export const ownershipCases: readonly KeptCase[] = [
  {
    name: 'a dropped status of the wrong type leaves the object without managed fields',
    commands: [create('widgets', { name: 'a' }, { spec: { colour: 'green' }, status: { count: 'many' } })],
  },
  {
    name: 'an apply fails where its fields do not exist in the version of another manager',
    commands: [
      create('widgets.v2', { name: 'c' }, { spec: { extra: 'x' } }),
      apply('widgets', 'c', { spec: { choice: { one: 'x' } } }),
    ],
  },
  {
    name: 'the refusal of an applied configuration without kind or apiVersion quotes them',
    commands: [apply('widgets', 'c', { apiVersion: null }), apply('configmaps', 'c', { apiVersion: null, kind: 1 })],
  },
  {
    name: 'times in an applied configuration are parsed for built-in kinds only',
    commands: [
      apply('configmaps', 'a', { metadata: { creationTimestamp: 'yesterday' } }),
      create('widgets', { name: 'a' }),
      apply('widgets', 'a', { metadata: { creationTimestamp: 'yesterday' }, spec: { size: 1 } }),
    ],
  },
  {
    name: 'an apply that creates an object refuses a malformed resourceVersion, but no other',
    commands: [
      apply('widgets', 'b', { metadata: { resourceVersion: 'x' }, spec: { nested: {} } }),
      apply('widgets', 'b', { metadata: { resourceVersion: '7' } }),
    ],
  },
  {
    name: 'applied fields are compared in the version of each manager',
    commands: [
      apply('widgets.v2', 'a', { metadata: { annotations: { note: 'x' } } }),
      apply('widgets', 'a', { spec: { limits: { one: 1 } } }),
    ],
  },
  {
    name: 'a null status can be applied to the status subresource',
    commands: [create('widgets', { name: 'c' }), { ...apply('widgets', 'c', { status: null }), subresource: 'status' }],
  },
  {
    name: 'an apply without a change fills in no defaults',
    commands: [apply('widgets', 'a', { spec: { choice: { one: 'x' } } }), apply('widgets.v2', 'a', {})],
  },
  {
    name: 'a dry run of an apply keeps the given resourceVersion',
    commands: [apply('widgets', 'c', { metadata: { resourceVersion: '7' } }, { dryRun: 'All' })],
  },
  {
    name: 'the refusal of applied data that is not base64 quotes the given text',
    commands: [apply('configmaps', 'a', { binaryData: { blob: 'not base64!' } })],
  },
  {
    name: 'an apply can create an object with a deletionTimestamp',
    commands: [
      apply('configmaps', 'c', {
        metadata: { finalizers: ['example.com/hold'], deletionTimestamp: '2001-02-03T04:05:06Z' },
      }),
    ],
  },
]
