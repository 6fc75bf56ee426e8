/** Changes during a handling cycle: each handler finally gets the latest state. */
import {
  type Args,
  type Diff,
  Operator,
  type OperatorOptions,
  StatusDiffBaseStorage,
  StatusProgressStorage,
  TemporaryError,
} from 'kopf'
import { expect, test } from 'vitest'
import {
  annotationsOf,
  handledOf,
  lastHandled,
  progressOf,
  settle,
  untilHandled,
  useCleanLab,
} from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()
type ChangeArgs = Args<'create', typeof lab.widgets>

interface Told {
  readonly id: string
  readonly reason: string
  readonly n: unknown
  readonly diff: Diff
}

/** Create and update handlers that fail temporarily while their id is in `shut`. */
function witnesses(ids: readonly string[], shut: Set<string>, options: OperatorOptions<Record<string, unknown>> = {}) {
  const told: Told[] = []
  const kopf = new Operator(options)
  for (const id of ids) {
    const fn = ({ reason, spec, diff }: ChangeArgs) => {
      if (shut.has(id)) throw new TemporaryError('not yet', { delay: 0.1 })
      told.push({ id, reason, n: spec['n'], diff })
    }
    kopf.on.create(lab.widgets, { id }, fn)
    kopf.on.update(lab.widgets, { id }, fn)
  }
  return { kopf, told }
}

function isDone(id: string, n: unknown) {
  return (told: readonly Told[]) => told.some((one) => one.id === id && one.n === n)
}

test('a handler that finished before the object changed gets the remaining diff as an update', async () => {
  const shut = new Set(['a'])
  const { kopf, told } = witnesses(['a', 'b'], shut)
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.untilObject('one', (body) => progressOf(body, 'b')?.['success'] === true)
  await lab.patch('one', { spec: { n: 2 } })
  shut.clear()
  await untilHandled(lab, 'one')
  await settle(lab)
  expect(told.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['b create 1', 'a create 2', 'b update 2'])
  expect(told[2]!.diff).toEqual([['change', ['spec', 'n'], 1, 2]])
  expect(handledOf(await lab.get('one'))).toEqual({ spec: { n: 2 } })
})

test('a handler gets a change that was reverted, and the next change', async () => {
  const shut = new Set<string>()
  const { kopf, told } = witnesses(['a', 'b'], shut)
  await lab.start(kopf)
  await lab.create('back', { spec: { n: 1 } })
  await untilHandled(lab, 'back')
  shut.add('a')
  await lab.patch('back', { spec: { n: 2 } })
  await lab.untilObject('back', (body) => progressOf(body, 'b')?.['success'] === true)
  await lab.patch('back', { spec: { n: 1 } })
  await lab.elapse(0.05)
  shut.clear()
  await lab.until(() => told.filter(({ id }) => id === 'b').length === 3)
  await untilHandled(lab, 'back')
  await settle(lab)
  await lab.patch('back', { spec: { n: 3 } })
  await untilHandled(lab, 'back')
  await settle(lab)
  const toB = told.filter(({ id, reason }) => id === 'b' && reason === 'update').map(({ diff }) => diff)
  expect(toB).toEqual([
    [['change', ['spec', 'n'], 1, 2]],
    [['change', ['spec', 'n'], 2, 1]],
    [['change', ['spec', 'n'], 1, 3]],
  ])
  // The handler has been tried with the reverted state, and may have done a part of it.
  const toA = told.filter(({ id, reason }) => id === 'a' && reason === 'update').map(({ diff }) => diff)
  expect(toA).toEqual([[['change', ['spec', 'n'], 2, 1]], [['change', ['spec', 'n'], 1, 3]]])
})

test('a handler that finished before a restart and a change gets the remaining diff as an update', async () => {
  const shut = new Set(['a'])
  const { kopf, told } = witnesses(['a', 'b'], shut)
  const first = await lab.start(kopf)
  await lab.create('restarted', { spec: { n: 1, kept: 'x' } })
  await lab.untilObject('restarted', (body) => progressOf(body, 'b')?.['success'] === true)
  await lab.stop(first)
  await lab.patch('restarted', { spec: { n: 2 } })
  shut.clear()
  const { kopf: another, told: toldAfterwards } = witnesses(['a', 'b'], shut)
  await lab.start(another)
  await untilHandled(lab, 'restarted')
  await settle(lab)
  expect(told.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['b create 1'])
  expect(toldAfterwards.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['a create 2', 'b update 2'])
  expect(toldAfterwards[1]!.diff).toEqual([['change', ['spec', 'n'], 1, 2]])
})

test('three handlers that finished on three states each get their own remaining diff', async () => {
  const shut = new Set(['b', 'c'])
  const { kopf, told } = witnesses(['a', 'b', 'c'], shut)
  await lab.start(kopf)
  await lab.create('three', { spec: { n: 1 } })
  await lab.untilObject('three', (body) => progressOf(body, 'a')?.['success'] === true)
  await lab.patch('three', { spec: { n: 2 } })
  await lab.elapse(0.05)
  shut.delete('b')
  await lab.untilObject('three', (body) => progressOf(body, 'b')?.['success'] === true)
  expect(isDone('b', 2)(told)).toBe(true)
  await lab.patch('three', { spec: { n: 3 } })
  await lab.elapse(0.05)
  shut.delete('c')
  const body = await untilHandled(lab, 'three')
  await settle(lab)
  expect(told.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual([
    'a create 1',
    'b create 2',
    'c create 3',
    'a update 3',
    'b update 3',
  ])
  expect(told.slice(3).map(({ diff }) => diff)).toEqual([
    [['change', ['spec', 'n'], 1, 3]],
    [['change', ['spec', 'n'], 2, 3]],
  ])
  expect(Object.keys(annotationsOf(body))).toEqual([lastHandled])
})

test('a handler is not called if the remaining diff does not concern it', async () => {
  const shut = new Set(['a'])
  const { kopf, told } = witnesses(['a'], shut)
  const sizes: unknown[] = []
  kopf.on.field(lab.widgets, 'spec.size', { id: 'f' }, ({ new: size }) => void sizes.push(size))
  await lab.start(kopf)
  await lab.create('unconcerned', { spec: { n: 1, size: 1 } })
  await lab.untilObject('unconcerned', (body) => progressOf(body, 'f.spec.size')?.['success'] === true)
  await lab.patch('unconcerned', { spec: { n: 2 } })
  shut.clear()
  await untilHandled(lab, 'unconcerned')
  await settle(lab)
  expect(sizes).toEqual([1])
  expect(told.map(({ n }) => n)).toEqual([2])
})

test('an update with the remaining diff is retried with the same diff', async () => {
  const shut = new Set(['a'])
  const { kopf, told } = witnesses(['a', 'b'], shut)
  await lab.start(kopf)
  await lab.create('retried', { spec: { n: 1 } })
  await lab.untilObject('retried', (body) => progressOf(body, 'b')?.['success'] === true)
  shut.add('b')
  await lab.patch('retried', { spec: { n: 2 } })
  shut.delete('a')
  const half = await lab.untilObject('retried', (body) => progressOf(body, 'b')?.['purpose'] === 'update')
  expect(progressOf(half, 'b')).toMatchObject({ purpose: 'update', success: false, seen: expect.any(String) })
  shut.clear()
  await untilHandled(lab, 'retried')
  expect(told.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['b create 1', 'a create 2', 'b update 2'])
  expect(told[2]!.diff).toEqual([['change', ['spec', 'n'], 1, 2]])
})

test('an object that is deleted during a partial change is only deleted', async () => {
  const shut = new Set(['a'])
  const { kopf, told } = witnesses(['a', 'b'], shut)
  const deleted: string[] = []
  kopf.on.delete(lab.widgets, { id: 'd' }, ({ name }) => void deleted.push(name))
  await lab.start(kopf)
  await lab.create('deleted', { spec: { n: 1 } })
  await lab.untilObject('deleted', (body) => progressOf(body, 'b')?.['success'] === true)
  await lab.patch('deleted', { spec: { n: 2 } })
  await lab.delete('deleted')
  await lab.untilGone('deleted')
  shut.clear()
  await settle(lab)
  expect(deleted).toEqual(['deleted'])
  expect(told.map(({ id, n }) => `${id} ${n}`)).toEqual(['b 1'])
})

test('records of handlers that Kopf has written keep their outcome', async () => {
  const { kopf, told } = witnesses(['a', 'b'], new Set())
  const started = '2020-01-01T00:00:00.000000+00:00'
  const common = { started, purpose: 'create', failure: false }
  const records = {
    'kopf.zalando.org/a': JSON.stringify({ ...common, retries: 3, success: false, message: 'not yet' }),
    'kopf.zalando.org/b': JSON.stringify({ ...common, stopped: started, retries: 1, success: true }),
  }
  await lab.create('inherited', { metadata: { annotations: records }, spec: { n: 2 } })
  await lab.start(kopf)
  await untilHandled(lab, 'inherited')
  await settle(lab)
  expect(told.map(({ id, reason }) => `${id} ${reason}`)).toEqual(['a create'])
})

test('sub-handlers that finished before the object changed get the remaining diff', async () => {
  const shut = new Set(['y'])
  const told: string[] = []
  const kopf = new Operator()
  const parent = ({ subhandler }: ChangeArgs) => {
    for (const id of ['x', 'y']) {
      subhandler(id, ({ spec, reason, diff }) => {
        if (shut.has(id)) throw new TemporaryError('not yet', { delay: 0.1 })
        told.push(`${id} ${reason} ${spec['n']} ${JSON.stringify(reason === 'update' ? diff : [])}`)
      })
    }
  }
  kopf.on.create(lab.widgets, { id: 'p' }, parent)
  kopf.on.update(lab.widgets, { id: 'p' }, parent)
  await lab.start(kopf)
  await lab.create('nested', { spec: { n: 1 } })
  await lab.untilObject('nested', (body) => progressOf(body, 'p.x')?.['success'] === true)
  await lab.patch('nested', { spec: { n: 2 } })
  await lab.elapse(0.05)
  shut.clear()
  await untilHandled(lab, 'nested')
  await settle(lab)
  expect([...told].sort()).toEqual(['x create 1 []', 'x update 2 [["change",["spec","n"],1,2]]', 'y create 2 []'])
})

test('a change while a handler runs is one update for all handlers', async () => {
  const told: string[] = []
  const kopf = new Operator()
  const quick = ({ reason, spec }: ChangeArgs) => void told.push(`quick ${reason} ${spec['n']}`)
  const slow = async ({ reason, spec, name }: ChangeArgs) => {
    if (reason === 'create') {
      await lab.clock.sleep(600)
      await lab.patch(name, { spec: { n: 2 } })
      await lab.clock.sleep(900)
    }
    told.push(`slow ${reason} ${spec['n']}`)
  }
  kopf.on.create(lab.widgets, { id: 'quick' }, quick)
  kopf.on.update(lab.widgets, { id: 'quick' }, quick)
  kopf.on.create(lab.widgets, { id: 'slow' }, slow)
  kopf.on.update(lab.widgets, { id: 'slow' }, slow)
  await lab.start(kopf)
  await lab.create('meanwhile', { spec: { n: 1 } })
  await lab.until(() => told.length >= 4)
  await untilHandled(lab, 'meanwhile')
  await settle(lab)
  expect(told).toEqual(['quick create 1', 'slow create 1', 'quick update 2', 'slow update 2'])
})

test('an update that is half finished when the next change comes is finished with both changes', async () => {
  const shut = new Set<string>()
  const { kopf, told } = witnesses(['a', 'b'], shut)
  await lab.start(kopf)
  await lab.create('updated', { spec: { n: 1 } })
  await untilHandled(lab, 'updated')
  shut.add('a')
  await lab.patch('updated', { spec: { n: 2 } })
  await lab.untilObject('updated', (body) => progressOf(body, 'b')?.['success'] === true)
  await lab.patch('updated', { spec: { n: 3 } })
  await lab.elapse(0.05)
  shut.clear()
  await untilHandled(lab, 'updated')
  await settle(lab)
  const updates = told.filter(({ reason }) => reason === 'update')
  expect(updates.map(({ id, diff }) => [id, diff])).toEqual([
    ['b', [['change', ['spec', 'n'], 1, 2]]],
    ['a', [['change', ['spec', 'n'], 1, 3]]],
    ['b', [['change', ['spec', 'n'], 2, 3]]],
  ])
})

test('the remaining diff is kept by status storages, even after a restart', async () => {
  const shut = new Set(['a'])
  const settings = () => ({
    persistence: { progressStorage: new StatusProgressStorage(), diffbaseStorage: new StatusDiffBaseStorage() },
  })
  const { kopf, told } = witnesses(['a', 'b'], shut, { settings: settings() })
  const first = await lab.start(kopf)
  await lab.create('stored', { spec: { n: 1 } })
  const isDoneB = ({ status }: Body) =>
    (status as { kopf?: { progress?: Record<string, { success?: boolean }> } })?.kopf?.progress?.['b']?.success === true
  await lab.untilObject('stored', isDoneB)
  await lab.stop(first)
  await lab.patch('stored', { spec: { n: 2 } })
  shut.clear()
  const { kopf: another, told: toldAfterwards } = witnesses(['a', 'b'], shut, { settings: settings() })
  await lab.start(another)
  await lab.until(() => toldAfterwards.length === 2)
  await settle(lab)
  expect(told.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['b create 1'])
  expect(toldAfterwards.map(({ id, reason, n }) => `${id} ${reason} ${n}`)).toEqual(['a create 2', 'b update 2'])
  expect(toldAfterwards[1]!.diff).toEqual([['change', ['spec', 'n'], 1, 2]])
  expect((await lab.get('stored'))['status']).toEqual({
    kopf: { progress: {}, 'last-handled-configuration': '{"spec":{"n":2}}' },
  })
})

test('sub-handlers of a half-finished handler get the remaining diff from the next process', async () => {
  const shut = new Set(['y'])
  const told: string[] = []
  const make = () => {
    const kopf = new Operator()
    const parent = ({ subhandler }: ChangeArgs) => {
      for (const id of ['x', 'y']) {
        subhandler(id, ({ spec, reason }) => {
          if (shut.has(id)) throw new TemporaryError('not yet', { delay: 0.1 })
          told.push(`${id} ${reason} ${spec['n']}`)
        })
      }
    }
    kopf.on.create(lab.widgets, { id: 'p' }, parent)
    kopf.on.update(lab.widgets, { id: 'p' }, parent)
    return kopf
  }
  const first = await lab.start(make())
  await lab.create('nested', { spec: { n: 1 } })
  await lab.untilObject('nested', (body) => progressOf(body, 'p.x')?.['success'] === true)
  await lab.stop(first)
  await lab.patch('nested', { spec: { n: 2 } })
  shut.clear()
  await lab.start(make())
  const body = await untilHandled(lab, 'nested')
  await settle(lab)
  expect([...told].sort()).toEqual(['x create 1', 'x update 2', 'y create 2'])
  expect(Object.keys(annotationsOf(body))).toEqual([lastHandled])
})
