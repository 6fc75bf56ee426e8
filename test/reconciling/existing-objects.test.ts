/** The option `existing` of reconcilers: how objects that exist under the names of children affect them and their siblings. */
import { adopt, Operator, type Reconciled } from 'kopf'
import { describe, expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

type Options = Parameters<Operator['reconcile']>[1]

/** An operator that creates the children named in the spec. */
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

describe('existing: leave', () => {
  test('an existing object is left unchanged with existing: leave, its siblings are created, and a true condition names it', async () => {
    const foreign = await reconciling.create(configMap('second', { by: 'others' }))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('one', { spec: { names: ['first', 'second', 'third'] } })
    const body = await untilSaid('one', 'ExistingLeft')
    expect(conditionOf(body)).toMatchObject({
      status: 'True',
      message: 'Left alone, as the operator has not created them: ConfigMap "second"',
    })
    expect((await reconciling.untilThere('first'))['data']).toEqual({ by: 'copier' })
    expect((await reconciling.untilThere('third'))['data']).toEqual({ by: 'copier' })
    await settle(lab)
    expect(lab.logs.filter((line) => line.includes('failed'))).toEqual([])
    expect(lab.logs.filter((line) => line.includes('is left alone'))).toEqual([
      `[${lab.namespace}/one] ConfigMap "second" is left alone: it exists, and is not a child of this object.`,
    ])
    await lab.patch('one', { spec: { names: [] } })
    await reconciling.untilGone('first')
    await untilSaid('one', 'Applied')
    await lab.delete('one')
    await lab.untilGone('one')
    expect(await reconciling.get('second')).toEqual(foreign)
  })

  test('an existing object is checked again after 1, 2, 4 minutes and so on with one apply and one list, not for each change of a sibling', async () => {
    await reconciling.create(configMap('taken'))
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
      await reconciling.patch('own', { data: { time } })
      await reconciling.patch('own', { metadata: { labels: { time } } })
      await settle(lab)
    }
    if (!lab.isReal) await lab.elapse(600)
    // The existing object is checked after 1, 3, 7 and 15 minutes of skipped time.
    const minutes = (lab.clock.now() - startedMs) / 60_000
    expect(looks().length / 2 - 1).toBeLessThanOrEqual(Math.floor(Math.log2(minutes + 1)))
  })

  test('a change of the owner checks an existing object at once', async () => {
    await reconciling.create(configMap('renewed', { by: 'others' }))
    const transport = lab.record()
    await lab.start(copier({ existing: 'leave' }), { transport })
    await lab.create('changing', { spec: { names: ['renewed'] } })
    await untilSaid('changing', 'ExistingLeft')
    const looks = () => transport.writes('/renewed').length
    const before = looks()
    await lab.patch('changing', { spec: { names: ['renewed', 'another'] } })
    await reconciling.untilThere('another')
    expect(looks()).toBeGreaterThan(before)
  })

  test('a child is created at the next change of the owner after its name is free, and the condition is removed', async () => {
    await reconciling.create(configMap('freed', { by: 'others' }))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('waiting', { spec: { names: ['freed'] } })
    await untilSaid('waiting', 'ExistingLeft')
    await reconciling.delete('freed')
    await lab.patch('waiting', { metadata: { labels: { touched: 'yes' } } })
    await reconciling.until('freed', (found) => found['data'].by === 'copier')
    const body = await untilSaid('waiting', 'Applied')
    expect(conditionOf(body)).toMatchObject({ status: 'True', message: '' })
  })

  test('a child is created as soon as its name is free if the reconciler watches the kind', async () => {
    await reconciling.create(configMap('watched', { by: 'others' }, { labels: { 'widget-name': 'watcher' } }))
    const kopf = new Operator({ name: 'copier' })
    kopf.reconcile(
      lab.widgets,
      {
        id: 'copy',
        owns: ['configmaps'],
        existing: 'leave',
        watches: [['configmaps', ({ metadata }) => metadata.labels?.['widget-name']]],
      },
      () => ({ children: [configMap('watched', { by: 'copier' })] }),
    )
    await lab.start(kopf)
    await lab.create('watcher', {})
    await untilSaid('watcher', 'ExistingLeft')
    await settle(lab)
    await reconciling.delete('watched')
    await reconciling.until('watched', (found) => found['data'].by === 'copier')
  })

  test('an existing object that is left unchanged does not block the next groups of children', async () => {
    await reconciling.create(configMap('first-step', { by: 'others' }))
    const kopf = new Operator({ name: 'copier' })
    kopf.reconcile(lab.widgets, { id: 'copy', owns: ['configmaps'], existing: 'leave' }, () => ({
      children: [[configMap('first-step')], [configMap('second-step')]],
    }))
    await lab.start(kopf)
    await lab.create('stepwise', {})
    await reconciling.untilThere('second-step')
    await untilSaid('stepwise', 'ExistingLeft')
  })

  test('the condition on existing objects names only a limited number of them', async () => {
    const names = Array.from({ length: 13 }, (_, index) => `many-${String(index).padStart(2, '0')}`)
    for (const name of names) await reconciling.create(configMap(name))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('crowded', { spec: { names } })
    const body = await lab.untilObject('crowded', (found) => conditionOf(found)?.['reason'] === 'ExistingLeft')
    expect(conditionOf(body)?.['message']).toMatch(/ConfigMap "many-00", .*"many-09", 3 more$/)
  })

  test('a child that is refused for another reason beside an existing object is an error, and the condition names both', async () => {
    await reconciling.create(configMap('kept'))
    await lab.start(copier({ existing: 'leave' }))
    await lab.create('mixed', { spec: { names: ['kept', 'Not-A-Name', 'fine'] } })
    const body = await untilSaid('mixed', 'ChildRefused')
    await reconciling.untilThere('fine')
    expect(conditionOf(body)).toMatchObject({ status: 'False' })
    expect(conditionOf(body)?.['message']).toMatch(/Cannot apply ConfigMap "Not-A-Name": .*; Left alone, .*"kept"$/s)
  })
})

describe('existing in the result of a reconciler', () => {
  const byItsSpec = (spec: Body) => ({ existing: spec['replaceExisting'] === true ? 'adopt' : 'leave' }) as const

  test('the result of a reconciler sets `existing` per object and can change it with the object', async () => {
    await reconciling.create(configMap('shared', { by: 'others' }))
    await lab.start(copier({}, byItsSpec))
    await lab.create('chooser', { spec: { names: ['shared'], replaceExisting: false } })
    await untilSaid('chooser', 'ExistingLeft')
    expect((await reconciling.get('shared'))['data']).toEqual({ by: 'others' })
    await lab.patch('chooser', { spec: { replaceExisting: true } })
    const adopted = await reconciling.until('shared', (found) => found['data'].by === 'copier')
    expect(adopted.metadata.ownerReferences).toMatchObject([{ name: 'chooser' }])
    await untilSaid('chooser', 'Applied')
  })

  test('the result of a reconciler sets `existing` per group', async () => {
    await reconciling.create(configMap('left', { by: 'others' }))
    await reconciling.create(configMap('adopted', { by: 'others' }))
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
    await reconciling.until('adopted', (found) => found['data'].by === 'copier')
    const body = await untilSaid('grouped', 'ExistingLeft')
    expect(conditionOf(body)?.['message']).toMatch(/: ConfigMap "left"$/)
    expect((await reconciling.get('left'))['data']).toEqual({ by: 'others' })
  })

  test('the result of a reconciler with an invalid `existing` is refused', async () => {
    await lab.start(copier({}, () => ({ existing: 'keep' as never })))
    await lab.create('mistaken', { spec: { names: [] } })
    await lab.untilLogged(`"existing" is 'refuse', 'leave' or 'adopt'`)
  })
})

test.each(['refuse', 'leave', 'adopt'])(
  'a child that a handler created with `adopt` is a child of its owner with existing: %s',
  async (existing) => {
    const owner = await lab.create('moved', { spec: { names: ['settings'] } })
    await reconciling.create(adopt(configMap('settings', { by: 'handler' }), owner))
    await lab.start(copier({ existing }))
    await reconciling.until('settings', ({ data }) => data?.['by'] === 'copier')
    await lab.patch('moved', { spec: { names: [] } })
    await reconciling.untilGone('settings')
    expect(conditionOf(await lab.get('moved'))).toBeUndefined()
  },
)

test('an existing object does not block its siblings by default, and is checked less and less often', async () => {
  await reconciling.create(configMap('b', { by: 'others' }))
  const transport = lab.record()
  await lab.start(copier(), { transport })
  await lab.create('strict', { spec: { names: ['a', 'b', 'c'] } })
  const body = await untilSaid('strict', 'ChildRefused')
  expect(conditionOf(body)).toMatchObject({ status: 'False' })
  expect(conditionOf(body)?.['message']).toMatch(/^Cannot apply ConfigMap "b": it exists, .*the option "existing"$/)
  await reconciling.untilThere('a')
  await reconciling.untilThere('c')
  if (lab.isReal) return
  const asked = () => transport.writes('/b').length
  const before = asked()
  await lab.elapse(3600)
  // Retries after 1, 2, 4 … 512 s, then every ten minutes, each with a jitter of one half.
  expect(asked() - before).toBeLessThan(30)
})

test.each<[string, object, string]>([
  ['an unknown value of existing', { existing: 'keep' }, '"existing" must be one of refuse, leave, adopt'],
  [
    'contradicting adopt and existing options',
    { existing: 'leave', adopt: true },
    `"adopt: true" and "existing: 'leave'" contradict each other`,
  ],
])('a reconciler with %s is refused at its registration', (_, options, message) => {
  expect(() => copier(options)).toThrow(message)
})

describe('several reconcilers of one object', () => {
  /** Each reconciler creates one ConfigMap. */
  function pair(existing: Record<string, 'leave' | 'refuse' | undefined>): Operator {
    const kopf = new Operator({ name: 'pair' })
    for (const [id, policy] of Object.entries(existing)) {
      const options = { id, owns: ['configmaps'], ...(policy && { existing: policy }) } as const
      kopf.reconcile(lab.widgets, options, () => ({ children: [configMap(id)] }))
    }
    return kopf
  }

  test('the condition reports the problems of all reconcilers, and they do not overwrite it in turns', async () => {
    await reconciling.create(configMap('foreign-a'))
    await reconciling.create(configMap('foreign-b'))
    const transport = lab.record()
    const operator = pair({ 'own-a': undefined, 'foreign-a': 'leave', 'foreign-b': 'refuse', 'own-b': undefined })
    const running = await lab.start(operator, { transport })
    await lab.create('shared', { spec: {} })
    const first = conditionOf(await untilSaid('shared', 'ChildRefused'))!
    expect(first).toMatchObject({ status: 'False', message: expect.stringContaining('ConfigMap "foreign-b"') })
    expect(first['message']).toContain('; Left alone, as the operator has not created them: ConfigMap "foreign-a"')
    await settle(lab)
    if (!lab.isReal) await lab.elapse(600)
    await lab.stop(running)
    await lab.start(operator, { transport })
    await settle(lab)
    expect(conditionOf(await lab.get('shared'))).toEqual(first)
    expect(transport.writes('/shared/status')).toHaveLength(1)
    await reconciling.delete('foreign-b')
    await lab.patch('shared', { metadata: { labels: { touched: 'yes' } } })
    await untilSaid('shared', 'ExistingLeft')
  })
})
