import { beforeEach, expect, test } from 'vitest'
import { usePeeringLab } from '../peering/support.ts'
import { settle, untilHandled } from '../support/handled.ts'
import { leasePath, Replicas, untilHeldBy } from './support.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering
let replicas: Replicas

/** Two of them, and the first one leads. */
beforeEach(async () => {
  await lab.call('DELETE', leasePath(lab))
  await peering.create()
  replicas = new Replicas(lab)
  const options = { peering: peering.name, namespaces: [lab.namespace] }
  for (const identity of ['a', 'b']) await replicas.start(identity, undefined, options)
  await peering.untilSigned('a')
})

test('only the leader takes part in a peering, whoever that is', async () => {
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

test('a leader stands back for another operator, and its stand-bys do not take its place', async () => {
  await peering.sign('another', { priority: 100 })
  await peering.untilPaused()
  await lab.create('left', { spec: { size: 1 } })
  await settle(lab)
  expect(replicas.calls).toEqual([])
  await peering.sign('another', null)
  await untilHandled(lab, 'left')
  expect(replicas.calls).toEqual(['a creates left'])
})
