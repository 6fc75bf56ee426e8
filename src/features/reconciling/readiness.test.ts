import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { isReady } from './readiness.ts'

const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
const condition = (type: string, status: string) => ({ conditions: [{ type, status }] })

test.each<[string, string, object | undefined, object | undefined, boolean]>([
  ['a config map', 'v1/ConfigMap', undefined, undefined, true],
  ['a new Deployment', 'apps/v1/Deployment', { replicas: 2 }, undefined, false],
  ['one of the generation before', 'apps/v1/Deployment', { replicas: 2 }, { ...done, observedGeneration: 1 }, false],
  ['one that is rolled out', 'apps/v1/Deployment', { replicas: 2 }, done, true],
  ['one that is being rolled out', 'apps/v1/Deployment', { replicas: 2 }, { ...done, updatedReplicas: 1 }, false],
  ['one without replicas', 'apps/v1/Deployment', { replicas: 0 }, { observedGeneration: 2 }, true],
  ['a StatefulSet', 'apps/v1/StatefulSet', { replicas: 2 }, done, true],
  ['one that is being updated', 'apps/v1/StatefulSet', { replicas: 2 }, { ...done, updatedReplicas: 1 }, false],
  [
    'one with a partition',
    'apps/v1/StatefulSet',
    { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } },
    { ...done, updatedReplicas: 1 },
    true,
  ],
  ['a DaemonSet', 'apps/v1/DaemonSet', {}, { observedGeneration: 2, desiredNumberScheduled: 1 }, false],
  ['a Job', 'batch/v1/Job', {}, {}, false],
  ['a Job that is done', 'batch/v1/Job', {}, condition('Complete', 'True'), true],
  ['a Job that has failed', 'batch/v1/Job', {}, condition('Failed', 'True'), false],
  ['a claim', 'v1/PersistentVolumeClaim', {}, { phase: 'Pending' }, false],
  ['a claim that is bound', 'v1/PersistentVolumeClaim', {}, { phase: 'Bound' }, true],
  ['any kind that says it is not ready', 'example.com/v1/Widget', {}, condition('Ready', 'False'), false],
  ['any kind that says it is', 'example.com/v1/Widget', {}, condition('Ready', 'True'), true],
  ['any kind that says nothing', 'example.com/v1/Widget', {}, condition('Other', 'False'), true],
  ['one that has not seen its change', 'example.com/v1/Widget', {}, { observedGeneration: 1 }, false],
])('%s', (_, name, spec, status, isSo) => {
  const parts = name.split('/')
  const object = { apiVersion: parts.slice(0, -1).join('/'), kind: parts.at(-1)!, metadata: { generation: 2 } }
  const child: KubeObject = { ...object, spec, status }
  expect(isReady(child)).toBe(isSo)
  expect(isReady({ ...child, metadata: { generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z' } })).toBe(false)
})
