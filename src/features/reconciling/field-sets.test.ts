import { expect, test } from 'vitest'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { entriesOf, fieldsOf, formatPath, owns } from './field-sets.ts'

/** As the API server has written them, for a Deployment. */
const fieldsV1 = {
  'f:metadata': {
    'f:labels': { 'f:app': {}, 'f:example.com/tier': {} },
    'f:ownerReferences': { 'k:{"uid":"u1"}': {} },
  },
  'f:spec': {
    'f:selector': {},
    'f:template': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"app"}': {
            '.': {},
            'f:args': {},
            'f:image': {},
            'f:name': {},
            'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
          },
        },
        'f:volumes': { 'k:{"name":"tmp"}': { '.': {}, 'f:emptyDir': {}, 'f:name': {} } },
      },
    },
  },
  'f:finalizers': { 'v:"example.com/held"': {} },
}

const live = {
  metadata: { managedFields: [{ manager: 'kopf', operation: 'Apply', fieldsV1 }] },
} as unknown as KubeObject

function missing(object: JsonObject): string[] {
  const [entry] = entriesOf(live)
  return fieldsOf(object)
    .filter((path) => !owns(entry!, path))
    .map(formatPath)
}

const container = (fields: JsonObject): JsonObject => ({
  spec: { template: { spec: { containers: [{ name: 'app', ...fields }] } } },
})

test.each<[string, JsonObject, string[]]>([
  ['its name and kind are nobody’s', { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', namespace: 'b' } }, []],
  ['labels, one by one', { metadata: { labels: { app: 'x', other: 'y' } } }, ['metadata.labels.other']],
  ['keys with dots and slashes', { metadata: { labels: { 'example.com/tier': 'x' } } }, []],
  ['an owner by its uid', { metadata: { ownerReferences: [{ uid: 'u1', name: 'x' }] } }, []],
  ['another owner', { metadata: { ownerReferences: [{ uid: 'u2' }] } }, ['metadata.ownerReferences[0].uid']],
  ['what is owned as a whole', { spec: { selector: { matchLabels: { any: 'thing' } } } }, []],
  ['a list that is owned as a whole', container({ args: ['a', 'b'] }), []],
  ['items by their keys', container({ image: 'x' }), []],
  ['a field of an item that was taken', container({ tty: true }), ['spec.template.spec.containers[app].tty']],
  ['keys that the server fills in', container({ ports: [{ containerPort: 80 }] }), []],
  [
    'keys that differ',
    container({ ports: [{ containerPort: 80, protocol: 'UDP' }] }),
    [
      'spec.template.spec.containers[app].ports[0].containerPort',
      'spec.template.spec.containers[app].ports[0].protocol',
    ],
  ],
  ['empty objects', { spec: { template: { spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } } } }, []],
  ['items by their values', { finalizers: ['example.com/held', 'x'] }, ['finalizers[x]']],
  ['null says nothing', { spec: { replicas: null } }, []],
  ['what nobody has heard of', { data: { color: 'red' } }, ['data.color']],
])('%s', (_, object, lost) => {
  expect(missing(object)).toEqual(lost)
})
