/** Watches: their events, with order, objects and resource versions, and how a watch ends. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Body, RequestOptions, Tree } from '../../../support/answers.ts'
import type { WatchQuery } from '../../../support/api.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectStatus, failure, version } from '../../../support/expectations.ts'
import { configMap, object } from '../../../support/objects.ts'
import type { Watch, WatchEvent } from '../../../support/watch.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

const kinds = [
  { title: 'built-in', path: configMaps, make: configMap, kind: 'ConfigMap', apiVersion: () => 'v1' },
  { title: 'custom', path: widgets, make: widget, kind: 'Widget', apiVersion: () => `${cluster.group}/v1` },
]

const watches: Watch[] = []

async function open(path: string, query: WatchQuery = {}, options: RequestOptions = {}): Promise<Watch> {
  const watch = await cluster.api.watch(path, query, options)
  watches.push(watch)
  return watch
}

/** The present resourceVersion of the collection: a watch from it shows later events only. */
async function now(path: string): Promise<string> {
  return (await cluster.api.get(path, { limit: 1 })).body.metadata.resourceVersion
}

async function refusal(path: string, query: WatchQuery): Promise<Body> {
  return (await open(path, query)).body()
}

const brief = ({ type, object: { metadata } }: WatchEvent) => `${type} ${metadata.name}`
const names = (events: WatchEvent[]) => events.map(({ object: { metadata } }) => metadata.name).sort()

afterEach(() => {
  for (const watch of watches.splice(0)) watch.close()
})

beforeAll(() => cluster.install({ kind: 'Widget', subresources: { status: {} } }))

describe.each(kinds)('watches of a $title kind', ({ path, make, kind, apiVersion }) => {
  test('a watch shows the creation, the change and the deletion of an object, each with its state', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()) })
    expect(watch.status).toBe(200)
    expect(watch.headers['content-type']).toBe('application/json')
    const created = expectStatus(await cluster.api.post(path(), make('life')), 201)
    const changed = await cluster.api.mergePatch(`${path()}/life`, { metadata: { labels: { a: 'b' } } })
    expectStatus(await cluster.api.delete(`${path()}/life`), 200)
    const [added, modified, deleted] = await watch.take(3)
    expect(added).toEqual({ type: 'ADDED', object: created })
    expect(modified).toEqual({ type: 'MODIFIED', object: changed.body })
    // A DELETED event has the last state of the object, with the resourceVersion of the deletion.
    const { resourceVersion } = deleted!.object.metadata
    expect(deleted).toEqual({
      type: 'DELETED',
      object: { ...changed.body, metadata: { ...changed.body.metadata, resourceVersion } },
    })
    expect(BigInt(resourceVersion) > BigInt(changed.body.metadata.resourceVersion)).toBe(true)
  })

  test('a watch shows each step of a deletion with finalizers', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()) })
    expectStatus(await cluster.api.post(path(), make({ name: 'held', finalizers: ['example.com/keep'] })), 201)
    const marked = await cluster.api.delete(`${path()}/held`)
    expectStatus(await cluster.api.mergePatch(`${path()}/held`, { metadata: { finalizers: null } }), 200)
    const [added, modified, deleted] = await watch.take(3)
    expect(added!.type).toBe('ADDED')
    expect(modified).toEqual({ type: 'MODIFIED', object: marked.body })
    // The removal of the last finalizer is not stored, so the last state still has it.
    const { resourceVersion } = deleted!.object.metadata
    expect(deleted).toEqual({
      type: 'DELETED',
      object: { ...marked.body, metadata: { ...marked.body.metadata, resourceVersion } },
    })
    expect(BigInt(resourceVersion) > BigInt(marked.body.metadata.resourceVersion)).toBe(true)
  })

  test('a watch shows no event for an update that changes nothing', async () => {
    const created = expectStatus(await cluster.api.post(path(), make('quiet')), 201)
    const watch = await open(path(), { resourceVersion: created.metadata.resourceVersion })
    expectStatus(await cluster.api.put(`${path()}/quiet`, created), 200)
    expectStatus(await cluster.api.mergePatch(`${path()}/quiet`, {}), 200)
    expectStatus(await cluster.api.mergePatch(`${path()}/quiet`, { metadata: { labels: { a: 'b' } } }), 200)
    const event = await watch.next()
    expect(event.object.metadata.labels).toEqual({ a: 'b' })
  })

  test('a watch shows no event for a dry run', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()) })
    expectStatus(await cluster.api.post(path(), make('dry'), { query: { dryRun: 'All' } }), 201)
    expectStatus(await cluster.api.post(path(), make('wet')), 201)
    expect(brief(await watch.next())).toBe('ADDED wet')
  })

  test('a watch begins after the given resourceVersion', async () => {
    const first = expectStatus(await cluster.api.post(path(), make('from-1')), 201)
    expectStatus(await cluster.api.post(path(), make('from-2')), 201)
    expectStatus(await cluster.api.delete(`${path()}/from-1`), 200)
    const watch = await open(path(), { resourceVersion: first.metadata.resourceVersion })
    expect((await watch.take(2)).map(brief)).toEqual(['ADDED from-2', 'DELETED from-1'])
  })

  test.each([
    ['without a resourceVersion', {}],
    ['from the resourceVersion 0', { resourceVersion: '0' }],
  ])('a watch %s begins with the existing objects', async (_, version) => {
    const labels = { there: `t${Object.keys(version).length}` }
    const query = { ...version, labelSelector: `there=${labels.there}` }
    for (const name of ['there-1', 'there-2']) {
      expectStatus(await cluster.api.post(path(), make({ name: `${name}-${labels.there}`, labels })), 201)
    }
    const watch = await open(path(), query)
    const initial = await watch.take(2)
    expect(initial.map(({ type }) => type)).toEqual(['ADDED', 'ADDED'])
    expect(names(initial)).toEqual([`there-1-${labels.there}`, `there-2-${labels.there}`])
    expectStatus(await cluster.api.post(path(), make({ name: `there-3-${labels.there}`, labels })), 201)
    expect(brief(await watch.next())).toBe(`ADDED there-3-${labels.there}`)
  })

  test('a watch has one line for each event', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()) })
    expectStatus(await cluster.api.post(path(), make({ name: 'lines', annotations: { text: 'two\nlines' } })), 201)
    await watch.next()
    expect(watch.lines).toHaveLength(1)
    expect(Object.keys(JSON.parse(watch.lines[0]!))).toEqual(['type', 'object'])
  })

  test('a watch has the events of all objects in the order of their resourceVersions', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()) })
    await Promise.all([1, 2, 3, 4, 5].map((n) => cluster.api.post(path(), make(`order-${n}`))))
    await Promise.all([1, 2, 3, 4, 5].map((n) => cluster.api.delete(`${path()}/order-${n}`)))
    const versions = (await watch.take(10)).map((event) => BigInt(event.object.metadata.resourceVersion))
    expect(versions).toEqual([...versions].sort((a, b) => (a < b ? -1 : 1)))
    expect(new Set(versions).size).toBe(10)
  })

  test('a watch with a metadata.name selector shows that object only', async () => {
    const query = { resourceVersion: await now(path()), fieldSelector: 'metadata.name=chosen' }
    const watch = await open(path(), query)
    expectStatus(await cluster.api.post(path(), make('not-chosen')), 201)
    expectStatus(await cluster.api.post(path(), make('chosen')), 201)
    expect(brief(await watch.next())).toBe('ADDED chosen')
    expectStatus(await cluster.api.delete(`${path()}/not-chosen`), 200)
    expectStatus(await cluster.api.delete(`${path()}/chosen`), 200)
    expect(brief(await watch.next())).toBe('DELETED chosen')
  })

  test('a watch with a label selector shows ADDED and DELETED for objects that enter and leave the selection', async () => {
    expectStatus(await cluster.api.post(path(), make({ name: 'turning', labels: { side: 'out' } })), 201)
    const watch = await open(path(), { resourceVersion: await now(path()), labelSelector: 'side=in' })
    const turn = (labels: Tree) => cluster.api.mergePatch(`${path()}/turning`, { metadata: { labels } })
    const entered = await turn({ side: 'in' })
    expect(await watch.next()).toEqual({ type: 'ADDED', object: entered.body })
    const within = await turn({ more: 'yes' })
    expect(await watch.next()).toEqual({ type: 'MODIFIED', object: within.body })
    const left = await turn({ side: 'out' })
    const gone = await watch.next()
    // The event has the last selected state, with the resourceVersion of the change that unselected it.
    const { resourceVersion } = left.body.metadata
    expect(gone).toEqual({
      type: 'DELETED',
      object: { ...within.body, metadata: { ...within.body.metadata, resourceVersion } },
    })
    await turn({ more: 'no' })
    expectStatus(await cluster.api.delete(`${path()}/turning`), 200)
    expectStatus(await cluster.api.post(path(), make({ name: 'turned', labels: { side: 'in' } })), 201)
    expect(brief(await watch.next())).toBe('ADDED turned')
  })

  test('a watch ends after its timeoutSeconds', async () => {
    const watch = await open(path(), { resourceVersion: await now(path()), timeoutSeconds: 1 })
    expect(watch.status).toBe(200)
    expect((await watch.rest()).filter(({ type }) => type === 'ERROR')).toEqual([])
  })

  test('a watch of all namespaces shows the events of each', async () => {
    const everywhere = path().replace(/namespaces\/[^/]+\//, '')
    const other = await cluster.createNamespace(`w-${kind.toLowerCase()}`)
    const labels = { everywhere: cluster.namespace }
    const query = { resourceVersion: await now(everywhere), labelSelector: `everywhere=${cluster.namespace}` }
    const watch = await open(everywhere, query)
    for (const place of [cluster.namespace, other]) {
      const collection = path().replace(/namespaces\/[^/]+\//, `namespaces/${place}/`)
      expectStatus(await cluster.api.post(collection, make({ name: 'everywhere', labels })), 201)
    }
    const events = await watch.take(2)
    expect(events.map(({ object: { metadata } }) => metadata.namespace)).toEqual([cluster.namespace, other])
  })

  test('a watch of a missing namespace has no events', async () => {
    const watch = await open(path().replace(/namespaces\/[^/]+\//, 'namespaces/nowhere/'), { timeoutSeconds: 1 })
    expect(watch.status).toBe(200)
    expect(await watch.rest()).toEqual([])
  })

  describe('watches with initial events', () => {
    const query = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' }
    const isEnd = ({ type, object }: WatchEvent) =>
      type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'

    test('a watch with sendInitialEvents sends the existing objects, a bookmark, and later events', async () => {
      const labels = { initial: 'yes' }
      expectStatus(await cluster.api.post(path(), make({ name: 'initial-1', labels })), 201)
      expectStatus(await cluster.api.post(path(), make({ name: 'initial-2', labels })), 201)
      const watch = await open(path(), { ...query, labelSelector: 'initial=yes' })
      const events = await watch.until(isEnd)
      expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK'])
      expect(names(events.slice(0, 2))).toEqual(['initial-1', 'initial-2'])
      expectStatus(await cluster.api.delete(`${path()}/initial-1`), 200)
      expect(brief(await watch.next())).toBe('DELETED initial-1')
    })

    test('the bookmark after the initial events has only a resourceVersion and its annotation', async () => {
      const watch = await open(path(), { ...query, labelSelector: 'initial=none' })
      const bookmark = await watch.next()
      expect(bookmark.type).toBe('BOOKMARK')
      expect(bookmark.object).toMatchObject({
        kind,
        apiVersion: apiVersion(),
        metadata: { resourceVersion: version, annotations: { 'k8s.io/initial-events-end': 'true' } },
      })
      expect(bookmark.object.metadata.name ?? '').toBe('')
      expect(bookmark.object.metadata.uid ?? '').toBe('')
    })

    test('the bookmark after the initial events has a resourceVersion to watch from', async () => {
      const first = await open(path(), { ...query, labelSelector: 'initial=none' })
      const { resourceVersion } = (await first.next()).object.metadata
      const second = await open(path(), { resourceVersion, labelSelector: 'onward' })
      expectStatus(await cluster.api.post(path(), make({ name: 'onward', labels: { onward: '' } })), 201)
      expect(brief(await second.next())).toBe('ADDED onward')
    })

    test('a watch with sendInitialEvents waits for the given resourceVersion', async () => {
      const labels = { reached: 'yes' }
      const created = expectStatus(await cluster.api.post(path(), make({ name: 'reached', labels })), 201)
      const { resourceVersion } = created.metadata
      const watch = await open(path(), { ...query, resourceVersion, labelSelector: 'reached' })
      const events = await watch.until(isEnd)
      expect(events[0]).toEqual({ type: 'ADDED', object: created })
      expect(BigInt(events[1]!.object.metadata.resourceVersion) >= BigInt(resourceVersion)).toBe(true)
    })

    test('a watch with sendInitialEvents false shows only later events', async () => {
      expectStatus(await cluster.api.post(path(), make({ name: 'declined-1', labels: { declined: '' } })), 201)
      const declined = { ...query, sendInitialEvents: false, labelSelector: 'declined' }
      const watch = await open(path(), declined)
      expectStatus(await cluster.api.post(path(), make({ name: 'declined-2', labels: { declined: '' } })), 201)
      expect(brief(await watch.next())).toBe('ADDED declined-2')
    })
  })

  describe('malformed watch requests', () => {
    const invalid = (...causes: Array<[string, string, string]>) => {
      const texts = causes.map(([field, , message]) => `${field}: ${message}`)
      const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
      return failure(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: ${list}`, {
        group: 'meta.k8s.io',
        kind: 'ListOptions',
        causes: causes.map(([field, reason, message]) => ({ reason, message, field })),
      })
    }
    const forbidden = 'FieldValueForbidden'

    test.each<[string, Tree, Tree]>([
      [
        'have initial events without resourceVersionMatch',
        { sendInitialEvents: true, allowWatchBookmarks: true },
        invalid([
          'resourceVersionMatch',
          forbidden,
          'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        ]),
      ],
      [
        'have resourceVersionMatch without initial events',
        { resourceVersionMatch: 'NotOlderThan', resourceVersion: '1' },
        invalid([
          'resourceVersionMatch',
          forbidden,
          'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ]),
      ],
      [
        'have initial events with resourceVersionMatch Exact',
        { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'Exact', resourceVersion: '1' },
        invalid(
          [
            'resourceVersionMatch',
            forbidden,
            'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
          ],
          [
            'resourceVersionMatch',
            'FieldValueNotSupported',
            'Unsupported value: "Exact": supported values: "NotOlderThan"',
          ],
        ),
      ],
      [
        'begin at a malformed resourceVersion',
        { resourceVersion: 'abc' },
        failure(500, '', 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'),
      ],
      [
        'have a malformed selector',
        { labelSelector: 'a in' },
        failure(400, 'BadRequest', "unable to parse requirement: found '' expected: '('"),
      ],
      [
        'have malformed timeoutSeconds',
        { timeoutSeconds: 'long' },
        failure(400, 'BadRequest', 'strconv.ParseInt: parsing "long": invalid syntax'),
      ],
    ])('a watch cannot %s', async (_, query, expected) => {
      expect(await refusal(path(), query as WatchQuery)).toEqual(expected)
    })
  })

  describe('watches as tables', () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'

    test('a watch as Tables sends the column definitions once, and a row for each event', async () => {
      const watch = await open(path(), { resourceVersion: await now(path()), labelSelector: 'table' }, { accept })
      expectStatus(await cluster.api.post(path(), make({ name: 'table', labels: { table: '' } })), 201)
      expectStatus(await cluster.api.delete(`${path()}/table`), 200)
      const [added, deleted] = await watch.take(2)
      expect(added).toMatchObject({ type: 'ADDED', object: { kind: 'Table', apiVersion: 'meta.k8s.io/v1' } })
      expect(added!.object.columnDefinitions[0]).toMatchObject({ name: 'Name', type: 'string', format: 'name' })
      expect(added!.object.rows).toHaveLength(1)
      expect(added!.object.rows[0]).toMatchObject({
        cells: expect.arrayContaining(['table']),
        object: { kind: 'PartialObjectMetadata', metadata: { name: 'table', namespace: cluster.namespace } },
      })
      expect(deleted!.type).toBe('DELETED')
      expect(deleted!.object.columnDefinitions).toBeNull()
      expect(deleted!.object.rows[0]!.cells[0]).toBe('table')
    })
  })

  test('a watch as PartialObjectMetadata sends metadata only', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
    const watch = await open(path(), { resourceVersion: await now(path()), labelSelector: 'bare' }, { accept })
    const created = expectStatus(await cluster.api.post(path(), make({ name: 'bare', labels: { bare: '' } })), 201)
    expect(await watch.next()).toEqual({
      type: 'ADDED',
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: created.metadata },
    })
  })
})

test('a watch shows changes of the status', async () => {
  expectStatus(await cluster.api.post(widgets(), widget('with-status')), 201)
  const watch = await open(widgets(), { resourceVersion: await now(widgets()) })
  const changed = await cluster.api.mergePatch(`${widgets()}/with-status/status`, { status: { phase: 'Ready' } })
  expect(await watch.next()).toEqual({ type: 'MODIFIED', object: changed.body })
})

test('a watch from a compacted resourceVersion ends with an error', async () => {
  const { body: namespace } = await cluster.api.get(`/api/v1/namespaces/${cluster.namespace}`)
  await cluster.install({ kind: 'Latecomer' })
  cluster.compactHistory()
  const { resourceVersion } = namespace.metadata
  const watch = await open(cluster.custom('latecomers'), { resourceVersion })
  expect(watch.status).toBe(200)
  expect(await watch.rest()).toEqual([
    {
      type: 'ERROR',
      object: failure(410, 'Expired', expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/)),
    },
  ])
})

test('a watch from a future resourceVersion has no events until it is reached', async () => {
  const resourceVersion = String(BigInt(await now(configMaps())) + 1_000_000n)
  const watch = await open(configMaps(), { resourceVersion, timeoutSeconds: 1 })
  expect(watch.status).toBe(200)
  expectStatus(await cluster.api.post(configMaps(), configMap('too-early')), 201)
  expect(await watch.rest()).toEqual([])
})

test('many watches show the same events', async () => {
  const resourceVersion = await now(configMaps())
  const all = await Promise.all(Array.from({ length: 10 }, () => open(configMaps(), { resourceVersion })))
  const created = expectStatus(await cluster.api.post(configMaps(), configMap('for-all')), 201)
  for (const watch of all) expect(await watch.next()).toEqual({ type: 'ADDED', object: created })
})

test('a watch shows all of two hundred quick changes', async () => {
  const watch = await open(configMaps(), { resourceVersion: await now(configMaps()), labelSelector: 'quick' })
  expectStatus(await cluster.api.post(configMaps(), configMap({ name: 'quick', labels: { quick: '' } })), 201)
  for (let n = 0; n < 200; n++) {
    expectStatus(await cluster.api.mergePatch(`${configMaps()}/quick`, { data: { n: String(n) } }), 200)
  }
  const events = await watch.take(201)
  expect(events.slice(1).map(({ object }) => Number((object['data'] as Tree)['n']))).toEqual(
    Array.from({ length: 200 }, (_, n) => n),
  )
})

describe('deprecated watch paths', () => {
  test('the deprecated path /watch/ watches a collection', async () => {
    const resourceVersion = await now(configMaps())
    const path = configMaps().replace('/api/v1/', '/api/v1/watch/')
    const watch = await open(path, { resourceVersion, watch: '' })
    expectStatus(await cluster.api.post(configMaps(), configMap('old-way')), 201)
    expect(brief(await watch.next())).toBe('ADDED old-way')
  })

  test('the deprecated path /watch/ watches one object', async () => {
    const resourceVersion = await now(configMaps())
    const path = `${configMaps().replace('/api/v1/', '/api/v1/watch/')}/old-one`
    const watch = await open(path, { resourceVersion, watch: '' })
    expectStatus(await cluster.api.post(configMaps(), configMap('other-one')), 201)
    expectStatus(await cluster.api.post(configMaps(), configMap('old-one')), 201)
    expect(brief(await watch.next())).toBe('ADDED old-one')
  })
})
