/** The option `existing` of reconcilers: what becomes of objects that exist under the names of children, and of the other children. */
import { adopt, Operator, type Reconciled } from 'kopf'
import { describe, expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

type Options = Parameters<Operator['reconcile']>[1]

/** Each widget has the children that its spec names. */
function copier(options: object = {}, more: (spec: Body) => Partial<Reconciled> = () => ({})): Operator {
  const kopf = new Operator({ name: 'copier' })
  const reconcilerOptions = { id: 'copy', owns: ['configmaps'], ...options } as Options
  kopf.reconcile(lab.widgets, reconcilerOptions as { owns: ['configmaps'] }, ({ spec }) => ({
    children: (spec['names'] as string[]).map((name) => configMap(name, { by: 'copier' })),
    ...more(spec as Body),
  }))
  return kopf
}

function conditionOf(body: Body): Record<string, unknown> | undefined {
  const conditions: Array<Record<string, unknown>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

const untilSaid = (name: string, reason: string) =>
  lab.untilObject(name, (found) => conditionOf(found)?.['reason'] === reason)

describe("with existing: 'leave'", () => {
  test('the object is left alone, its siblings are made, a condition that is True names it, and nothing fails', async () => {
    const foreign = await nursery.create(configMap('second', { by: 'others' }))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('one', { spec: { names: ['first', 'second', 'third'] } })
    const body = await untilSaid('one', 'ExistingLeft')
    expect(conditionOf(body)).toMatchObject({
      status: 'True',
      message: 'Left alone, as the operator has not created them: ConfigMap "second"',
    })
    expect((await nursery.untilThere('first'))['data']).toEqual({ by: 'copier' })
    expect((await nursery.untilThere('third'))['data']).toEqual({ by: 'copier' })
    await settle(lab)
    expect(lab.logs.filter((line) => line.includes('failed'))).toEqual([])
    expect(lab.logs.filter((line) => line.includes('is left alone'))).toEqual([
      `[${lab.namespace}/one] ConfigMap "second" is left alone: it exists, and is not a child of this object.`,
    ])
    await lab.patch('one', { spec: { names: [] } })
    await nursery.untilGone('first')
    await untilSaid('one', 'Applied')
    await lab.delete('one')
    await lab.untilGone('one')
    expect(await nursery.get('second')).toEqual(foreign)
  })

  test('a look costs one apply and one list, and is repeated after 1, 2, 4 minutes and so on, not for each change of a sibling', async () => {
    await nursery.create(configMap('taken'))
    const transport = lab.record()
    await lab.start(copier({ existing: 'leave' }), { transport })
    const startedMs = lab.clock.now()
    await lab.create('counted', { spec: { names: ['own', 'taken'] } })
    await untilSaid('counted', 'ExistingLeft')
    const looks = () =>
      transport.requests.filter(({ path, query }) => {
        return path.endsWith('/taken') || query.get('fieldSelector') === 'metadata.name=taken'
      })
    expect(looks().map(({ method }) => method)).toEqual(['PATCH', 'GET'])
    for (const time of ['1', '2', '3', '4', '5', '6']) {
      await nursery.patch('own', { data: { time } })
      await nursery.patch('own', { metadata: { labels: { time } } })
      await settle(lab)
    }
    if (!lab.isReal) await lab.elapse(600)
    // Time is skipped: the looks that were due are at 1, 3, 7, 15 minutes.
    const minutes = (lab.clock.now() - startedMs) / 60_000
    expect(looks().length / 2 - 1).toBeLessThanOrEqual(Math.floor(Math.log2(minutes + 1)))
  })

  test('a change of the owner leads to a look at once', async () => {
    await nursery.create(configMap('renewed', { by: 'others' }))
    const transport = lab.record()
    await lab.start(copier({ existing: 'leave' }), { transport })
    await lab.create('changing', { spec: { names: ['renewed'] } })
    await untilSaid('changing', 'ExistingLeft')
    const looks = () => transport.writes('/renewed').length
    const before = looks()
    await lab.patch('changing', { spec: { names: ['renewed', 'another'] } })
    await nursery.untilThere('another')
    expect(looks()).toBeGreaterThan(before)
  })

  test('the child is made when the name is free, at the next change of the owner, and the condition ends', async () => {
    await nursery.create(configMap('freed', { by: 'others' }))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('waiting', { spec: { names: ['freed'] } })
    await untilSaid('waiting', 'ExistingLeft')
    await nursery.delete('freed')
    await lab.patch('waiting', { metadata: { labels: { touched: 'yes' } } })
    await nursery.until('freed', (found) => found['data'].by === 'copier')
    const body = await untilSaid('waiting', 'Applied')
    expect(conditionOf(body)).toMatchObject({ status: 'True', message: '' })
  })

  test('the child is made as soon as the name is free where the reconciler watches the kind', async () => {
    await nursery.create(configMap('watched', { by: 'others' }, { labels: { 'widget-name': 'watcher' } }))
    const kopf = new Operator({ name: 'copier' })
    const options = {
      id: 'copy',
      owns: ['configmaps'],
      existing: 'leave',
      watches: [['configmaps', ({ metadata }: Body) => metadata.labels?.['widget-name']]],
    } as const
    kopf.reconcile(lab.widgets, options as never, () => ({ children: [configMap('watched', { by: 'copier' })] }))
    await lab.start(kopf)
    await lab.create('watcher', {})
    await untilSaid('watcher', 'ExistingLeft')
    await settle(lab)
    await nursery.delete('watched')
    await nursery.until('watched', (found) => found['data'].by === 'copier')
  })

  test('an object that is left alone does not hold up the groups after it', async () => {
    await nursery.create(configMap('first-step', { by: 'others' }))
    const kopf = new Operator({ name: 'copier' })
    kopf.reconcile(lab.widgets, { id: 'copy', owns: ['configmaps'], existing: 'leave' }, () => ({
      children: [[configMap('first-step')], [configMap('second-step')]],
    }))
    await lab.start(kopf)
    await lab.create('stepwise', {})
    await nursery.untilThere('second-step')
    await untilSaid('stepwise', 'ExistingLeft')
  })

  test('many objects are named up to a limit', async () => {
    const names = Array.from({ length: 13 }, (_, index) => `many-${String(index).padStart(2, '0')}`)
    for (const name of names) await nursery.create(configMap(name))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('crowded', { spec: { names } })
    const body = await lab.untilObject('crowded', (found) => conditionOf(found)?.['reason'] === 'ExistingLeft')
    expect(conditionOf(body)?.['message']).toMatch(/ConfigMap "many-00", .*"many-09", 3 more$/)
  })

  test('a child that the server refuses for another reason is a problem all the same, and both are named', async () => {
    await nursery.create(configMap('kept'))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('mixed', { spec: { names: ['kept', 'Not-A-Name', 'fine'] } })
    const body = await untilSaid('mixed', 'ChildRefused')
    await nursery.untilThere('fine')
    expect(conditionOf(body)).toMatchObject({ status: 'False' })
    expect(conditionOf(body)?.['message']).toMatch(/Cannot apply ConfigMap "Not-A-Name": .*; Left alone, .*"kept"$/s)
  })
})

describe('existing in what a reconciler returns', () => {
  const byItsSpec = (spec: Body) => ({ existing: spec['replaceExisting'] === true ? 'adopt' : 'leave' }) as const

  test('decides for the object at hand, and a change of the object changes it', async () => {
    await nursery.create(configMap('shared', { by: 'others' }))
    await lab.start(copier({}, byItsSpec))
    await lab.create('chooser', { spec: { names: ['shared'], replaceExisting: false } })
    await untilSaid('chooser', 'ExistingLeft')
    expect((await nursery.get('shared'))['data']).toEqual({ by: 'others' })
    await lab.patch('chooser', { spec: { replaceExisting: true } })
    const adopted = await nursery.until('shared', (found) => found['data'].by === 'copier')
    expect(adopted.metadata.ownerReferences).toMatchObject([{ name: 'chooser' }])
    await untilSaid('chooser', 'Applied')
  })

  test('decides for a group', async () => {
    await nursery.create(configMap('left', { by: 'others' }))
    await nursery.create(configMap('adopted', { by: 'others' }))
    const kopf = new Operator({ name: 'copier' })
    kopf.reconcile(lab.widgets, { id: 'copy', owns: ['configmaps'] }, () => ({
      existing: 'leave',
      children: [
        { children: [configMap('adopted', { by: 'copier' })], existing: 'adopt' },
        { children: [configMap('left', { by: 'copier' })] },
      ],
    }))
    await lab.start(kopf)
    await lab.create('grouped', {})
    await nursery.until('adopted', (found) => found['data'].by === 'copier')
    const body = await untilSaid('grouped', 'ExistingLeft')
    expect(conditionOf(body)?.['message']).toMatch(/: ConfigMap "left"$/)
    expect((await nursery.get('left'))['data']).toEqual({ by: 'others' })
  })

  test('is refused where it is none of the three', async () => {
    await lab.start(copier({}, () => ({ existing: 'keep' as never })))
    await lab.create('mistaken', { spec: { names: [] } })
    await lab.untilLogged(`"existing" is 'refuse', 'leave' or 'adopt'`)
  })
})

test.each(['refuse', 'leave', 'adopt'])(
  'what a handler has made with `adopt` is a child of its owner, with existing: %s',
  async (existing) => {
    const owner = await lab.create('moved', { spec: { names: ['settings'] } })
    await nursery.create(adopt(configMap('settings', { by: 'handler' }), owner))
    await lab.start(copier({ existing }))
    await nursery.until('settings', ({ data }) => data?.['by'] === 'copier')
    await lab.patch('moved', { spec: { names: [] } })
    await nursery.untilGone('settings')
    expect(conditionOf(await lab.get('moved'))).toBeUndefined()
  },
)

test('by default, one foreign object among several holds up none of its siblings, and is asked for ever more seldom', async () => {
  await nursery.create(configMap('b', { by: 'others' }))
  const transport = lab.record()
  await lab.start(copier(), { transport })
  await lab.create('strict', { spec: { names: ['a', 'b', 'c'] } })
  const body = await untilSaid('strict', 'ChildRefused')
  expect(conditionOf(body)).toMatchObject({ status: 'False' })
  expect(conditionOf(body)?.['message']).toMatch(/^Cannot apply ConfigMap "b": it exists, .*the option "existing"$/)
  await nursery.untilThere('a')
  await nursery.untilThere('c')
  if (lab.isReal) return
  const asked = () => transport.writes('/b').length
  const before = asked()
  await lab.elapse(3600)
  // After 1, 2, 4 … 512 s, and then every ten minutes; each spread by half.
  expect(asked() - before).toBeLessThan(30)
})

test.each<[string, object, string]>([
  ['another word', { existing: 'keep' }, '"existing" is one of refuse, leave, adopt'],
  [
    'both ways at once',
    { existing: 'leave', adopt: true },
    `"adopt: true" and "existing: 'leave'" contradict each other`,
  ],
])('%s is refused when the reconciler is registered', (_, options, message) => {
  expect(() => copier(options)).toThrow(message)
})
