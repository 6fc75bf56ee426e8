/** A real quota that is used up by two children of three. The embedded server has no such admission. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { configMap, useNursery } from '../reconciling/support.ts'
import type { Body } from '../support/lab.ts'

const { lab, nursery } = useNursery()
const mergePatch = 'application/merge-patch+json'

function conditionOf(body: Body): Record<string, string> | undefined {
  const conditions: Array<Record<string, string>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

/** No controller of quotas runs here: the status, which the admission goes by, is ours to write. */
async function allow(hard: string, status: object): Promise<void> {
  const path = `/api/v1/namespaces/${lab.namespace}/resourcequotas`
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few' } }
  await lab.call('POST', path, { ...quota, spec: { hard: { configmaps: hard } } })
  await lab.call('PATCH', `${path}/few`, { spec: { hard: { configmaps: hard } } }, mergePatch)
  const answer = await lab.call('PATCH', `${path}/few/status`, { status }, mergePatch)
  if (answer.status !== 200) throw new Error(answer.text)
}

test('the one child that a quota refuses holds up none of the others; it is told, and made when there is room', async () => {
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
  const { body: list } = await lab.call('GET', `${nursery.path()}?labelSelector=kopf.dev/reconciler`)
  expect(list['items']).toHaveLength(2)
  await lab.elapse(3)
  // One for each child, and a few more for the one that is refused.
  expect(transport.writes('configmaps').length).toBeLessThan(8)
  await allow('5', { hard: { configmaps: '5' } })
  await lab.untilObject('third', (found) => conditionOf(found)?.['status'] === 'True')
  for (const name of ['q-a', 'q-b', 'q-c']) expect(await nursery.exists(name)).toBe(true)
})
