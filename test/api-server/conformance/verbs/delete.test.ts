/** Deleting one object or many: options, preconditions, finalizers, and the bodies of the answers. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, timestamp } from '../../../support/expectations.ts'
import { noSuchMethod, unknownFormat } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

let count = 100

beforeAll(() => cluster.install({ kind: 'Widget' }))

const kinds = [
  { title: 'built-in', path: configMaps, make: configMap, group: () => '', plural: 'configmaps', kind: 'ConfigMap' },
  { title: 'custom', path: widgets, make: widget, group: () => cluster.group, plural: 'widgets', kind: 'Widget' },
]

describe.each(kinds)('deletions of a $title kind', ({ title, path, make, group, plural, kind }) => {
  const grouped = () => (group() === '' ? {} : { group: group() })
  const suffix = () => (group() === '' ? '' : `.${group()}`)

  async function create(metadata: Tree = {}): Promise<Body> {
    return expectStatus(await cluster.api.post(path(), make({ name: `object-${++count}`, ...metadata })), 201)
  }

  const pathOf = ({ metadata }: Body) => `${path()}/${metadata.name}`

  test('a deletion answers with a Status that names the deleted object', async () => {
    const created = await create()
    const answer = await cluster.api.delete(pathOf(created))
    const { name, uid } = created.metadata
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name, ...grouped(), kind: plural, uid },
    })
    expect((await cluster.api.get(pathOf(created))).status).toBe(404)
  })

  test('a second deletion of an object is answered with 404', async () => {
    const created = await create()
    expectStatus(await cluster.api.delete(pathOf(created)), 200)
    const { name } = created.metadata
    const details = { name, ...grouped(), kind: plural }
    const answer = await cluster.api.delete(pathOf(created))
    expectFailure(answer, 404, 'NotFound', `${plural}${suffix()} "${name}" not found`, details)
  })

  test('a deletion frees the name for another object', async () => {
    const first = await create()
    expectStatus(await cluster.api.delete(pathOf(first)), 200)
    const second = expectStatus(await cluster.api.post(path(), make(first.metadata.name)), 201)
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
  })

  test('a deletion with another uid is a conflict', async () => {
    const created = await create()
    const { name, uid } = created.metadata
    const answer = await cluster.api.delete(pathOf(created), { body: { preconditions: { uid: 'other' } } })
    const why =
      `the UID in the precondition (other) does not match the UID in record (${uid}). ` +
      'The object might have been deleted and then recreated'
    const message = `Operation cannot be fulfilled on ${kind}${suffix()} "${name}": ${why}`
    expectFailure(answer, 409, 'Conflict', message, { name, ...grouped(), kind })
    expect((await cluster.api.get(pathOf(created))).status).toBe(200)
    expect((await cluster.api.delete(pathOf(created), { body: { preconditions: { uid } } })).status).toBe(200)
  })

  test('a deletion with another resourceVersion is a conflict', async () => {
    const created = await create()
    const { name, resourceVersion } = created.metadata
    const answer = await cluster.api.delete(pathOf(created), { body: { preconditions: { resourceVersion: '1' } } })
    const why =
      `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). ` +
      'The object might have been modified'
    const message = `Operation cannot be fulfilled on ${kind}${suffix()} "${name}": ${why}`
    expectFailure(answer, 409, 'Conflict', message, { name, ...grouped(), kind })
    const preconditions = { resourceVersion }
    expect((await cluster.api.delete(pathOf(created), { body: { preconditions } })).status).toBe(200)
  })

  test.each<[string, Tree]>([
    ['by the query', { query: { dryRun: 'All' } }],
    ['by the body', { body: { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] } }],
  ])('a dry run of a deletion deletes nothing when requested %s', async (_, options) => {
    const created = await create()
    const answer = await cluster.api.delete(pathOf(created), options)
    expect(answer.body).toMatchObject({ kind: 'Status', status: 'Success' })
    expect((await cluster.api.get(pathOf(created))).body).toEqual(created)
  })

  test.each<[string, () => Tree]>([
    ['no kind', () => ({})],
    ['the kind DeleteOptions of v1', () => ({ kind: 'DeleteOptions', apiVersion: 'v1' })],
    ['the kind DeleteOptions of meta.k8s.io', () => ({ kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' })],
    ['the kind DeleteOptions of its own group', () => ({ kind: 'DeleteOptions', apiVersion: `${cluster.group}/v1` })],
    ['a grace period on a kind that ignores it', () => ({ gracePeriodSeconds: 30 })],
  ])('a deletion accepts options with %s', async (_, body) => {
    const created = await create()
    expect((await cluster.api.delete(pathOf(created), { body: body() })).status).toBe(200)
    expect((await cluster.api.get(pathOf(created))).status).toBe(404)
  })

  test.each<[string, Tree, string]>([
    [
      'an unknown propagationPolicy',
      { propagationPolicy: 'Nonsense' },
      'propagationPolicy: Unsupported value: "Nonsense": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      'both orphanDependents and propagationPolicy',
      { propagationPolicy: 'Orphan', orphanDependents: true },
      'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
    ['an unknown dryRun value', { dryRun: ['Some'] }, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
  ])('a deletion refuses options with %s', async (_, body, message) => {
    const created = await create()
    const answer = await cluster.api.delete(pathOf(created), { body })
    expectInvalid(answer, { kind: 'DeleteOptions', group: 'meta.k8s.io' }, message)
    expect((await cluster.api.get(pathOf(created))).status).toBe(200)
  })

  test.each<[string, Tree, string]>([
    [
      'another kind',
      { body: { kind: 'Other', apiVersion: 'v1' } },
      'no kind "Other" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    ['incomplete JSON', { body: '{' }, "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    [
      'text for a number',
      { body: { gracePeriodSeconds: 'long' } },
      'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      'text for a number in the query',
      { query: { gracePeriodSeconds: 'long' } },
      'strconv.ParseInt: parsing "long": invalid syntax',
    ],
  ])('a deletion cannot decode options with %s', async (_, options, message) => {
    const created = await create()
    expectFailure(await cluster.api.delete(pathOf(created), options), 400, 'BadRequest', message)
    expect((await cluster.api.get(pathOf(created))).status).toBe(200)
  })

  test('a deletion with options in an unknown format is answered with 415', async () => {
    const created = await create()
    const answer = await cluster.api.delete(pathOf(created), { body: '{}', contentType: 'text/plain' })
    expectFailure(answer, 415, 'UnsupportedMediaType', unknownFormat)
  })

  describe('deletions of objects with finalizers', () => {
    const finalizers = ['example.com/last-will']

    test('a deletion of an object with finalizers sets deletionTimestamp and answers with the object', async () => {
      const created = await create({ finalizers })
      const answer = await cluster.api.delete(pathOf(created))
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        ...created,
        metadata: {
          ...created.metadata,
          resourceVersion: answer.body.metadata.resourceVersion,
          deletionTimestamp: timestamp,
          deletionGracePeriodSeconds: 0,
          // The deletionTimestamp raises the generation of custom objects.
          ...(title === 'custom' ? { generation: 2 } : {}),
        },
      })
      expect((await cluster.api.get(pathOf(created))).body).toEqual(answer.body)
      expect(BigInt(answer.body.metadata.resourceVersion) > BigInt(created.metadata.resourceVersion)).toBe(true)
    })

    test('a second deletion of an object with finalizers changes nothing', async () => {
      const created = await create({ finalizers })
      const first = await cluster.api.delete(pathOf(created))
      const second = await cluster.api.delete(pathOf(created))
      expect(second.status).toBe(200)
      expect(second.body).toEqual(first.body)
    })

    test('the object is gone when a patch removes its last finalizer', async () => {
      const created = await create({ finalizers: [...finalizers, 'example.com/other'] })
      expectStatus(await cluster.api.delete(pathOf(created)), 200)
      const first = await cluster.api.mergePatch(pathOf(created), { metadata: { finalizers } })
      expect(first.body.metadata.finalizers).toEqual(finalizers)
      expect((await cluster.api.get(pathOf(created))).status).toBe(200)
      const last = await cluster.api.mergePatch(pathOf(created), { metadata: { finalizers: null } })
      expect(last.status).toBe(200)
      // The removal of the last finalizer is not stored: the object is deleted with its previous resourceVersion.
      const { finalizers: _, ...metadata } = first.body.metadata
      expect(last.body).toEqual({ ...first.body, metadata })
      expect((await cluster.api.get(pathOf(created))).status).toBe(404)
    })

    test('the object is gone when an update removes its last finalizer', async () => {
      const created = await create({ finalizers })
      const { body } = await cluster.api.delete(pathOf(created))
      const answer = await cluster.api.put(pathOf(created), { ...body, metadata: { ...body.metadata, finalizers: [] } })
      expect(answer.status).toBe(200)
      expect((await cluster.api.get(pathOf(created))).status).toBe(404)
    })

    test('the removal of the last finalizer before the deletion does not delete the object', async () => {
      const created = await create({ finalizers })
      expectStatus(await cluster.api.mergePatch(pathOf(created), { metadata: { finalizers: [] } }), 200)
      expect((await cluster.api.get(pathOf(created))).body.metadata).not.toHaveProperty('finalizers')
    })

    test('an object that is being deleted accepts no new finalizers', async () => {
      const created = await create({ finalizers })
      expectStatus(await cluster.api.delete(pathOf(created)), 200)
      const patch = { metadata: { finalizers: [...finalizers, 'example.com/late'] } }
      const answer = await cluster.api.mergePatch(pathOf(created), patch)
      const why =
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/late"}'
      const subject = { kind, group: group(), name: created.metadata.name }
      expectInvalid(answer, subject, `metadata.finalizers: Forbidden: ${why}`)
    })

    test('an object that is being deleted accepts other changes', async () => {
      const created = await create({ finalizers })
      expectStatus(await cluster.api.delete(pathOf(created)), 200)
      const { body } = await cluster.api.mergePatch(pathOf(created), { metadata: { labels: { a: 'b' } } })
      expect(body.metadata).toMatchObject({ labels: { a: 'b' }, deletionTimestamp: timestamp })
    })

    test('the deletionTimestamp of an object cannot be removed', async () => {
      const created = await create({ finalizers })
      const { deletionTimestamp } = (await cluster.api.delete(pathOf(created))).body.metadata
      const patch = { metadata: { deletionTimestamp: null, deletionGracePeriodSeconds: null } }
      const { body } = await cluster.api.mergePatch(pathOf(created), patch)
      expect(body.metadata).toMatchObject({ deletionTimestamp, deletionGracePeriodSeconds: 0 })
    })

    test('the name of an object that is being deleted stays taken', async () => {
      const created = await create({ finalizers })
      const { name } = created.metadata
      expectStatus(await cluster.api.delete(pathOf(created)), 200)
      const answer = await cluster.api.post(path(), make(name))
      const message = `object is being deleted: ${plural}${suffix()} "${name}" already exists`
      expectFailure(answer, 409, 'AlreadyExists', message, { name, ...grouped(), kind: plural })
    })

    test('a dry run of a deletion sets no deletionTimestamp on an object with finalizers', async () => {
      const created = await create({ finalizers })
      const answer = await cluster.api.delete(pathOf(created), { query: { dryRun: 'All' } })
      expect(answer.body.metadata.deletionTimestamp).toEqual(timestamp)
      expect((await cluster.api.get(pathOf(created))).body).toEqual(created)
    })
  })

  describe('deletions of a collection', () => {
    const names = (list: Body) => list.items.map(({ metadata }) => metadata.name)

    test('the deletion of a collection answers with the list of deleted objects', async () => {
      const labels = { batch: `a-${++count}` }
      const first = await create({ labels })
      const second = await create({ labels })
      const answer = await cluster.api.delete(path(), { query: { labelSelector: `batch=${labels.batch}` } })
      expect(answer.status).toBe(200)
      expect(answer.body.kind).toBe(`${kind}List`)
      expect(answer.body.items.map(({ metadata }) => metadata)).toEqual([first.metadata, second.metadata])
      const left = (await cluster.api.get(path(), { labelSelector: `batch=${labels.batch}` })).body
      expect(left.items).toEqual([])
    })

    test('the deletion of a collection deletes only objects that match the field selector', async () => {
      const first = await create()
      const second = await create()
      const query = { fieldSelector: `metadata.name=${first.metadata.name}` }
      const { body } = await cluster.api.delete(path(), { query })
      expect(names(body)).toEqual([first.metadata.name])
      expect((await cluster.api.get(pathOf(first))).status).toBe(404)
      expect((await cluster.api.get(pathOf(second))).status).toBe(200)
    })

    test('the deletion of a collection keeps objects with finalizers', async () => {
      const labels = { batch: `b-${++count}` }
      const finalizers = ['example.com/last-will']
      await create({ labels })
      const held = await create({ labels, finalizers })
      expectStatus(await cluster.api.delete(path(), { query: { labelSelector: `batch=${labels.batch}` } }), 200)
      const left = (await cluster.api.get(path(), { labelSelector: `batch=${labels.batch}` })).body
      expect(names(left)).toEqual([held.metadata.name])
      expect(left.items[0]!.metadata.deletionTimestamp).toEqual(timestamp)
    })

    test('a dry run of the deletion of a collection deletes nothing', async () => {
      const batch = `c-${++count}`
      const created = await create({ labels: { batch } })
      const query = { labelSelector: `batch=${batch}`, dryRun: 'All' }
      expect(names((await cluster.api.delete(path(), { query })).body)).toEqual([created.metadata.name])
      expect((await cluster.api.get(pathOf(created))).body).toEqual(created)
    })

    test('the deletion of a collection with no match deletes nothing', async () => {
      const { body } = await cluster.api.delete(path(), { query: { labelSelector: 'batch=none' } })
      expect(body.items).toEqual([])
    })

    test('the deletion of a collection with a malformed selector is refused', async () => {
      const answer = await cluster.api.delete(path(), { query: { labelSelector: 'a in' } })
      expectFailure(answer, 400, 'BadRequest', "unable to parse requirement: found '' expected: '('")
    })
  })
})

test('the API server answers 405 to the deletion of a built-in collection in all namespaces', async () => {
  expectFailure(await cluster.api.delete('/api/v1/configmaps'), 405, 'MethodNotAllowed', noSuchMethod, {})
})

test('a deletion in a missing namespace is answered with 404', async () => {
  const answer = await cluster.api.delete('/api/v1/namespaces/nowhere/configmaps/none')
  expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
})
