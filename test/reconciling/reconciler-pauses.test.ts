/** Reconcilers of a paused operator: each object is reconciled once after the pause, and only drift is written. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { usePeeringLab } from '../peering/peering-lab.ts'
import { settle } from '../support/handled.ts'
import { configMap, ReconcilingLab } from './reconciling-support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
const reconciling = new ReconcilingLab(lab)

test('each object is reconciled once after a pause, and only drift is corrected', async () => {
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
    await reconciling.untilThere(`${name}-child`)
  }
  await settle(lab)
  await peering.sign('them', { priority: 100, lifetime: 3600 })
  await peering.untilPaused()
  await settle(lab)
  calls.length = 0
  transport.requests.length = 0
  await reconciling.patch('two-child', { data: { size: '5' } })
  await lab.patch('three', { metadata: { labels: { touched: 'yes' } } })
  await settle(lab)
  expect(calls).toEqual([])
  await peering.sign('them', null)
  await peering.untilResumed()
  await reconciling.until('two-child', ({ data }) => data['size'] === '1')
  await settle(lab)
  // The second call is for the corrected child.
  expect(calls.toSorted()).toEqual(['one', 'three', 'two', 'two'])
  const written = transport.writes().filter(({ path }) => !path.includes('peerings'))
  expect(written.map(({ path }) => path.split('/').at(-1))).toEqual(['two-child'])
})
