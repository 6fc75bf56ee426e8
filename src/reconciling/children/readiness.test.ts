import { expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { isReady } from './readiness.ts'

const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
const condition = (type: string, status: string) => ({ conditions: [{ type, status }] })

test.each<[string, string, object | undefined, object | undefined, boolean]>([
  ['a ConfigMap', 'v1/ConfigMap', undefined, undefined, true],
  ['a new Deployment', 'apps/v1/Deployment', { replicas: 2 }, undefined, false],
  [
    'a Deployment with an outdated generation',
    'apps/v1/Deployment',
    { replicas: 2 },
    { ...done, observedGeneration: 1 },
    false,
  ],
  ['a Deployment that is rolled out', 'apps/v1/Deployment', { replicas: 2 }, done, true],
  ['a Deployment during a rollout', 'apps/v1/Deployment', { replicas: 2 }, { ...done, updatedReplicas: 1 }, false],
  ['a Deployment without replicas', 'apps/v1/Deployment', { replicas: 0 }, { observedGeneration: 2 }, true],
  ['a StatefulSet', 'apps/v1/StatefulSet', { replicas: 2 }, done, true],
  ['a StatefulSet during an update', 'apps/v1/StatefulSet', { replicas: 2 }, { ...done, updatedReplicas: 1 }, false],
  [
    'a StatefulSet with a partition',
    'apps/v1/StatefulSet',
    { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } },
    { ...done, updatedReplicas: 1 },
    true,
  ],
  ['a DaemonSet', 'apps/v1/DaemonSet', {}, { observedGeneration: 2, desiredNumberScheduled: 1 }, false],
  ['a Job', 'batch/v1/Job', {}, {}, false],
  ['a Job that is complete', 'batch/v1/Job', {}, condition('Complete', 'True'), true],
  ['a Job that has failed', 'batch/v1/Job', {}, condition('Failed', 'True'), false],
  ['a PersistentVolumeClaim that is pending', 'v1/PersistentVolumeClaim', {}, { phase: 'Pending' }, false],
  ['a PersistentVolumeClaim that is bound', 'v1/PersistentVolumeClaim', {}, { phase: 'Bound' }, true],
  ['any kind with a false Ready condition', 'example.com/v1/Widget', {}, condition('Ready', 'False'), false],
  ['any kind with a true Ready condition', 'example.com/v1/Widget', {}, condition('Ready', 'True'), true],
  ['any kind without a Ready condition', 'example.com/v1/Widget', {}, condition('Other', 'False'), true],
  ['any kind with an outdated generation', 'example.com/v1/Widget', {}, { observedGeneration: 1 }, false],
])('the readiness of a child is determined for %s', (_, name, spec, status, isSo) => {
  const parts = name.split('/')
  const object = { apiVersion: parts.slice(0, -1).join('/'), kind: parts.at(-1)!, metadata: { generation: 2 } }
  const child: KubeObject = { ...object, spec, status }
  expect(isReady(child)).toBe(isSo)
  expect(isReady({ ...child, metadata: { generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z' } })).toBe(false)
})
