/** Lists: order, selection, pages, versions. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, RequestOptions } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, timestamp, uuid, version } from '../../../support/expectations.ts'
import { labelKey, labelValue, namePart } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')

/** Labels of the objects that most tests list. */
const population = {
  alpha: { app: 'web', tier: 'front', size: '1' },
  beta: { app: 'web', tier: 'back', size: '5' },
  'beta.1': { app: 'db', size: '10' },
  'beta-2': { app: 'db', 'example.com/part': 'x' },
  gamma: {},
}

const sorted = ['alpha', 'beta', 'beta-2', 'beta.1', 'gamma']
const names = (list: Body) => list.items.map(({ metadata }) => metadata.name)

beforeAll(async () => {
  await cluster.install({ kind: 'Widget' })
  for (const [name, labels] of Object.entries(population)) {
    expectStatus(await cluster.api.post(configMaps(), configMap({ name, labels })), 201)
    expectStatus(await cluster.api.post(widgets(), object(`${cluster.group}/v1`, 'Widget', { name, labels })), 201)
  }
})

const kinds = [
  { title: 'built-in', path: configMaps },
  { title: 'custom', path: widgets },
]

const list = (path: string, query: RequestOptions['query'] = {}) => cluster.api.get(path, query)

describe('the form of lists', () => {
  test('the items of a built-in list have no kind and apiVersion', async () => {
    const { body } = await list(configMaps())
    expect(body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: version } })
    expect(body.items[0]).toEqual({
      metadata: {
        name: 'alpha',
        namespace: cluster.namespace,
        uid: uuid,
        resourceVersion: version,
        creationTimestamp: timestamp,
        labels: population.alpha,
      },
    })
  })

  test('the items of a custom list have kind and apiVersion', async () => {
    const { body } = await list(widgets())
    const apiVersion = `${cluster.group}/v1`
    expect(body).toMatchObject({ apiVersion, kind: 'WidgetList', metadata: { resourceVersion: version } })
    const { body: alpha } = await cluster.api.get(`${widgets()}/alpha`)
    expect(body.items[0]).toEqual(alpha)
  })

  test.each(kinds)('a list without matches has empty items on a $title kind', async ({ path }) => {
    const { body } = await list(path(), { labelSelector: 'app=none' })
    expect(body.items).toEqual([])
  })

  test('a list in a missing namespace is empty', async () => {
    const answer = await list('/api/v1/namespaces/nowhere/configmaps')
    expect(answer.status).toBe(200)
    expect(answer.body.items).toEqual([])
  })

  test.each(kinds)('a list as a Table has a row for each object on a $title kind', async ({ path }) => {
    const { body } = await cluster.api.get(path(), {}, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
    expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata: { resourceVersion: version } })
    expect(body.rows.map(({ cells }) => cells[0])).toEqual(sorted)
    expect(body.rows[0]!.object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'alpha' } })
  })

  test('a list as a Table can be paged', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { body } = await cluster.api.get(configMaps(), { limit: 2 }, { accept })
    expect(body.rows).toHaveLength(2)
    expect(body.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: 3 })
  })

  test('a list can be of PartialObjectMetadata', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
    const { body } = await cluster.api.get(widgets(), {}, { accept })
    expect(body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' })
    const { metadata } = (await cluster.api.get(`${widgets()}/alpha`)).body
    expect(body.items[0]).toMatchObject({ metadata })
    expect(names(body)).toEqual(sorted)
  })
})

describe('the order of lists', () => {
  test.each(kinds)('a list is sorted by name on a $title kind', async ({ path }) => {
    expect(names((await list(path())).body)).toEqual(sorted)
  })

  test('a list of all namespaces is sorted by namespace, then by name', async () => {
    const other = await cluster.createNamespace('a')
    const labels = { 'list-order': cluster.namespace }
    const query = { labelSelector: `list-order=${cluster.namespace}` }
    for (const place of [cluster.namespace, other]) {
      for (const name of ['z', 'y']) {
        await cluster.api.post(`/api/v1/namespaces/${place}/secrets`, object('v1', 'Secret', { name, labels }))
      }
    }
    const { body } = await list('/api/v1/secrets', query)
    expect(body.items.map(({ metadata: { namespace, name } }) => [namespace, name])).toEqual([
      [other, 'y'],
      [other, 'z'],
      [cluster.namespace, 'y'],
      [cluster.namespace, 'z'],
    ])
  })
})

describe.each(kinds)('label selectors on a $title kind', ({ path }) => {
  test.each([
    ['app=web', ['alpha', 'beta']],
    ['app==web', ['alpha', 'beta']],
    ['app!=web', ['beta-2', 'beta.1', 'gamma']],
    ['app', ['alpha', 'beta', 'beta-2', 'beta.1']],
    ['!app', ['gamma']],
    ['app in (web)', ['alpha', 'beta']],
    ['app in (web,db)', ['alpha', 'beta', 'beta-2', 'beta.1']],
    ['app notin (web)', ['beta-2', 'beta.1', 'gamma']],
    ['tier notin (front,back)', ['beta-2', 'beta.1', 'gamma']],
    ['app=web,tier=front', ['alpha']],
    ['app=web,tier!=front', ['beta']],
    [' app = web , tier ', ['alpha', 'beta']],
    ['size>1', ['beta', 'beta.1']],
    ['size<10', ['alpha', 'beta']],
    ['app>1', []],
    ['example.com/part=x', ['beta-2']],
    ['example.com/part', ['beta-2']],
    ['app=', []],
    ['!app,!tier', ['gamma']],
    ['app in (web,web)', ['alpha', 'beta']],
    ['', sorted],
  ])('the label selector %j selects %j', async (labelSelector, expected) => {
    expect(names((await list(path(), { labelSelector })).body)).toEqual(expected)
  })

  test.each([
    ['x in', "unable to parse requirement: found '' expected: '('"],
    ['x in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['x notin (a,b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['=', "found '=', expected: !, identifier, or 'end of string'"],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['x !in (a)', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ['x,', "found '', expected: identifier after ','"],
    ['x=y,,z', "found ',', expected: identifier after ','"],
    ['x==y=z', "found '=', expected: ',' or 'end of string'"],
    [
      'x>a',
      `unable to parse requirement: values[0]: Invalid value: "a": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['-x', `unable to parse requirement: <nil>: Invalid value: "-x": ${namePart}`],
    ['a/b/c=d', `unable to parse requirement: <nil>: Invalid value: "a/b/c": ${labelKey}`],
    ['x=ü', `unable to parse requirement: values[0][x]: Invalid value: "ü": ${labelValue}`],
  ])('the label selector %j is malformed', async (labelSelector, message) => {
    expectFailure(await list(path(), { labelSelector }), 400, 'BadRequest', message)
  })
})

describe.each(kinds)('field selectors on a $title kind', ({ title, path }) => {
  test.each<[string, string[]]>([
    ['metadata.name=beta', ['beta']],
    ['metadata.name==beta', ['beta']],
    ['metadata.name!=beta', ['alpha', 'beta-2', 'beta.1', 'gamma']],
    ['metadata.name=none', []],
    ['metadata.name=', []],
    ['metadata.name=beta,metadata.name=alpha', []],
    ['metadata.name!=beta,metadata.name!=alpha', ['beta-2', 'beta.1', 'gamma']],
    ['metadata.namespace=default', []],
    ['metadata.namespace!=default', sorted],
  ])('the field selector %j selects %j', async (fieldSelector, expected) => {
    expect(names((await list(path(), { fieldSelector })).body)).toEqual(expected)
  })

  test('a field selector can be combined with a label selector', async () => {
    const query = { fieldSelector: 'metadata.name!=beta', labelSelector: 'app=web' }
    expect(names((await list(path(), query)).body)).toEqual(['alpha'])
  })

  test('a field selector selects a namespace in a list of all namespaces', async () => {
    const everywhere = path().replace(/namespaces\/[^/]+\//, '')
    const query = { fieldSelector: `metadata.namespace=${cluster.namespace}` }
    expect(names((await list(everywhere, query)).body)).toEqual(sorted)
  })

  test.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['metadata.name in (a)', "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['metadata.name=a\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('the field selector %j is malformed', async (fieldSelector, message) => {
    expectFailure(await list(path(), { fieldSelector }), 400, 'BadRequest', message)
  })

  test.each(['spec.x', 'metadata.uid', 'metadata.labels.app'])('the field %s cannot be selected by', async (field) => {
    const message =
      title === 'custom'
        ? `field label not supported: ${field}`
        : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
    expectFailure(await list(path(), { fieldSelector: `${field}=a` }), 400, 'BadRequest', message)
  })
})

describe.each(kinds)('pages of a list of a $title kind', ({ path }) => {
  test('the pages of a list follow each other to the end', async () => {
    const first = (await list(path(), { limit: 2 })).body
    expect(names(first)).toEqual(['alpha', 'beta'])
    expect(first.metadata).toMatchObject({ remainingItemCount: 3, continue: expect.stringMatching(/./) })
    const second = (await list(path(), { limit: 2, continue: first.metadata.continue! })).body
    expect(names(second)).toEqual(['beta-2', 'beta.1'])
    expect(second.metadata.remainingItemCount).toBe(1)
    const third = (await list(path(), { limit: 2, continue: second.metadata.continue! })).body
    expect(names(third)).toEqual(['gamma'])
    expect(third.metadata.continue ?? '').toBe('')
    expect(third.metadata).not.toHaveProperty('remainingItemCount')
    const versions = [first, second, third].map(({ metadata }) => metadata.resourceVersion)
    expect(new Set(versions).size).toBe(1)
  })

  test('a later page of a list may have a larger limit', async () => {
    const first = (await list(path(), { limit: 1 })).body
    const rest = (await list(path(), { continue: first.metadata.continue! })).body
    expect(names(rest)).toEqual(sorted.slice(1))
  })

  test('a list within its limit has no continue token', async () => {
    const { metadata } = (await list(path(), { limit: 5 })).body
    expect(metadata.continue ?? '').toBe('')
    expect(metadata).not.toHaveProperty('remainingItemCount')
  })

  test('a page of a list with a selector has no remainingItemCount', async () => {
    const first = (await list(path(), { limit: 1, labelSelector: 'app' })).body
    expect(names(first)).toEqual(['alpha'])
    expect(first.metadata.continue).toMatch(/./)
    expect(first.metadata).not.toHaveProperty('remainingItemCount')
    const rest = (await list(path(), { labelSelector: 'app', continue: first.metadata.continue! })).body
    expect(names(rest)).toEqual(['beta', 'beta-2', 'beta.1'])
  })

  test.each([0, -1])('a list with the limit %d is not paged', async (limit) => {
    expect(names((await list(path(), { limit })).body)).toEqual(sorted)
  })

  test('a list with the resourceVersion 0 is not paged', async () => {
    expect(names((await list(path(), { limit: 1, resourceVersion: 0 })).body)).toEqual(sorted)
  })

  test('the pages of a list show the state of the first page', async () => {
    const labels = { pages: 'snapshot' }
    const base = (await cluster.api.get(`${path()}/gamma`)).body
    const make = (name: string) => ({ ...base, metadata: { name, labels } })
    for (const name of ['p1', 'p2', 'p3']) expectStatus(await cluster.api.post(path(), make(name)), 201)
    const first = (await list(path(), { limit: 1, labelSelector: 'pages' })).body
    expectStatus(await cluster.api.delete(`${path()}/p2`), 200)
    expectStatus(await cluster.api.mergePatch(`${path()}/p3`, { metadata: { labels: { changed: 'yes' } } }), 200)
    expectStatus(await cluster.api.post(path(), make('p4')), 201)
    const rest = (await list(path(), { labelSelector: 'pages', continue: first.metadata.continue! })).body
    expect(names(rest)).toEqual(['p2', 'p3'])
    expect(rest.items[1]!.metadata.labels).toEqual(labels)
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    expectStatus(await cluster.api.delete(path(), { query: { labelSelector: 'pages' } }), 200)
  })

  const token = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url')

  test.each([
    [Buffer.from('nonsense').toString('base64url'), "invalid character 'o' in literal null (expecting 'u')"],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: '' }), 'encoded start key empty (version meta.k8s.io/v1)'],
    [token({ v: 'meta.k8s.io/v1', rv: 1, start: '../x' }), '../x'],
    [token({ v: 'v9', rv: 1, start: 'x' }), 'server does not recognize this encoded version v9'],
  ])('a list cannot continue from the malformed token %s', async (from, message) => {
    const why = `invalid continue token: continue key is not valid: ${message}`
    expectFailure(await list(path(), { continue: from }), 400, 'BadRequest', why)
  })

  test('a list cannot continue at another resourceVersion', async () => {
    const { metadata } = (await list(path(), { limit: 1 })).body
    const query = { continue: metadata.continue!, resourceVersion: metadata.resourceVersion }
    const message = 'specifying resource version is not allowed when using continue'
    expectFailure(await list(path(), query), 400, 'BadRequest', message)
  })

  test('a list with a malformed limit is refused', async () => {
    const answer = await list(path(), { limit: 'many' })
    expectFailure(answer, 400, 'BadRequest', 'strconv.ParseInt: parsing "many": invalid syntax')
  })
})

describe.each(kinds)('resourceVersion of a list of a $title kind', ({ path }) => {
  test('the resourceVersion of a list is not older than its objects', async () => {
    const { body } = await list(path())
    const version = BigInt(body.metadata.resourceVersion)
    expect(body.items.filter(({ metadata }) => BigInt(metadata.resourceVersion) > version)).toEqual([])
  })

  test('a list accepts any past resourceVersion', async () => {
    const { resourceVersion } = (await list(path())).body.metadata
    for (const query of [
      { resourceVersion: '0' },
      { resourceVersion: '1' },
      { resourceVersion },
      { resourceVersion, resourceVersionMatch: 'NotOlderThan' },
      { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' },
    ]) {
      expect(names((await list(path(), query)).body)).toEqual(sorted)
    }
  })

  test('a list with resourceVersionMatch Exact shows the state of that resourceVersion', async () => {
    const base = (await cluster.api.get(`${path()}/gamma`)).body
    const created = await cluster.api.post(path(), { ...base, metadata: { name: 'zeta', labels: { exact: 'yes' } } })
    const { resourceVersion } = created.body.metadata
    expectStatus(await cluster.api.mergePatch(`${path()}/zeta`, { metadata: { labels: { later: 'yes' } } }), 200)
    expectStatus(await cluster.api.delete(`${path()}/zeta`), 200)
    const query = { resourceVersion, resourceVersionMatch: 'Exact', labelSelector: 'exact' }
    const { body } = await list(path(), query)
    expect(body.metadata.resourceVersion).toBe(resourceVersion)
    expect(body.items.map(({ metadata }) => metadata.labels)).toEqual([{ exact: 'yes' }])
  })

  test('the pages of a list at an exact resourceVersion show that state', async () => {
    const before = (await list(path())).body.metadata.resourceVersion
    const base = (await cluster.api.get(`${path()}/gamma`)).body
    expectStatus(await cluster.api.post(path(), { ...base, metadata: { name: 'a-newcomer' } }), 201)
    const { body } = await list(path(), { resourceVersion: before, limit: 1 })
    expect(names(body)).toEqual(['alpha'])
    expect(body.metadata.resourceVersion).toBe(before)
    expectStatus(await cluster.api.delete(`${path()}/a-newcomer`), 200)
  })

  test.each(['abc', '-1', '1.5'])('a list with the resourceVersion %j is refused', async (resourceVersion) => {
    const why = `resourceVersion: Invalid value: "${resourceVersion}": strconv.ParseUint: parsing "${resourceVersion}": invalid syntax`
    const answer = await list(path(), { resourceVersion })
    expectFailure(answer, 400, 'BadRequest', `invalid resource version: ${why}`)
  })

  test.each([
    [
      { resourceVersionMatch: 'Exact' },
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      { resourceVersionMatch: 'NotOlderThan' },
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      { resourceVersionMatch: 'Exact', resourceVersion: '0' },
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      { resourceVersionMatch: 'Nonsense', resourceVersion: '1' },
      'resourceVersionMatch: Unsupported value: "Nonsense": supported values: "Exact", "NotOlderThan", ""',
    ],
    [{ sendInitialEvents: true }, 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
  ])('a list with the version options %j is refused', async (query, message) => {
    expectInvalid(await list(path(), query), { kind: 'ListOptions', group: 'meta.k8s.io' }, message)
  })
})

test('a list at a future resourceVersion times out', async () => {
  const answer = await list(configMaps(), { resourceVersion: '1000000000' })
  expect(answer.status).toBe(504)
  expect(answer.body).toMatchObject({
    reason: 'Timeout',
    message: expect.stringMatching(/^Timeout: Too large resource version: 1000000000, current: \d+$/),
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  })
})
