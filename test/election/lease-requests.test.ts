/** The requests of a leader election, also when responses fail or are lost. */
import { KopfError, Operator } from 'kopf'
import { startCluster } from 'kopf/testing'
import { afterEach, expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { refusal } from '../support/recording.ts'
import { electionIn, endOf, leaseIn, leasePath, Replicas, replica } from './election-support.ts'

const lab = useCleanLab()

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

test('a leader writes the Lease once per retry period, and a candidate only watches it', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await replicas.start('b')
  expect(replicas.leaseRequests('a').slice(0, 2)).toEqual(['WATCH', 'POST'])
  const before = replicas.leaseRequests('a').length
  const { retryPeriod } = electionIn(lab)
  await lab.elapse(retryPeriod * 10)
  const since = replicas.leaseRequests('a').slice(before)
  expect(new Set(since)).toEqual(new Set(['PUT']))
  expect(since.length).toBeGreaterThanOrEqual(lab.isReal ? 7 : 9)
  expect(since.length).toBeLessThanOrEqual(11)
  expect(replicas.leaseRequests('b')).toEqual(['WATCH'])
})

test('the Lease on an in-process server is in the default namespace', async () => {
  await using cluster = await startCluster()
  const kopf = new Operator({ name: 'alone', settings: { election: { enabled: true } } })
  kopf.on.event('configmaps', () => {})
  await using running = await kopf.start(cluster)
  await running.ready
  const lease = await cluster.until('leases', 'alone', () => true)
  expect(lease).toMatchObject({ metadata: { namespace: 'default' }, spec: { holderIdentity: expect.any(String) } })
})

test('an operator without leader election sends no request for Leases', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a', (kopf) => {
    kopf.settings.election.enabled = false
    replicas.noteCreations(kopf, 'a')
  })
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(replicas.leaseRequests('a')).toEqual([])
})

test('a leader survives a conflict on every second renewal', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const end = endOf(running)
  let puts = 0
  replicas.wires['a']!.meddle = async (request, send) => {
    if (request.method !== 'PUT') return send()
    puts += 1
    return puts % 2 === 1 ? refusal(409) : send()
  }
  await lab.elapse(electionIn(lab).leaseDuration * 2)
  expect(end.isOver).toBe(false)
  expect(puts).toBeGreaterThan(5)
})

test('a leader recognizes its own renewals whose responses were lost', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const end = endOf(running)
  let puts = 0
  replicas.wires['a']!.meddle = async (request, send) => {
    const answer = await send()
    if (request.method !== 'PUT') return answer
    puts += 1
    if (puts % 2 === 0) return answer
    for await (const _ of answer.body);
    throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  }
  await lab.elapse(electionIn(lab).leaseDuration * 2)
  expect(end.isOver).toBe(false)
  expect((await leaseIn(lab)).spec.holderIdentity).toBe('a')
})

test('a candidate whose first write was not answered leads', async () => {
  const replicas = new Replicas(lab)
  let isFirst = true
  const wire = lab.record()
  wire.meddle = async (request, send) => {
    const answer = await send()
    if (request.method !== 'POST' || !request.path.includes('/leases') || !isFirst) return answer
    isFirst = false
    for await (const _ of answer.body);
    throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  }
  await replicas.start('a', undefined, { transport: wire })
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['a creates one'])
  expect((await leaseIn(lab)).spec).toMatchObject({ holderIdentity: 'a' })
})

test('a server that refuses all requests for the Lease gets them once per retry period', async () => {
  const replicas = new Replicas(lab)
  const { retryPeriod } = electionIn(lab)
  const wire = lab.record()
  let isIll = true
  wire.meddle = async (request, send) => {
    const isAboutLease = request.path.includes('/leases') && request.query.get('watch') !== 'true'
    return isAboutLease && isIll ? refusal(500) : send()
  }
  const starting = replicas.start('a', undefined, { transport: wire })
  await lab.elapse(retryPeriod * 11)
  const asked = wire.requests.filter(({ path, query }) => path.includes('/leases') && query.get('watch') !== 'true')
  expect(asked.length).toBeGreaterThan(6)
  expect(asked.length).toBeLessThanOrEqual(22)
  isIll = false
  await starting
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['a creates one'])
})

test('replicas with clocks that are hours apart or jump agree on the leader', async () => {
  const replicas = new Replicas(lab)
  const [early, late] = [new JumpingClock(lab.clock), new JumpingClock(lab.clock)]
  early.jump(-7_200_000)
  const running = await replicas.start('a', undefined, { clock: early })
  await replicas.start('b', undefined, { clock: late })
  const end = endOf(running)
  for (const hours of [3, -1, 5]) {
    late.jump(hours * 3_600_000)
    early.jump(-hours * 3_600_000)
    await lab.elapse(electionIn(lab).retryPeriod * 3)
  }
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  await settle(lab)
  expect([replicas.calls, end.isOver]).toEqual([['a creates one'], false])
  expect(replicas.leaseRequests('b')).toEqual(['WATCH'])
})

test('an operator without permissions for Leases fails with the missing RBAC rule', async () => {
  const wire = lab.record()
  wire.meddle = async (request, send) => (request.path.includes('/leases') ? refusal(403) : send())
  const failing = lab.start(
    replica(lab, (kopf) => kopf.on.create(lab.widgets, () => {})),
    { transport: wire },
  )
  const error = await failing.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(KopfError)
  expect(error).toMatchObject({
    code: 'KOPF_FORBIDDEN',
    message: expect.stringContaining(
      'apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch", "create", "update"]',
    ),
  })
})

test('invalid election settings fail the start', async () => {
  const kopf = replica(lab, () => {})
  kopf.on.create(lab.widgets, () => {})
  kopf.settings.election.renewDeadline = '1h'
  const error = await lab.start(kopf).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'KOPF_ELECTION' })
})
