import { ABSENT, all, any, none, not, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

/** Objects that differ in labels, annotations and fields. */
const zoo = {
  bare: {},
  red: { metadata: { labels: { color: 'red' }, annotations: { note: 'red' } }, spec: { size: 1, color: 'red' } },
  blue: { metadata: { labels: { color: 'blue' }, annotations: { note: '' } }, spec: { size: 2, color: 'blue' } },
  empty: { metadata: { labels: { color: '', team: 'data-one' } }, spec: { size: 0, deep: { 'dotted.key': [1, 2] } } },
}

/** The objects that each filter selects, for creations and for events. */
const cases: readonly (readonly [what: string, options: object, created: string, seen?: string])[] = [
  ['a label of a value', { labels: { color: 'red' } }, 'red'],
  ['an empty label', { labels: { color: '' } }, 'empty'],
  ['a label that is there', { labels: { color: PRESENT } }, 'red blue empty'],
  ['a label that is not there', { labels: { color: ABSENT } }, 'bare'],
  ['several labels', { labels: { color: PRESENT, team: ABSENT } }, 'red blue'],
  ['a function of a label', { labels: { team: (team?: string) => team?.startsWith('data-') ?? false } }, 'empty'],
  ['a function of an absent label', { labels: { color: (color?: string) => color === undefined } }, 'bare'],
  ['an annotation of a value', { annotations: { note: 'red' } }, 'red'],
  ['an annotation that is there', { annotations: { note: PRESENT } }, 'red blue'],
  ['an annotation that is not there', { annotations: { note: ABSENT } }, 'bare empty'],
  ['a field', { field: 'spec.size' }, 'red blue empty'],
  ['a field by keys', { field: ['spec', 'deep', 'dotted.key'] }, 'empty'],
  ['a value', { field: 'spec.size', value: 2 }, 'blue'],
  ['a value that is zero', { field: 'spec.size', value: 0 }, 'empty'],
  ['a list as a value', { field: ['spec', 'deep', 'dotted.key'], value: [1, 2] }, 'empty'],
  // Before its creation, an object counts as having no value.
  ['a value that is not there', { field: 'spec.color', value: ABSENT }, 'bare red blue empty', 'bare empty'],
  ['a function of a value', { field: 'spec.size', value: (size?: number) => (size ?? 0) > 0 }, 'red blue'],
  ['when', { when: ({ spec }: { spec: { size?: number } }) => spec.size === 1 }, 'red'],
  ['all', { labels: { color: all(isText, not(isRed)) } }, 'blue empty'],
  ['any', { labels: { color: any(isRed, isBlue) } }, 'red blue'],
  ['none', { labels: { color: none(isRed, isBlue) } }, 'bare empty'],
  ['not', { when: not(({ labels }: { labels: object }) => 'color' in labels) }, 'bare'],
  ['filters of several sorts', { labels: { color: PRESENT }, annotations: { note: '' }, field: 'spec.size' }, 'blue'],
]

function isText(color: unknown): boolean {
  return typeof color === 'string'
}
function isRed(color: unknown): boolean {
  return color === 'red'
}
function isBlue(color: unknown): boolean {
  return color === 'blue'
}

test('handlers are called exactly for the objects that their filters select', async () => {
  const created = new Map<string, Set<string>>()
  const seen = new Map<string, Set<string>>()
  const kopf = new Operator()
  const put = (calls: Map<string, Set<string>>, what: string, name: string) =>
    calls.set(what, (calls.get(what) ?? new Set()).add(name))
  for (const [what, options] of cases) {
    const id = what.replaceAll(' ', '-')
    kopf.on.create(lab.widgets, { id, ...options }, ({ name }) => void put(created, what, name))
    kopf.on.event(lab.widgets, { id: `event-${id}`, ...options }, ({ name }) => void put(seen, what, name))
  }
  kopf.on.create(lab.widgets, { id: 'unfiltered' }, ({ name }) => void put(created, 'everything', name))
  await lab.start(kopf)
  for (const [name, fields] of Object.entries(zoo)) await lab.create(name, fields)
  for (const name of Object.keys(zoo)) await lab.untilObject(name, isHandled)
  const said = (calls: Map<string, Set<string>>, what: string) => [...(calls.get(what) ?? [])].sort()
  expect(said(created, 'everything')).toEqual(Object.keys(zoo).sort())
  for (const [what, , expected, expectedOfEvents = expected] of cases) {
    expect([what, said(created, what)]).toEqual([what, expected.split(' ').sort()])
    expect([what, said(seen, what)]).toEqual([what, expectedOfEvents.split(' ').sort()])
  }
})

test('update handlers can be filtered by the old and the new value', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const note = (what: string) => () => void calls.push(what)
  kopf.on.update(lab.widgets, { id: 'from', field: 'spec.size', old: 1 }, note('from 1'))
  kopf.on.update(lab.widgets, { id: 'to', field: 'spec.size', new: 2 }, note('to 2'))
  kopf.on.update(lab.widgets, { id: 'came', field: 'spec.size', old: ABSENT, new: PRESENT }, note('came'))
  kopf.on.update(lab.widgets, { id: 'went', field: 'spec.size', old: PRESENT, new: ABSENT }, note('went'))
  kopf.on.update(lab.widgets, { id: 'either', field: 'spec.size', value: 2 }, note('either 2'))
  kopf.on.field(lab.widgets, 'spec.size', { id: 'grew', old: isNumber, new: isNumber }, ({ old, new: now, diff }) => {
    calls.push(`${old}->${now} ${JSON.stringify(diff)}`)
  })
  kopf.on.field(lab.widgets, 'spec.other', { id: 'other' }, note('other'))
  await lab.start(kopf)
  const steps: readonly (readonly [spec: object, calls: readonly string[]])[] = [
    [{ size: 2 }, ['from 1', 'to 2', 'either 2', '1->2 [["change",[],1,2]]']],
    [{ size: 3 }, ['either 2', '2->3 [["change",[],2,3]]']],
    [{ size: null }, ['went']],
    [{ size: 2 }, ['to 2', 'came', 'either 2']],
    [{ other: 1 }, ['other']],
  ]
  await lab.create('stepping', { spec: { size: 1 } })
  await lab.untilObject('stepping', isHandled)
  expect(calls).toEqual([])
  for (const [spec, expected] of steps) {
    calls.length = 0
    await lab.patch('stepping', { spec })
    const current = JSON.stringify((await lab.get('stepping'))['spec'])
    await lab.untilObject('stepping', ({ metadata }) => metadata.annotations?.[lastHandled]?.includes(current) ?? false)
    expect([spec, calls]).toEqual([spec, expected])
  }
})

function isNumber(value: unknown): boolean {
  return typeof value === 'number'
}

test('an object is created when its label is first added, ignored without it, and updated when it returns', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const labels = { watched: 'yes' }
  kopf.on.create(lab.widgets, { labels }, ({ name, spec }) => void calls.push(`create ${name} ${spec['size']}`))
  kopf.on.update(lab.widgets, { labels }, ({ name, old, new: now }) => {
    calls.push(`update ${name} ${old?.['spec']['size']}->${now?.['spec']['size']}`)
  })
  // An event handler without filters keeps all objects within the selector of the watch.
  kopf.on.event(lab.widgets, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('late', { spec: { size: 1 } })
  await lab.patch('late', { spec: { size: 2 } })
  await lab.elapse(0.5)
  expect(transport.writes()).toEqual([])

  await lab.patch('late', { metadata: { labels } })
  await lab.untilObject('late', isHandled)
  expect(calls).toEqual(['create late 2'])

  const before = transport.writes().length
  await lab.patch('late', { metadata: { labels: { watched: null } }, spec: { size: 3 } })
  await lab.elapse(0.5)
  expect(transport.writes()).toHaveLength(before)
  expect(calls).toHaveLength(1)

  await lab.patch('late', { metadata: { labels }, spec: { size: 4 } })
  await lab.until(() => calls.length > 1)
  expect(calls).toEqual(['create late 2', 'update late 2->4'])
})

test('an object that no longer matches loses the finalizer, and can be deleted without the handler', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, { annotations: { kept: PRESENT } }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('kept', { metadata: { annotations: { kept: '' } } })
  await lab.untilObject('kept', ({ metadata }) => metadata.finalizers !== undefined)
  await lab.patch('kept', { metadata: { annotations: { kept: null } } })
  await lab.untilObject('kept', ({ metadata }) => metadata.finalizers === undefined)
  await lab.delete('kept')
  await lab.untilGone('kept')
  expect(calls).toEqual([])
})

describe('unmatched objects', () => {
  const filters: readonly (readonly [string, object])[] = [
    ['labels', { labels: { never: PRESENT } }],
    ['annotations', { annotations: { never: PRESENT } }],
    ['field', { field: 'spec.never' }],
    ['when', { when: () => false }],
  ]
  test.each(filters)('an object without a matching handler is not written or logged: %s', async (sort, options) => {
    const kopf = new Operator()
    const name = `stealthy-${sort}`
    kopf.on.create(lab.widgets, { id: 'a', ...options }, () => {})
    kopf.on.update(lab.widgets, { id: 'b', ...options }, () => {})
    kopf.on.delete(lab.widgets, { id: 'c', ...options }, () => {})
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await lab.create(name, { spec: { size: 1 } })
    await lab.patch(name, { spec: { size: 2 } })
    await lab.elapse(0.3)
    const { metadata } = await lab.get(name)
    await lab.delete(name)
    await lab.elapse(0.3)
    expect(metadata).not.toHaveProperty('annotations')
    expect(metadata).not.toHaveProperty('finalizers')
    expect(transport.writes()).toEqual([])
    expect(lab.logs.filter((line) => line.includes(name))).toEqual([])
  })
})

test('a filter that throws is logged with its handler and object, and affects no other object', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  const when = ({ spec }: { spec: { [key: string]: unknown } }) => {
    if (spec['bad']) throw new Error('a bad apple')
    return true
  }
  kopf.on.create(lab.widgets, { id: 'picky', when }, ({ name }) => void calls.push(name))
  await lab.start(kopf)
  await lab.create('rotten', { spec: { bad: true } })
  await lab.create('fresh', { spec: {} })
  await lab.untilObject('fresh', isHandled)
  await lab.untilLogged(
    `Cannot tell whether handler "picky" is for "${lab.namespace}/rotten": its "when" filter failed: a bad apple`,
  )
  await lab.patch('rotten', { spec: { bad: false } })
  await lab.untilObject('rotten', isHandled)
  expect(calls).toEqual(['fresh', 'rotten'])
})

test('an async filter is refused with an explanation', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'waiting', when: async () => true }, () => {})
  await lab.start(kopf)
  await lab.create('awaited')
  await lab.untilLogged('filters are called for every event, and must be synchronous')
})

function isHandled({ metadata }: { metadata: { annotations?: Readonly<Record<string, string>> } }): boolean {
  return lastHandled in (metadata.annotations ?? {})
}
