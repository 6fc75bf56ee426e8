/** Indices shared by several functions, by merged operators, and by several runs. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'
import { contentOf } from './index-support.ts'

const lab = useCleanLab()
const configMaps = `/api/v1/namespaces/${lab.namespace}/configmaps`
const filter = { labels: { shared: 'yes' } }

async function createConfigMap(name: string): Promise<void> {
  await lab.call('POST', configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { shared: 'yes' } },
  })
}

test('index functions of different resources with one id fill one index', async () => {
  const kopf = new Operator()
  const all = kopf.index(lab.widgets, { id: 'all' }, ({ name }) => [[name, 'widget']])
  const same = kopf.index('configmaps', { id: 'all', ...filter }, ({ name }) => [[name, 'map']])
  expect(same).toBe(all)
  await createConfigMap('one')
  await lab.create('one')
  await lab.create('two')
  await lab.start(kopf)
  await lab.until(() => all.get('one').length === 2)
  expect(new Set(all.get('one'))).toEqual(new Set(['widget', 'map']))
  await lab.call('DELETE', `${configMaps}/one`)
  await lab.until(() => all.get('one').length === 1)
  expect(contentOf(all).sort()).toEqual([
    ['one', ['widget']],
    ['two', ['widget']],
  ])
})

test('index functions without a name or an id have one index each', async () => {
  const kopf = new Operator()
  const widgets = kopf.index(lab.widgets, ({ name }) => name)
  const maps = kopf.index('configmaps', filter, ({ name }) => name)
  const lengths = kopf.index(lab.widgets, ({ name }) => [[name.length, name]])
  await createConfigMap('a-map')
  await lab.create('one')
  await lab.start(kopf)
  await lab.until(() => widgets.size + maps.size + lengths.size === 3)
  expect([widgets.get(null), maps.get(null), lengths.get(3)]).toEqual([['one'], ['a-map'], ['one']])
  await lab.call('DELETE', `${configMaps}/a-map`)
})

test('merged operators keep their indices, and fill indices with the same id together', async () => {
  const seen: unknown[] = []
  const [kopf, other] = [new Operator(), new Operator()]
  const ours = kopf.index(lab.widgets, { id: 'all' }, ({ name }) => [[name, 'widget']])
  const nameless = kopf.index(lab.widgets, ({ name }) => name)
  const theirs = other.index('configmaps', { id: 'all', ...filter }, ({ name }) => [[name, 'map']])
  const theirNameless = other.index(lab.widgets, ({ name }) => `their ${name}`)
  other.on.create(lab.widgets, ({ indices }) => void seen.push(contentOf(indices['all']!).sort()))
  kopf.use(other).use(other)
  await createConfigMap('a-map')
  await lab.create('one')
  await lab.start(kopf)
  await untilHandled(lab, 'one')
  const content = [
    ['a-map', ['map']],
    ['one', ['widget']],
  ]
  expect([contentOf(ours).sort(), contentOf(theirs).sort(), seen]).toEqual([content, content, [content]])
  expect([nameless.get(null), theirNameless.get(null)]).toEqual([['one'], ['their one']])
  await lab.call('DELETE', `${configMaps}/a-map`)
  await lab.until(() => !ours.has('a-map') && !theirs.has('a-map'))
})

test('all handlers and index functions get all indices by their ids', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, function by_name({ name }) {
    return [[name, 1]]
  })
  kopf.index(lab.widgets, { id: 'by-field', field: 'spec.n' }, ({ indices }) => {
    seen.push(indices['by_name'] === names)
    return []
  })
  kopf.on.event(lab.widgets, ({ indices }) => void seen.push(Object.keys(indices)))
  kopf.on.create(lab.widgets, ({ indices }) => void seen.push(indices['by_name']?.get('one')))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  expect(seen.slice(0, 3)).toEqual([true, ['by_name', 'by-field'], [1]])
})

test('an index is empty again for the next run of the operator', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ name }) => name)
  kopf.on.cleanup(() => void seen.push(names.get(null).length))
  await lab.create('one')
  await lab.create('two')
  const running = await lab.start(kopf)
  await lab.until(() => names.get(null).length === 2)
  await lab.stop(running)
  expect([seen, names.size]).toEqual([[2], 0])
  await lab.delete('one')
  await lab.start(kopf)
  await lab.until(() => names.size > 0)
  expect(names.get(null)).toEqual(['two'])
})

test('two simultaneous runs of an operator do not remove values of each other from an index', async () => {
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ name }) => name)
  await lab.create('one')
  const first = await lab.start(kopf)
  await lab.start(kopf)
  await lab.until(() => names.get(null).length === 2)
  await lab.stop(first)
  expect(names.get(null)).toEqual(['one'])
})
