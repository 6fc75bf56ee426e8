/** Forged Leases that are meant to leave the operator without a leader: a leader is elected within a bounded time. */
import { afterEach, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { electionIn, leaseIn, leasePath, Replicas, untilHeldBy } from './election-support.ts'

const lab = useCleanLab()
const maxInt32 = 2 ** 31 - 1
const { leaseDuration } = electionIn(lab)

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

async function createLease(spec: Tree, metadata: Tree = {}): Promise<void> {
  const name = leasePath(lab).split('/').at(-1)!
  const { status, text } = await lab.call('POST', leasePath(lab).slice(0, -name.length - 1), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...metadata },
    spec,
  })
  if (status !== 201) throw new Error(`Cannot create the Lease: ${text}`)
}

test.each<[string, Tree, Tree?]>([
  ['with the maximum number of transitions', { leaseTransitions: maxInt32 }],
  ['that was released at the maximum number of transitions', { holderIdentity: '', leaseTransitions: maxInt32 }],
  [
    'renewed at the end of time',
    { renewTime: '9999-12-31T23:59:59.999999Z', acquireTime: '9999-12-31T23:59:59.999999Z' },
  ],
  ['without a duration', { leaseDurationSeconds: null }],
  ['with a holder and no other field', { leaseDurationSeconds: null, renewTime: null, acquireTime: null }],
  ['held under the identity of the candidate', { holderIdentity: 'a' }],
  ['whose holder has a name of 500,000 characters', { holderIdentity: 'x'.repeat(500_000) }],
  ['with the largest accepted annotations', {}, { annotations: { a: 'x'.repeat(250_000) } }],
])('a Lease %s is acquired when it has expired', async (_, forged, metadata) => {
  const now = '2020-01-01T00:00:00.000000Z'
  const spec = { holderIdentity: 'forger', leaseDurationSeconds: leaseDuration, acquireTime: now, renewTime: now }
  await createLease({ ...spec, ...forged }, metadata)
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await lab.create('one')
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['a creates one'])
  const { leaseTransitions } = (await leaseIn(lab)).spec
  expect(leaseTransitions).toBe(forged['leaseTransitions'] ?? 1)
  expect(Math.max(...lab.logs.map(({ length }) => length))).toBeLessThan(1000)
})

test('the next leader also acquires a Lease with the maximum number of transitions', async () => {
  await createLease({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: maxInt32 })
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await untilHeldBy(lab, 'a')
  await replicas.start('b')
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await lab.create('one')
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['b creates one'])
  expect((await leaseIn(lab)).spec.leaseTransitions).toBe(maxInt32)
})

test.skipIf(lab.isReal)('a Lease with a duration of 68 years is acquired after ten minutes', async () => {
  await createLease({ holderIdentity: 'forger', leaseDurationSeconds: maxInt32, leaseTransitions: 0 })
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await lab.elapse(590)
  expect((await leaseIn(lab)).spec.holderIdentity).toBe('forger')
  await lab.elapse(15)
  expect((await leaseIn(lab)).spec.holderIdentity).toBe('a')
})
