/** A real quota that allows two children of three. The embedded server does not enforce quotas. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { configMap, useReconcilingLab } from '../reconciling/reconciling-support.ts'
import type { Body } from '../support/lab.ts'

const { lab, reconciling } = useReconcilingLab()
const mergePatch = 'application/merge-patch+json'

function conditionOf(body: Body): Record<string, string> | undefined {
  const conditions: Array<Record<string, string>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

/** Writes the status of the quota too, which the admission plugin reads: no quota controller runs here. */
async function allow(hard: string, status: object): Promise<void> {
  const path = `/api/v1/namespaces/${lab.namespace}/resourcequotas`
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few' } }
  await lab.call('POST', path, { ...quota, spec: { hard: { configmaps: hard } } })
  await lab.call('PATCH', `${path}/few`, { spec: { hard: { configmaps: hard } } }, mergePatch)
  const answer = await lab.call('PATCH', `${path}/few/status`, { status }, mergePatch)
  if (answer.status !== 200) throw new Error(answer.text)
}

test('a child that a quota refuses does not block the others, is reported, and is created when the quota allows it', async () => {
  await allow('2', { hard: { configmaps: '2' }, used: { configmaps: '0' } })
  const kopf = new Operator()
  const children = ['q-a', 'q-b', 'q-c'].map((name) => configMap(name))
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({ children }))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('third', { spec: {} })
  const body = await lab.untilObject('third', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'ChildRefused' })
  expect(conditionOf(body)?.['message']).toMatch(/^Cannot apply ConfigMap "q-.": .*exceeded quota: few/)
  const { body: list } = await lab.call('GET', `${reconciling.path()}?labelSelector=kopf.dev/reconciler`)
  expect(list['items']).toHaveLength(2)
  await lab.elapse(3)
  // One write for each child, and some retries of the refused child.
  expect(transport.writes('configmaps').length).toBeLessThan(8)
  await allow('5', { hard: { configmaps: '5' } })
  await lab.untilObject('third', (found) => conditionOf(found)?.['status'] === 'True')
  for (const name of ['q-a', 'q-b', 'q-c']) expect(await reconciling.exists(name)).toBe(true)
})
