/** The arguments of a daemon are live views of its object; changes go into its patch. */
import { inspect } from 'node:util'
import { buildOwnerReference, Operator, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { settle, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Views {
  readonly body: { readonly spec?: unknown; readonly metadata: { readonly generation?: number } }
  readonly spec: Readonly<Record<string, unknown>>
  readonly status: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>>
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** The views that the daemon of `one` got when it was started. */
async function given(fields: object): Promise<Views> {
  const kopf = new Operator()
  let views: Views | undefined
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ body, spec, status, meta, labels, annotations, stopped }) => {
    views = { body, spec, status, meta, labels, annotations } as Views
    await stopped.wait()
  })
  await lab.start(kopf)
  await lab.create('one', { ...fields })
  await lab.until(() => views !== undefined)
  await settle(lab)
  return views!
}

test('the views of a daemon follow all parts of the object, and behave like plain objects', async () => {
  const { body, spec, status, meta, labels, annotations } = await given({
    spec: { n: 1, list: [1, 2], inner: { a: 1 } },
    metadata: { labels: { l: 'a' }, annotations: { a: 'x' } },
  })
  expect(spec).toEqual({ n: 1, list: [1, 2], inner: { a: 1 } })
  expect(status).toEqual({})
  await lab.patch('one', {
    spec: { n: 2, list: [3], extra: null, inner: { b: 2 } },
    metadata: { labels: { l: null, m: 'b' }, annotations: { a: 'y' } },
  })
  await lab.patch('one', { status: { phase: 'Ready' } }, '/status')
  await lab.until(() => status['phase'] === 'Ready')
  expect(JSON.parse(JSON.stringify(spec))).toEqual({ n: 2, list: [3], inner: { a: 1, b: 2 } })
  expect(Object.keys(spec).toSorted()).toEqual(['inner', 'list', 'n'])
  expect({ ...spec }).toEqual({ n: 2, list: [3], inner: { a: 1, b: 2 } })
  expect(Object.entries(labels)).toEqual([['m', 'b']])
  expect('l' in labels).toBe(false)
  expect('m' in labels).toBe(true)
  expect(annotations['a']).toBe('y')
  expect(meta['generation']).toBe(body.metadata.generation)
  expect(meta['name']).toBe('one')
  expect(body.spec).toEqual(spec)
  expect(JSON.parse(JSON.stringify(body))).toEqual(await withoutManagedFields())
  expect(inspect(status)).toBe("{ phase: 'Ready' }")
})

async function withoutManagedFields(): Promise<object> {
  const { metadata, ...rest } = await lab.get('one')
  const { managedFields: _, ...kept } = metadata as typeof metadata & { managedFields?: unknown }
  return { ...rest, metadata: kept }
}

test('a view of a daemon is empty while its part of the object is missing', async () => {
  const { spec, labels, annotations, status } = await given({
    spec: { n: 1 },
    metadata: { labels: { l: 'a' }, annotations: { a: 'x' } },
  })
  await lab.patch('one', { spec: null, metadata: { labels: null, annotations: null } })
  await lab.until(() => Object.keys(spec).length === 0)
  expect([spec, labels, annotations, status].map((view) => JSON.stringify(view))).toEqual(['{}', '{}', '{}', '{}'])
  expect(spec['n']).toBeUndefined()
  await lab.patch('one', { spec: { n: 3 }, metadata: { labels: { l: 'b' } } })
  await lab.until(() => spec['n'] === 3)
  expect({ ...labels }).toEqual({ l: 'b' })
})

test('a view of a daemon is empty if its part is not an object', async () => {
  const { spec, status } = await given({ spec: 'a word', status: 7 })
  expect(Object.keys(spec)).toEqual([])
  expect(Object.keys(status)).toEqual([])
})

test('a daemon sees its own writes and the deletion of the object at once', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ spec, meta, patch, retry, stopped }) => {
    seen.push(spec['n'])
    if (retry === 0) {
      patch.spec['n'] = 2
      throw new TemporaryError('Now', { delay: 0 })
    }
    await stopped.wait()
    seen.push(typeof meta.deletionTimestamp)
  })
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await lab.until(() => seen.length === 2)
  await lab.delete('one')
  await lab.untilGone('one')
  expect(seen).toEqual([1, 2, 'string'])
})

test('the views of a daemon can be returned, put into a patch, and sent by the client', async () => {
  const kopf = new Operator()
  await lab.create('other', { spec: {}, metadata: { labels: { plain: 'yes' } } })
  const options = { id: 'd', annotations: { daemon: 'yes' } } as const
  kopf.daemon(lab.widgets, options, async ({ body, spec, labels, patch, client }) => {
    await client.patch(lab.widgets, 'other', {
      spec,
      metadata: { labels, ownerReferences: [buildOwnerReference(body)] },
    })
    patch.status['copy'] = spec
    return { spec, labels }
  })
  await lab.start(kopf)
  const { metadata } = await lab.create('one', {
    spec: { n: 1, inner: { a: [1] } },
    metadata: { labels: { l: 'a' }, annotations: { daemon: 'yes' } },
  })
  const { status } = await lab.untilObject('one', (body) => body['status'] !== undefined)
  const copy = { n: 1, inner: { a: [1] } }
  expect(status).toEqual({ copy, d: { spec: copy, labels: { l: 'a' } } })
  const other = await lab.get('other')
  expect(other['spec']).toEqual(copy)
  expect(other.metadata.labels).toEqual({ plain: 'yes', l: 'a' })
  expect(other.metadata.ownerReferences).toMatchObject([{ name: 'one', uid: metadata.uid, kind: 'Widget' }])
})

describe('read-only views', () => {
  type Given = {
    spec: Record<string, unknown>
    body: { spec: Record<string, unknown> }
    labels: Record<string, string>
  }
  const set = (target: object, key: string, value: unknown): void => {
    ;(target as Record<string, unknown>)[key] = value
  }
  const attempts: readonly [string, (given: Given) => void][] = [
    ['setting a field', ({ spec }) => set(spec, 'n', 2)],
    ['adding a field', ({ spec }) => set(spec, 'new', 2)],
    ['setting a label', ({ labels }) => set(labels, 'l', 'b')],
    ['deleting a field', ({ spec }) => void delete spec['n']],
    ['setting a nested field', ({ spec }) => set(spec['inner'] as object, 'a', 2)],
    ['adding to a list', ({ spec }) => void (spec['list'] as number[]).push(3)],
    ['setting a field of the body', ({ body }) => set(body.spec, 'n', 2)],
    ['replacing a part of the body', ({ body }) => set(body, 'spec', {})],
    ['Object.assign', ({ spec }) => void Object.assign(spec, { n: 2 })],
    ['Object.defineProperty', ({ spec }) => void Object.defineProperty(spec, 'n', { value: 2 })],
  ]

  test.each(attempts)('the views of a daemon refuse %s', async (_, change) => {
    const kopf = new Operator()
    kopf.daemon(lab.widgets, { id: 'd', errors: 'permanent' }, (args) => change(args as unknown as Given))
    await lab.start(kopf)
    const before = { n: 1, inner: { a: 1 }, list: [1, 2] }
    await lab.create('one', { spec: before, metadata: { labels: { l: 'a' } } })
    await lab.untilLogged('(the object is read-only: put what should change into "patch")')
    const { spec, metadata } = await lab.untilObject('one', (body) => body.metadata.finalizers === undefined)
    expect(spec).toEqual(before)
    expect(metadata.labels).toEqual({ l: 'a' })
  })
})

describe('patches', () => {
  test('the patch of a daemon is written after each attempt, failed or not, and is empty before the next', async () => {
    const kopf = new Operator()
    const empties: boolean[] = []
    kopf.daemon(lab.widgets, { id: 'd', backoff: 0.1 }, async ({ patch, retry, stopped }) => {
      empties.push(patch.isEmpty)
      patch.status[`attempt${retry}`] = retry
      patch.metadata.labels[`attempt${retry}`] = 'made'
      patch.fns.push((body) => {
        const list = (body as { list?: number[] }).list ?? []
        if (!list.includes(retry)) Object.assign(body, { list: [...list, retry] })
      })
      if (retry === 0) throw new TemporaryError('Again', { delay: 0.1 })
      if (retry === 1) throw new Error('Again')
      await stopped.wait(0.2)
      return 'done'
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    const first = await lab.untilObject('one', ({ metadata }) => metadata.labels?.['attempt1'] !== undefined)
    expect(first['list']).toEqual([0, 1])
    const last = await lab.untilObject('one', ({ metadata }) => metadata.finalizers === undefined)
    expect(last['status']).toEqual({ attempt0: 0, attempt1: 1, attempt2: 2, d: 'done' })
    expect(last['list']).toEqual([0, 1, 2])
    expect(last.metadata.labels).toEqual({ attempt0: 'made', attempt1: 'made', attempt2: 'made' })
    expect(empties).toEqual([true, true, true])
  })

  test('the patch and the result of a daemon trigger update handlers', async () => {
    const kopf = new Operator()
    const seen: unknown[] = []
    kopf.daemon(lab.widgets, { id: 'd', initialDelay: 0.2 }, ({ patch }) => {
      patch.spec['size'] = 5
      return { done: true }
    })
    kopf.on.create(lab.widgets, { id: 'c' }, () => {})
    kopf.on.update(lab.widgets, { id: 'u' }, ({ diff, status }) => void seen.push([diff, status['d']]))
    await lab.start(kopf)
    await lab.create('one', { spec: { size: 1 } })
    await lab.until(() => seen.length === 1)
    expect(seen).toEqual([[[['change', ['spec', 'size'], 1, 5]], { done: true }]])
  })

  test('the patch of a daemon is not written if it is empty or changes nothing', async () => {
    const kopf = new Operator()
    let calls = 0
    kopf.daemon(lab.widgets, { id: 'd' }, async ({ patch, stopped, spec }) => {
      calls += 1
      patch.spec['n'] = spec['n']
      patch.metadata.labels = {}
      patch.fns.push(() => {})
      if (calls === 1) throw new TemporaryError('Again', { delay: 0.1 })
      await stopped.wait()
      return undefined
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    await lab.create('one', { spec: { n: 1 } })
    await lab.until(() => calls === 2)
    await settle(lab)
    expect(wire.writes()).toHaveLength(1)
  })
})
