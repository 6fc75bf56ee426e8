/** Reconcilers of an operator that stands back for another one: afterwards each object once, and no write for what is as wanted. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { usePeeringLab } from '../peering/support.ts'
import { settle } from '../support/handled.ts'
import { configMap, Nursery } from './support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
const nursery = new Nursery(lab)

test('after a pause, each object is reconciled once: what others have done meanwhile is put right, and no more', async () => {
  await peering.create()
  const kopf = new Operator({ settings: { peering: { name: peering.name } } })
  const calls: string[] = []
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ name }) => {
    calls.push(name)
    return { children: [configMap(`${name}-child`, { size: '1' })] }
  })
  const transport = lab.record()
  await lab.start(kopf, { identity: 'me', transport })
  for (const name of ['one', 'two', 'three']) {
    await lab.create(name, { spec: {} })
    await nursery.untilThere(`${name}-child`)
  }
  await settle(lab)
  await peering.sign('them', { priority: 100, lifetime: 3600 })
  await peering.untilPaused()
  await settle(lab)
  calls.length = 0
  transport.requests.length = 0
  await nursery.patch('two-child', { data: { size: '5' } })
  await lab.patch('three', { metadata: { labels: { touched: 'yes' } } })
  await settle(lab)
  expect(calls).toEqual([])
  await peering.sign('them', null)
  await peering.untilResumed()
  await nursery.until('two-child', ({ data }) => data['size'] === '1')
  await settle(lab)
  // The second time for the child that it has put back.
  expect(calls.toSorted()).toEqual(['one', 'three', 'two', 'two'])
  const written = transport.writes().filter(({ path }) => !path.includes('peerings'))
  expect(written.map(({ path }) => path.split('/').at(-1))).toEqual(['two-child'])
})
