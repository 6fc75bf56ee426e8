import { afterEach, expect, test } from 'vitest'
import { annotationsOf, lastHandled, settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { electionIn, holderIn, leaseIn, leasePath, Replicas, untilHeldBy } from './election-support.ts'

const lab = useCleanLab()

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

test('one of three replicas handles objects, and the candidates write nothing', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await replicas.start('b')
  await replicas.start('c')
  await lab.create('one', { spec: { size: 1 } })
  await untilHandled(lab, 'one')
  await settle(lab)
  expect(replicas.calls).toEqual(['a creates one'])
  expect(await holderIn(lab)).toBe('a')
  expect([replicas.writes('b'), replicas.writes('c')]).toEqual([[], []])
})

test('the Lease has the same format as client-go writes it', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a')
  const { spec } = await leaseIn(lab)
  expect(spec).toEqual({
    holderIdentity: 'a',
    leaseDurationSeconds: electionIn(lab).leaseDuration,
    acquireTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    renewTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    leaseTransitions: 0,
  })
  await lab.until(async () => (await leaseIn(lab)).spec.renewTime !== spec.renewTime)
  const { spec: renewed } = await leaseIn(lab)
  expect(renewed).toEqual({ ...spec, renewTime: renewed.renewTime })
})

test('a leader that stops hands over at once, and no object is handled twice or lost', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a')
  await replicas.start('b')
  await lab.create('before', { spec: { size: 1 } })
  await untilHandled(lab, 'before')
  const beganMs = lab.clock.now()
  const stopped = lab.stop(replicas.running['a']!)
  await lab.create('meanwhile', { spec: { size: 1 } })
  await stopped
  await untilHeldBy(lab, 'b')
  expect(lab.clock.now() - beganMs).toBeLessThan(1000)
  await untilHandled(lab, 'meanwhile')
  await lab.create('after', { spec: { size: 1 } })
  await untilHandled(lab, 'after')
  await settle(lab)
  expect(replicas.calls.map((call) => call.slice(2)).sort()).toEqual([
    'creates after',
    'creates before',
    'creates meanwhile',
  ])
  expect(replicas.calls).toContain('a creates before')
  expect(replicas.calls).toContain('b creates after')
  expect((await leaseIn(lab)).spec.leaseTransitions).toBe(1)
})

test('a released Lease has the same format as client-go writes it', async () => {
  const replicas = new Replicas(lab)
  const running = await replicas.start('a')
  await lab.stop(running)
  expect((await leaseIn(lab)).spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 })
})

test('a new leader resumes existing objects, including those created before it led, without a list', async () => {
  const replicas = new Replicas(lab)
  const note = (identity: string) => (kopf: import('kopf').Operator) => {
    kopf.on.resume(lab.widgets, { id: 'r' }, ({ name }) => void replicas.calls.push(`${identity} resumes ${name}`))
    kopf.on.event(lab.widgets, { id: 'e' }, ({ name, event }) => {
      if (identity === 'b') replicas.calls.push(`${identity} sees ${event.type} ${name}`)
    })
    kopf.on.create(lab.widgets, { id: 'c' }, () => {})
  }
  await lab.create('early', { spec: { size: 1 } })
  await replicas.start('a', note('a'))
  await untilHandled(lab, 'early')
  await replicas.start('b', note('b'))
  await lab.create('late', { spec: { size: 1 } })
  await lab.create('gone', { spec: { size: 1 } })
  await untilHandled(lab, 'late')
  await untilHandled(lab, 'gone')
  await lab.delete('gone')
  await lab.untilGone('gone')
  await settle(lab)
  const before = replicas.wires['b']!.requests.length
  await lab.stop(replicas.running['a']!)
  await lab.until(() => replicas.calls.filter((call) => call.startsWith('b resumes')).length === 2)
  await settle(lab)
  expect(replicas.calls.filter((call) => call.startsWith('b')).sort()).toEqual([
    'b resumes early',
    'b resumes late',
    'b sees null early',
    'b sees null late',
  ])
  const since = replicas.wires['b']!.requests.slice(before)
  expect(since.filter(({ path, method }) => method === 'GET' && path === lab.path())).toEqual([])
})

test('a new leader knows the last write of the former leader, although its stream is behind', async () => {
  const replicas = new Replicas(lab)
  await replicas.start('a')
  // From now on, the object streams of the candidate are held back.
  const wire = lab.record()
  const held: Array<() => void> = []
  let isHeld = false
  wire.meddle = async (request, send) => {
    const response = await send()
    if (request.path !== lab.path() || request.query.get('watch') !== 'true') return response
    const body = (async function* () {
      for await (const chunk of response.body) {
        if (isHeld && Buffer.from(chunk).toString().includes(lastHandled)) {
          await new Promise<void>((resolve) => held.push(resolve))
        }
        yield chunk
      }
    })()
    return { ...response, body }
  }
  await replicas.start('b', undefined, { transport: wire })
  isHeld = true
  await lab.create('one', { spec: { size: 1 } })
  const handled = await untilHandled(lab, 'one')
  expect(annotationsOf(handled)[lastHandled]).toBeDefined()
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await lab.until(() => wire.requests.some(({ method, path }) => method === 'GET' && path === lab.path('one')))
  await settle(lab)
  isHeld = false
  for (const open of held) open()
  await settle(lab)
  expect(replicas.calls).toEqual(['a creates one'])
})
