/** Groups of children: one after the other when the former is ready, and away in reverse. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, deployment, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

const ready = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }

test('what is ready as soon as it is there holds up nobody: all is made in one call', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => {
    calls += 1
    return { children: [[configMap('g-first')], [configMap('g-second')], [configMap('g-third')]] }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('quick', { spec: {} })
  await nursery.untilThere('g-third')
  await settle(lab)
  expect(transport.writes().map(({ path }) => path.split('/').at(-1))).toEqual(['g-first', 'g-second', 'g-third'])
  expect(calls).toBe(2)
})

test('a group waits for the one before it; what others do to a later one is undone all the same', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps', 'deployments.apps'] }, ({ spec }) => {
    return { children: [[deployment('base')], [configMap('upper', { color: spec['color'] })]] }
  })
  await lab.start(kopf)
  await lab.create('slow', { spec: { color: 'red' } })
  await nursery.untilThere('base', 'deployments')
  await settle(lab)
  expect(await nursery.exists('upper')).toBe(false)
  await nursery.patch('base', { status: ready }, 'deployments', '/status')
  await nursery.untilThere('upper')

  await nursery.patch('base', { status: { availableReplicas: 0 } }, 'deployments', '/status')
  await lab.patch('slow', { spec: { color: 'blue' } })
  await settle(lab)
  expect((await nursery.get('upper'))['data']).toEqual({ color: 'red' })
  await nursery.patch('base', { status: ready }, 'deployments', '/status')
  await nursery.until('upper', ({ data }) => (data as Record<string, string>)['color'] === 'blue')
})

test('whether a child is ready can be said by the reconciler', async () => {
  const kopf = new Operator()
  const asked: unknown[] = []
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({
    children: [
      {
        children: [configMap('switch')],
        ready: (child: Body, byDefault: boolean) => {
          asked.push(byDefault)
          return child['data']?.['on'] === 'yes'
        },
      },
      [configMap('lamp')],
    ],
  }))
  await lab.start(kopf)
  await lab.create('switched', { spec: {} })
  await nursery.untilThere('switch')
  await settle(lab)
  expect(await nursery.exists('lamp')).toBe(false)
  expect(asked).toContain(true)
  await nursery.patch('switch', { data: { on: 'yes' } })
  await nursery.untilThere('lamp')
})

test('children go in reverse: those of a group when the later ones are gone, and the object after all of them', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'], cleanup: true }, ({ deleting }) => {
    if (deleting) return
    const finalizers = ['example.com/held']
    return { children: [[configMap('r-first')], [configMap('r-second', {}, { finalizers })]] }
  })
  await lab.start(kopf)
  await lab.create('reversed', { spec: {} })
  await nursery.untilThere('r-second')
  await lab.delete('reversed')
  await nursery.until('r-second', ({ metadata }) => metadata.deletionTimestamp !== undefined)
  await settle(lab)
  expect(await nursery.exists('r-first')).toBe(true)
  expect(await lab.exists('reversed')).toBe(true)
  await nursery.patch('r-second', { metadata: { finalizers: null } })
  await nursery.untilGone('r-first')
  await lab.untilGone('reversed')
})

test('a child that is being deleted is waited for, and made anew', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({ children: [configMap('leaving')] }))
  await lab.start(kopf)
  await lab.create('patient', { spec: {} })
  const { metadata } = await nursery.untilThere('leaving')
  await nursery.patch('leaving', { metadata: { finalizers: ['example.com/held'] } })
  await nursery.delete('leaving')
  await settle(lab)
  expect((await nursery.get('leaving')).metadata.uid).toBe(metadata.uid)
  await nursery.patch('leaving', { metadata: { finalizers: null } })
  await nursery.until('leaving', (body) => body.metadata.uid !== metadata.uid)
})
