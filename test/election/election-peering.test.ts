import { beforeEach, expect, test } from 'vitest'
import { usePeeringLab } from '../peering/peering-lab.ts'
import { settle, untilHandled } from '../support/handled.ts'
import { leasePath, Replicas, untilHeldBy } from './election-support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
let replicas: Replicas

/** Starts two replicas, of which the first one leads. */
beforeEach(async () => {
  await lab.call('DELETE', leasePath(lab))
  await peering.create()
  replicas = new Replicas(lab)
  const options = { peering: peering.name, namespaces: [lab.namespace] }
  for (const identity of ['a', 'b']) await replicas.start(identity, undefined, options)
  await peering.untilSigned('a')
})

test('only the leader takes part in a peering', async () => {
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(Object.keys(await peering.records())).toEqual(['a'])
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await peering.untilSigned('b')
  await lab.create('two', { spec: { size: 1 } })
  await untilHandled(lab, 'two')
  await settle(lab)
  expect(replicas.calls).toEqual(['a creates one', 'b creates two'])
})

test('a leader that is paused by a peer keeps its Lease, and its candidates do not take over', async () => {
  await peering.sign('another', { priority: 100 })
  await peering.untilPaused()
  await lab.create('left', { spec: { size: 1 } })
  await settle(lab)
  expect(replicas.calls).toEqual([])
  await peering.sign('another', null)
  await untilHandled(lab, 'left')
  expect(replicas.calls).toEqual(['a creates left'])
})
