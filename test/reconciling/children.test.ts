/** Children are made, changed, put back and deleted as the reconciler says, with as few requests as there are changes. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { configMap, deployment, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

test('children are made as they are wanted, with one request each, and belong to the object', async () => {
  const kopf = new Operator({ name: 'painter' })
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'paint', owns: ['configmaps', 'deployments.apps'] }, ({ name, spec }) => {
    calls += 1
    return { children: [configMap(`${name}-a`, { color: spec['color'] }), deployment(`${name}-d`)] }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const { metadata } = await lab.create('one', { spec: { color: 'red' } })
  const child = await nursery.untilThere('one-a')
  await nursery.untilThere('one-d', 'deployments')
  await settle(lab)
  expect(child['data']).toEqual({ color: 'red' })
  expect(child.metadata.labels).toEqual({ 'kopf.dev/reconciler': 'painter.paint' })
  expect(child.metadata.ownerReferences).toEqual([
    expect.objectContaining({ kind: 'Widget', name: 'one', uid: metadata.uid, controller: true }),
  ])
  expect(child.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
    'painter Apply',
  ])
  expect(transport.writes().map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
    'PATCH one-a',
    'PATCH one-d',
  ])
  expect(calls).toBe(1)
  expect((await lab.get('one')).metadata).not.toHaveProperty('annotations')
})
