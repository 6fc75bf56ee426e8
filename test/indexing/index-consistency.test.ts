/** Indices include our own patches, never return to an older state, and follow deletions and recreations. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'
import { gate } from '../support/recording.ts'
import { contentOf, holdWatches } from './index-support.ts'

const lab = useCleanLab()

test('the index has the patch of a handler before the next handler is called and before the watch returns it', async () => {
  const seen: unknown[] = []
  const kopf = new Operator()
  const byApp = kopf.index(lab.widgets, async ({ labels, name }) => {
    // The operator waits for slow index functions.
    await lab.clock.sleep(20)
    return [[labels['app'] ?? 'none', name]]
  })
  const transport = lab.record()
  const watches = holdWatches(transport)
  kopf.on.create(lab.widgets, { id: 'labels' }, ({ patch }) => {
    watches.hold()
    patch.metadata.labels['app'] = 'web'
  })
  kopf.on.create(lab.widgets, { id: 'looks' }, ({ retry }) => {
    seen.push(contentOf(byApp))
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0 })
  })
  await lab.start(kopf, { transport })
  await lab.create('one')
  await lab.until(() => seen.length === 2)
  expect(seen).toEqual([[['none', ['one']]], [['web', ['one']]]])
  watches.letGo()
  await untilHandled(lab, 'one')
})

test('a state older than our own patch is not indexed', async () => {
  const seen: [version: number, n: unknown][] = []
  const kopf = new Operator()
  const sizes = kopf.index(lab.widgets, ({ name, spec, meta }) => {
    seen.push([Number(meta.resourceVersion), spec['n']])
    return [[name, spec['n']]]
  })
  const transport = lab.record()
  const watches = holdWatches(transport)
  kopf.on.create(lab.widgets, async ({ name }) => {
    watches.hold()
    await lab.patch(name, { spec: { n: 2 } })
    await lab.patch(name, { spec: { n: 3 } })
  })
  await lab.start(kopf, { transport })
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => sizes.get('one')[0] === 3)
  watches.letGo()
  await untilHandled(lab, 'one')
  await settle(lab)
  expect(sizes.get('one')).toEqual([3])
  const versions = seen.map(([version]) => version)
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  expect(seen.map(([, n]) => n)).not.toContain(2)
})

test('an object that changes while it is being indexed is indexed again only in its last state', async () => {
  const seen: unknown[] = []
  const first = gate()
  const kopf = new Operator()
  const sizes = kopf.index(lab.widgets, async ({ name, spec }) => {
    seen.push(spec['n'])
    if (spec['n'] === 1) await first.opened
    return [[name, spec['n']]]
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  for (const n of [2, 3, 4]) await lab.patch('one', { spec: { n } })
  await lab.elapse(0.2)
  first.open()
  await lab.until(() => sizes.get('one')[0] === 4)
  expect(seen).toEqual([1, 4])
})

test('an object that is deleted while it is being indexed is not in the index', async () => {
  const slow = gate()
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, async ({ name, spec }) => {
    if (spec['n'] === 2) await slow.opened
    return name
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => names.size === 1)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.elapse(0.1)
  await lab.delete('one')
  await lab.until(() => names.size === 0)
  slow.open()
  await settle(lab)
  expect(names.size).toBe(0)
})

test('an object that returns while its deletion is being confirmed stays in the index until it is really deleted', async () => {
  const kopf = new Operator()
  const labels = { mine: 'yes' }
  const sizes = kopf.index(lab.widgets, { labels }, ({ name, spec }) => [[name, spec['n']]])
  const seen: unknown[] = []
  kopf.on.event(lab.widgets, { labels }, ({ event, spec }) => void seen.push([event.type, spec['n'], sizes.size]))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('one', { metadata: { labels }, spec: { n: 1 } })
  await lab.until(() => seen.length === 1)
  const answered = gate()
  let isAsked = false
  transport.meddle = async ({ method, path }, send) => {
    if (method !== 'GET' || !path.endsWith('/one')) return send()
    isAsked = true
    await answered.opened
    return send()
  }
  await lab.patch('one', { metadata: { labels: { mine: null } } })
  await lab.until(() => isAsked)
  expect(sizes.size).toBe(0)
  await lab.patch('one', { metadata: { labels }, spec: { n: 2 } })
  await lab.until(() => sizes.size === 1)
  answered.open()
  await lab.until(() => seen.length === 2)
  await settle(lab)
  expect(contentOf(sizes)).toEqual([['one', [2]]])
  await lab.delete('one')
  await lab.until(() => seen.length === 3)
  expect(seen).toEqual([
    ['ADDED', 1, 1],
    ['ADDED', 2, 1],
    ['DELETED', 2, 0],
  ])
})

test('the objects of a deleted namespace are removed from the index', async () => {
  const kopf = new Operator()
  const names = kopf.index(lab.widgets, ({ namespace, name }) => [[namespace, name]])
  const doomed = `${lab.namespace}-doomed`
  await lab.call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: doomed } })
  await lab.call('POST', `/apis/${lab.group}/v1/namespaces/${doomed}/widgets`, {
    apiVersion: `${lab.group}/v1`,
    kind: 'Widget',
    metadata: { name: 'one' },
  })
  const transport = lab.record()
  const watches = holdWatches(transport)
  const meddle = transport.meddle
  // The watch reports the deletions of the objects too late.
  transport.meddle = (request, send) => (request.path.includes(doomed) ? meddle(request, send) : send())
  await lab.start(kopf, { transport, namespaces: [`${lab.namespace}*`] })
  await lab.until(() => names.has(doomed))
  await lab.create('two')
  await lab.until(() => names.size === 2)
  watches.hold()
  await lab.call('DELETE', `/api/v1/namespaces/${doomed}`)
  await lab.until(() => !names.has(doomed))
  expect(names.get(lab.namespace)).toEqual(['two'])
  watches.letGo()
})
