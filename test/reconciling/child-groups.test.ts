/** Groups of children: each is created when the previous one is ready, and they are deleted in reverse order. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import { configMap, deployment, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

const ready = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }

test('groups of children that are ready at once are all created in one call', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => {
    calls += 1
    return { children: [[configMap('g-first')], [configMap('g-second')], [configMap('g-third')]] }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('quick', { spec: {} })
  await reconciling.untilThere('g-third')
  await settle(lab)
  expect(transport.writes().map(({ path }) => path.split('/').at(-1))).toEqual(['g-first', 'g-second', 'g-third'])
  expect(calls).toBe(2)
})

test('a group of children waits for the previous group, and drift in a later group is corrected meanwhile', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps', 'deployments.apps'] }, ({ spec }) => {
    return { children: [[deployment('base')], [configMap('upper', { color: spec['color'] })]] }
  })
  await lab.start(kopf)
  await lab.create('slow', { spec: { color: 'red' } })
  await reconciling.untilThere('base', 'deployments')
  await settle(lab)
  expect(await reconciling.exists('upper')).toBe(false)
  await reconciling.patch('base', { status: ready }, 'deployments', '/status')
  await reconciling.untilThere('upper')

  await reconciling.patch('base', { status: { availableReplicas: 0 } }, 'deployments', '/status')
  await lab.patch('slow', { spec: { color: 'blue' } })
  await settle(lab)
  expect((await reconciling.get('upper'))['data']).toEqual({ color: 'red' })
  await reconciling.patch('base', { status: ready }, 'deployments', '/status')
  await reconciling.until('upper', ({ data }) => (data as Record<string, string>)['color'] === 'blue')
})

test('a group of children can define when a child is ready', async () => {
  const kopf = new Operator()
  const asked: unknown[] = []
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({
    children: [
      {
        children: [configMap('switch')],
        ready: (child, byDefault) => {
          asked.push(byDefault)
          return child['data']?.['on'] === 'yes'
        },
      },
      [configMap('lamp')],
    ],
  }))
  await lab.start(kopf)
  await lab.create('switched', { spec: {} })
  await reconciling.untilThere('switch')
  await settle(lab)
  expect(await reconciling.exists('lamp')).toBe(false)
  expect(asked).toContain(true)
  await reconciling.patch('switch', { data: { on: 'yes' } })
  await reconciling.untilThere('lamp')
})

test('groups of children are deleted in reverse order, and the object after all of them', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'], cleanup: true }, ({ deleting }) => {
    if (deleting) return
    const finalizers = ['example.com/held']
    return { children: [[configMap('r-first')], [configMap('r-second', {}, { finalizers })]] }
  })
  await lab.start(kopf)
  await lab.create('reversed', { spec: {} })
  await reconciling.untilThere('r-second')
  await lab.delete('reversed')
  await reconciling.until('r-second', ({ metadata }) => metadata.deletionTimestamp !== undefined)
  await settle(lab)
  expect(await reconciling.exists('r-first')).toBe(true)
  expect(await lab.exists('reversed')).toBe(true)
  await reconciling.patch('r-second', { metadata: { finalizers: null } })
  await reconciling.untilGone('r-first')
  await lab.untilGone('reversed')
})

test('a child that is being deleted is awaited and then created again', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({ children: [configMap('leaving')] }))
  await lab.start(kopf)
  await lab.create('patient', { spec: {} })
  const { metadata } = await reconciling.untilThere('leaving')
  await reconciling.patch('leaving', { metadata: { finalizers: ['example.com/held'] } })
  await reconciling.delete('leaving')
  await settle(lab)
  expect((await reconciling.get('leaving')).metadata.uid).toBe(metadata.uid)
  await reconciling.patch('leaving', { metadata: { finalizers: null } })
  await reconciling.until('leaving', (body) => body.metadata.uid !== metadata.uid)
})
