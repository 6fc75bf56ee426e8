/** The step records of a reconciler are annotations that neither Kopf nor this package treats as a change. */
import { beforeAll, expect, inject, test } from 'vitest'
import type { Body, Tree } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { isHandled, leftovers, Objects, resultOf, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

const isReconciled = (body: Body, size: number): boolean =>
  (body['status'] as Tree | undefined)?.['reconciled'] === size && leftovers(body).length === 0

test('step records of a reconciler are no change for Python’s Kopf', async () => {
  const namespace = await cluster.createNamespace('onlooker')
  const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`
  const widgets = new Objects(cluster.api, path, { apiVersion: `${cluster.group}/v1`, kind: 'Widget' })
  const options = { name: 'onlooker', namespace, kubeconfig: real.kubeconfigs.operator, env: { GROUP: cluster.group } }
  await using onlooker = await startOperator('python', options)
  await using ours = await startOperator('ours', options)
  await widgets.create('object')
  await widgets.until('object', onlooker, (body) => isHandled(body) && isReconciled(body, 1))
  expect(onlooker.output).not.toContain("Handler 'update' is invoked")
  await widgets.patch('object', { spec: { size: 2 } })
  await widgets.until('object', ours, (body) => isReconciled(body, 2) && resultOf(body, 'update') !== undefined)
  expect(onlooker.output.split("Handler 'update' is invoked")).toHaveLength(2)
  expect(ours.output).toContain("Reconciler 'family' failed temporarily")
  expect(onlooker.output).not.toMatch(/Traceback|Error:/)
}, 60_000)
