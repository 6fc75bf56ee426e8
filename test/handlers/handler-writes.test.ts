/** The number of writes for each change, on both clusters. */
import { Operator, StatusDiffBaseStorage, StatusProgressStorage } from 'kopf'
import { describe, expect, test } from 'vitest'
import { annotationsOf, handledOf, progressOf, settle, untilHandled, useCleanLab } from '../support/handled.ts'
import type { Recording } from '../support/recording.ts'

const lab = useCleanLab()

interface Setup {
  readonly handlers: number
  readonly finalizer?: boolean
  readonly results?: boolean
  readonly inStatus?: boolean
}

function build({ handlers, finalizer = false, results = false, inStatus = false }: Setup) {
  const kopf = new Operator({
    settings: inStatus
      ? { persistence: { progressStorage: new StatusProgressStorage(), diffbaseStorage: new StatusDiffBaseStorage() } }
      : {},
  })
  let calls = 0
  for (let index = 0; index < handlers; index += 1) {
    const fn = () => {
      calls += 1
      return results ? { calls } : undefined
    }
    kopf.on.create(lab.widgets, { id: `c${index}` }, fn)
    kopf.on.update(lab.widgets, { id: `u${index}` }, fn)
    kopf.on.resume(lab.widgets, { id: `r${index}` }, fn)
    if (finalizer) kopf.on.delete(lab.widgets, { id: `d${index}` }, () => {})
  }
  return { kopf, calls: () => calls }
}

/** The number of writes since the last call. */
async function count(wire: Recording): Promise<number> {
  do {
    await settle(lab)
  } while (wire.unanswered > 0)
  const { length } = wire.writes()
  wire.requests.length = 0
  return length
}

async function measure(setup: Setup) {
  const { kopf, calls } = build(setup)
  const wire = lab.record()
  const first = await lab.start(kopf, { transport: wire })
  wire.requests.length = 0
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => calls() === setup.handlers)
  const create = await count(wire)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => calls() === 2 * setup.handlers)
  const update = await count(wire)
  await lab.stop(first)
  await lab.start(kopf, { transport: wire })
  await lab.until(() => calls() === 3 * setup.handlers)
  const resume = await count(wire)
  await lab.delete('one')
  await lab.untilGone('one')
  const deletion = await count(wire)
  await lab.stopAll()
  return { create, update, resume, delete: deletion }
}

describe.each([1, 3, 10])('writes with %i handlers', (handlers) => {
  test('a creation and an update are one write each, a resume and a deletion none', async () => {
    expect(await measure({ handlers })).toEqual({ create: 1, update: 1, resume: 0, delete: 0 })
  })

  test('a finalizer costs one more write for the creation and one for the deletion', async () => {
    expect(await measure({ handlers, finalizer: true })).toEqual({ create: 2, update: 1, resume: 0, delete: 1 })
  })

  test('results cost one more write, for the status', async () => {
    expect(await measure({ handlers, results: true })).toMatchObject({ create: 2, update: 2 })
  })

  test('results cost no more writes if all state is stored in the status', async () => {
    const results = { handlers, results: true, inStatus: true }
    expect(await measure(results)).toMatchObject({ create: 1, update: 1 })
    expect(await measure({ ...results, finalizer: true })).toMatchObject({ create: 2, update: 1, delete: 1 })
  })
})

test('a resource has one watch for all its handlers, and no list after the start', async () => {
  const { kopf, calls } = build({ handlers: 10, finalizer: true })
  kopf.on.event(lab.widgets, () => {})
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  const started = wire.requests.length
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => calls() === 10)
  await settle(lab)
  expect(wire.watches('/widgets')).toHaveLength(1)
  const later = wire.requests.slice(started).filter(({ method, query }) => method === 'GET' && !query.has('watch'))
  expect(later).toEqual([])
})

test.skipIf(lab.isReal)('the server counts the same writes', async () => {
  const { kopf, calls } = build({ handlers: 3, finalizer: true, results: true })
  await lab.start(kopf)
  lab.server.requests.clear()
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => calls() === 3)
  await settle(lab)
  const { [`create widgets.${lab.group}`]: created, ...counts } = lab.server.requests.counts()
  expect(created).toBe(1)
  expect(counts).toEqual({ [`patch widgets.${lab.group}`]: 2, [`patch widgets.${lab.group}/status`]: 1 })
})

test('a patch that changes nothing is not written', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.on.create(lab.widgets, { id: 'c' }, ({ patch }) => {
    patch.status['phase'] = 'Ready'
    patch.metadata.labels['a'] = 'b'
  })
  kopf.on.event(lab.widgets, { id: 'e' }, ({ patch, spec }) => {
    calls += 1
    patch.status['phase'] = 'Ready'
    patch.spec['n'] = spec['n']
    return undefined
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('same', { metadata: { labels: { a: 'b' } }, spec: { n: 1 } })
  await untilHandled(lab, 'same')
  await settle(lab)
  wire.requests.length = 0
  const before = calls
  await lab.patch('same', { status: { other: 1 } }, '/status')
  await lab.until(() => calls > before)
  await settle(lab)
  expect(wire.writes()).toEqual([])
})

test('the result of a finished handler is written within a second while another handler still runs', async () => {
  const kopf = new Operator()
  let isOver = false
  kopf.on.create(lab.widgets, { id: 'quick' }, () => 'result')
  kopf.on.create(lab.widgets, { id: 'slow' }, async () => {
    await lab.clock.sleep(2500)
    isOver = true
  })
  await lab.start(kopf)
  await lab.create('flushed', { spec: {} })
  const beganMs = lab.clock.now()
  const half = await lab.untilObject('flushed', (body) => progressOf(body, 'quick')?.['success'] === true)
  expect(isOver).toBe(false)
  expect(lab.clock.now() - beganMs).toBeLessThanOrEqual(lab.isReal ? 2400 : 1000)
  expect(half['status']).toEqual({ quick: 'result' })
  expect(progressOf(half, 'slow')).toMatchObject({ success: false, failure: false, retries: 0 })
  expect(handledOf(half)).toBeUndefined()
  const body = await untilHandled(lab, 'flushed')
  expect(Object.keys(annotationsOf(body))).toHaveLength(1)
})
