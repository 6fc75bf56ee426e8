import { type Args, type Condition, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { isHandled, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()

function conditionsOf({ status }: Body): Condition[] {
  return (status?.['conditions'] ?? []) as Condition[]
}

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

test('a condition is written according to the API conventions', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => {
    conditions.set('Ready', true, 'Running', 'All is well')
    conditions.set('example.com/Backed-Up', 'Unknown', 'NotAskedYet')
  })
  await lab.start(kopf)
  await lab.create('written')
  expect(conditionsOf(await lab.untilObject('written', isHandled))).toEqual([
    {
      type: 'Ready',
      status: 'True',
      reason: 'Running',
      message: 'All is well',
      lastTransitionTime: time,
      observedGeneration: 1,
    },
    {
      type: 'example.com/Backed-Up',
      status: 'Unknown',
      reason: 'NotAskedYet',
      message: '',
      lastTransitionTime: time,
      observedGeneration: 1,
    },
  ])
})

test('a condition can be set as an object', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => {
    conditions.set({ type: 'Ready', status: false, reason: 'DiskFull', message: 'Only 2 % are left' })
    conditions.set({ type: 'Known', status: 'Unknown', reason: 'NotAskedYet' })
  })
  await lab.start(kopf)
  await lab.create('as-object')
  expect(conditionsOf(await lab.untilObject('as-object', isHandled))).toMatchObject([
    { type: 'Ready', status: 'False', reason: 'DiskFull', message: 'Only 2 % are left', lastTransitionTime: time },
    { type: 'Known', status: 'Unknown', reason: 'NotAskedYet', message: '' },
  ])
})

test('the transition time changes with the status of a condition, and its generation is the handled one', async () => {
  const kopf = new Operator()
  const say = ({ spec, conditions }: Args<'create', string>) => {
    conditions.set('Ready', spec['size'] < 3, spec['size'] < 3 ? 'Small' : 'Large', `of size ${spec['size']}`)
  }
  kopf.on.create(lab.widgets, { id: 'say' }, say)
  kopf.on.update(lab.widgets, { id: 'say' }, say)
  await lab.start(kopf)
  await lab.create('timed', { spec: { size: 1 } })
  const [first] = conditionsOf(await lab.untilObject('timed', isHandled))
  await lab.elapse(1.1)
  await lab.patch('timed', { spec: { size: 2 } })
  const [second] = conditionsOf(
    await lab.untilObject('timed', (body) => conditionsOf(body)[0]?.message === 'of size 2'),
  )
  expect(second).toEqual({ ...first, message: 'of size 2', observedGeneration: 2 })
  await lab.patch('timed', { spec: { size: 3 } })
  const [third] = conditionsOf(await lab.untilObject('timed', (body) => conditionsOf(body)[0]?.status === 'False'))
  expect(third).toMatchObject({ reason: 'Large', observedGeneration: 3 })
  expect(Date.parse(third!.lastTransitionTime)).toBeGreaterThan(Date.parse(first!.lastTransitionTime))
})

test('conditions of several handlers are one write, and unchanged conditions cause none', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  for (const type of ['A', 'B', 'C']) {
    kopf.on.create(lab.widgets, { id: type }, ({ conditions }) => conditions.set(type, true, 'Created'))
  }
  let ticks = 0
  kopf.timer(lab.widgets, { interval: 0.2, initialDelay: 0.2, finalizer: false }, ({ conditions }) => {
    ticks += 1
    conditions.set('A', true, 'Created')
  })
  await lab.start(kopf, { transport })
  await lab.create('several')
  const body = await lab.untilObject('several', isHandled)
  expect(conditionsOf(body).map(({ type }) => type)).toEqual(['A', 'B', 'C'])
  await lab.until(() => ticks >= 3)
  expect(transport.writes('/status')).toHaveLength(1)
  expect(transport.writes()).toHaveLength(2)
})

test('conditions of other clients are kept, with their additional fields', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  const theirs = {
    type: 'Theirs',
    status: 'True',
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const old = { ...theirs, type: 'Ours', lastUpdateTime: '2026-01-01T00:00:00Z' }
  let isFirst = true
  transport.meddle = async (request, send) => {
    if (request.path.endsWith('/status') && isFirst) {
      isFirst = false
      await lab.patch('shared', { status: { conditions: [theirs, old] } }, '/status')
    }
    return send()
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => conditions.set('Ours', false, 'Later'))
  await lab.start(kopf, { transport })
  await lab.create('shared')
  const body = await lab.untilObject('shared', isHandled)
  expect(conditionsOf(body)).toEqual([
    theirs,
    { ...old, status: 'False', reason: 'Later', lastTransitionTime: time, observedGeneration: 1 },
  ])
})

test('a handler sees the conditions that it has set, and can remove them', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ retry, conditions }) => {
    seen.push(conditions.get('Ready')?.status, conditions.get('Old')?.status)
    conditions.set('Ready', false, 'Booting')
    conditions.set('Old', true, 'Once')
    if (retry > 0) conditions.remove('Old')
    seen.push(conditions.get('Ready')?.status, conditions.get('Old')?.status)
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.2 })
    conditions.set('Ready', true, 'Running')
  })
  await lab.start(kopf)
  await lab.create('seen')
  const body = await lab.untilObject('seen', isHandled)
  expect(seen).toEqual([undefined, undefined, 'False', 'True', 'False', 'True', 'False', undefined])
  expect(conditionsOf(body).map(({ type, status }) => `${type}=${status}`)).toEqual(['Ready=True'])
})

test('a condition that another client wrote without a generation is not rewritten for the generation alone', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => conditions.set('Ready', true, 'Fine'))
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Fine',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  await lab.create('without')
  await lab.patch('without', { status: { conditions: [ready] } }, '/status')
  await lab.start(kopf, { transport })
  expect(conditionsOf(await lab.untilObject('without', isHandled))).toEqual([ready])
  expect(transport.writes('/status')).toEqual([])
})

test('observedGeneration is raised if the status has it, and never lowered', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => conditions.set('Ready', true, 'Fine'))
  await lab.create('observed')
  await lab.create('ahead')
  await lab.create('unknown')
  await lab.patch('observed', { status: { observedGeneration: 0 } }, '/status')
  await lab.patch('ahead', { status: { observedGeneration: 9 } }, '/status')
  await lab.start(kopf)
  expect((await lab.untilObject('observed', isHandled)).status['observedGeneration']).toBe(1)
  expect((await lab.untilObject('ahead', isHandled)).status['observedGeneration']).toBe(9)
  expect((await lab.untilObject('unknown', isHandled)).status).not.toHaveProperty('observedGeneration')
})

test.each<[string, unknown[], RegExp]>([
  ['type', ['not ready', true, 'R'], /the type "not ready": a type is a word in CamelCase/],
  ['status', ['Ready', 'yes', 'R'], /"Ready": its status is true, false or "Unknown", and not "yes"/],
  ['reason', ['Ready', true, 'it is fine'], /"Ready": its reason "it is fine" is not one word in CamelCase/],
  ['empty-reason', ['Ready', true, ''], /its reason "" is not one word/],
  ['message', ['Ready', true, 'R', 5], /its message is a text, and not 5/],
])('an invalid condition is refused at once: %s', async (what, args, message) => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn', errors: 'permanent' }, ({ conditions }) => {
    conditions.set(...(args as [string, boolean, string]))
  })
  await lab.start(kopf)
  await lab.create(`wrong-${what}`)
  await lab.untilObject(`wrong-${what}`, isHandled)
  expect(lab.logs.find((line) => line.includes('failed with an exception'))).toMatch(message)
})

test('event handlers and daemons can set conditions', async () => {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, { id: 'spy' }, ({ event, conditions }) => {
    if (event.type !== 'DELETED') conditions.set('Seen', true, 'Event')
  })
  kopf.daemon(lab.widgets, { id: 'beside', finalizer: false }, ({ conditions }) =>
    conditions.set('Beside', true, 'Daemon'),
  )
  await lab.start(kopf)
  await lab.create('beside')
  const body = await lab.untilObject('beside', (one) => conditionsOf(one).length === 2)
  expect(new Set(conditionsOf(body).map(({ type }) => type))).toEqual(new Set(['Seen', 'Beside']))
})
