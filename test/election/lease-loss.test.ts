import { KopfError, type Operator, type RunningOperator } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/util/async/clock.ts'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { type Recorded, refusal } from '../support/recording.ts'
import { electionIn, endOf, holderIn, leaseIn, leasePath, Replicas, untilHeldBy } from './election-support.ts'

const lab = useCleanLab()

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

const isLeaseWrite = ({ method, path }: Recorded) => method !== 'GET' && path.includes('/leases')

/** Blocks the event loop for this time, or pretends to with a skipping clock. */
function block(seconds: number): void {
  if (!lab.isReal) {
    lab.skippingClock.set(lab.clock.now() + seconds * 1000)
    return
  }
  const endMs = systemClock.monotonic!() + seconds * 1000
  while (systemClock.monotonic!() < endMs);
}

async function untilOver(running: RunningOperator): Promise<unknown> {
  const end = endOf(running)
  await lab.until(() => end.isOver)
  return end.error
}

test('a leader that cannot renew its Lease ends within the deadline, and a candidate takes over', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  await replicas.start('b')
  const beganMs = lab.clock.now()
  replicas.wires['a']!.meddle = async (request, send) => (isLeaseWrite(request) ? refusal(500) : send())
  const error = await untilOver(running)
  const endedMs = lab.clock.now()
  expect(error).toBeInstanceOf(KopfError)
  expect(error).toMatchObject({ code: 'KOPF_LEADERSHIP', message: expect.stringContaining('could not be renewed') })
  const { renewDeadline, leaseDuration } = electionIn(lab)
  expect((endedMs - beganMs) / 1000).toBeLessThan(leaseDuration)
  expect(await holderIn(lab)).toBe('a')
  await untilHeldBy(lab, 'b')
  expect((lab.clock.now() - beganMs) / 1000).toBeGreaterThan(renewDeadline)
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['b creates one'])
})

test('a leader survives an API server that is down for less than the deadline', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const end = endOf(running)
  const { renewDeadline } = electionIn(lab)
  replicas.wires['a']!.meddle = async () => {
    throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  }
  await lab.elapse(renewDeadline * 0.6)
  replicas.wires['a']!.meddle = (_request, send) => send()
  await lab.elapse(renewDeadline * 2)
  expect(end.isOver).toBe(false)
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['a creates one'])
})

test('a leader whose event loop was blocked beyond the deadline writes nothing any more', async () => {
  const replicas = new Replicas(lab)
  const { renewDeadline } = electionIn(lab)
  const failures: unknown[] = []
  const blockOnce = (kopf: Operator) => {
    kopf.on.create(lab.widgets, { id: 'c' }, async ({ client, name, patch }) => {
      replicas.calls.push(`a creates ${name}`)
      block(renewDeadline + 0.1)
      patch.status['late'] = true
      await client
        .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' }, data: {} })
        .catch((error: unknown) => failures.push(error))
    })
  }
  const running = await replicas.start('a', blockOnce)
  await lab.create('one', { spec: { size: 1 } })
  const error = await untilOver(running)
  expect(error).toMatchObject({ code: 'KOPF_LEADERSHIP' })
  expect(failures).toMatchObject([{ code: 'KOPF_LEADERSHIP' }])
  expect(replicas.writes('a')).toEqual([])
  const { status } = await lab.call('GET', `/api/v1/namespaces/${lab.namespace}/configmaps/late`)
  expect(status).toBe(404)
  // The next leader starts from the beginning, since no progress was written.
  await replicas.start('b')
  await untilHandled(lab, 'one')
  expect(replicas.calls).toEqual(['a creates one', 'b creates one'])
})

test('a request that is under way when the Lease is lost is aborted and not retried', async () => {
  const replicas = new Replicas(lab)
  const failures: unknown[] = []
  const running = await replicas.start('a', (kopf) => {
    kopf.on.create(lab.widgets, { id: 'c' }, async ({ client }) => {
      await client
        .create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'stuck' } })
        .catch((error: unknown) => failures.push(error))
    })
  })
  replicas.wires['a']!.meddle = (request, send) => {
    if (isLeaseWrite(request)) return Promise.resolve(refusal(500))
    return request.path.endsWith('/configmaps') ? new Promise(() => {}) : send()
  }
  await lab.create('one', { spec: { size: 1 } })
  expect(await untilOver(running)).toMatchObject({ code: 'KOPF_LEADERSHIP' })
  expect(failures).toMatchObject([{ code: 'KOPF_LEADERSHIP' }])
  expect(replicas.writes('a')).toEqual([`POST /api/v1/namespaces/${lab.namespace}/configmaps`])
})

test('a client from a startup handler cannot write after the Lease is lost, but can read', async () => {
  const replicas = new Replicas(lab)
  const { renewDeadline } = electionIn(lab)
  const outcomes: unknown[] = []
  const running = await replicas.start('a', (kopf) => {
    let write = async (): Promise<unknown> => undefined
    let read = async (): Promise<unknown> => undefined
    kopf.on.startup(({ client }) => {
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late', namespace: lab.namespace } }
      write = () => client.create(object)
      read = () => client.get(['v1', 'namespaces'], lab.namespace)
    })
    kopf.on.create(lab.widgets, { id: 'c' }, async () => {
      block(renewDeadline + 0.1)
      const results = await Promise.allSettled([write(), read()])
      outcomes.push(
        ...results.map((one) => (one.status === 'rejected' ? one.reason.code : (one.value as { kind: string }).kind)),
      )
    })
  })
  await lab.create('one', { spec: { size: 1 } })
  await untilOver(running)
  expect(outcomes).toEqual(['KOPF_LEADERSHIP', 'Namespace'])
})

test('the signals of handlers are aborted and daemons are stopped as soon as the Lease is lost', async () => {
  const replicas = new Replicas(lab)
  const told: string[] = []
  const running = await replicas.start('a', (kopf) => {
    kopf.on.create(lab.widgets, { id: 'c' }, async ({ signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      told.push(`handler: ${(signal.reason as KopfError).code}`)
    })
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ stopped }) => {
      await stopped.wait('1h')
      told.push(`daemon: ${stopped.isSet()}`)
    })
  })
  await lab.create('one', { spec: { size: 1 } })
  await lab.untilObject('one', ({ metadata }) => (metadata.finalizers ?? []).length > 0)
  replicas.wires['a']!.meddle = async (request, send) => (isLeaseWrite(request) ? refusal(500) : send())
  await untilOver(running)
  expect(told.sort()).toEqual(['daemon: true', 'handler: KOPF_LEADERSHIP'])
})

test('a leader whose Lease was overwritten by another client loses it with the next renewal', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const lease = await leaseIn(lab)
  const spec = { ...lease.spec, holderIdentity: 'thief' }
  await lab.call('PATCH', leasePath(lab), { spec }, 'application/merge-patch+json')
  const error = await untilOver(running)
  expect(error).toMatchObject({ code: 'KOPF_LEADERSHIP', message: expect.stringContaining('taken by "thief"') })
  expect(await holderIn(lab)).toBe('thief')
})

test('only one of two replicas with the same identity leads', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const end = endOf(running)
  const calls: string[] = []
  const other = await replicas.start('a', (kopf) => {
    kopf.on.create(lab.widgets, { id: 'c' }, () => void calls.push('the other'))
  })
  await lab.elapse(electionIn(lab).leaseDuration * 2)
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  expect([replicas.calls, calls, end.isOver, endOf(other).isOver]).toEqual([['a creates one'], [], false, false])
})

test('a deleted Lease is created again by its holder, and no candidate takes over', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  await replicas.start('b')
  const end = endOf(running)
  const { metadata } = await leaseIn(lab)
  await lab.call('DELETE', leasePath(lab))
  await untilHeldBy(lab, 'a')
  const after = await leaseIn(lab)
  expect(after.metadata.uid).not.toBe(metadata.uid)
  await settle(lab)
  expect(end.isOver).toBe(false)
  expect(replicas.leaseRequests('b')).not.toContain('POST')
})

test('a leader loses a Lease that was deleted and created again by another client', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const { apiVersion, kind, metadata, spec } = await leaseIn(lab)
  await lab.call('DELETE', leasePath(lab))
  const made = { apiVersion, kind, metadata: { name: metadata.name }, spec: { ...spec, holderIdentity: 'newcomer' } }
  await lab.call('POST', leasePath(lab, ''), made)
  const error = await untilOver(running)
  expect(error).toMatchObject({ code: 'KOPF_LEADERSHIP', message: expect.stringContaining('newcomer') })
  expect(await holderIn(lab)).toBe('newcomer')
})

test('labels and annotations of other clients on the Lease are kept, and their writes are not a loss', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  const end = endOf(running)
  const foreign = { metadata: { labels: { team: 'x' }, annotations: { note: 'y' } } }
  await lab.call('PATCH', leasePath(lab), foreign, 'application/merge-patch+json')
  const { spec } = await leaseIn(lab)
  await lab.until(async () => (await leaseIn(lab)).spec.renewTime !== spec.renewTime)
  await lab.stop(running)
  expect(end.error).toBeUndefined()
  expect((await leaseIn(lab)).metadata).toMatchObject(foreign.metadata)
})
