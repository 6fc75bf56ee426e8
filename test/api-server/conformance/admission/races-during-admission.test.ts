/** Changes by other clients while webhooks are called, and the reinvocation of mutating webhooks. */
import { afterEach, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'
import { modified } from '../../../support/messages.ts'
import { configMap } from '../../../support/objects.ts'
import { patching, reviewed } from '../../../support/webhook-server.ts'
import { useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const maps = () => cluster.core('configmaps')
const pathOf = (name: string) => `${maps()}/${name}`

afterEach(() => webhooks.clear())

/** Installs a webhook that runs `act` during its first call, as another client would. */
async function interrupt(
  kind: 'Validating' | 'Mutating',
  operation: string,
  act: () => Promise<unknown>,
): Promise<void> {
  let isFirst = true
  webhooks.server.on('/interrupt', async ({ review }) => {
    if (isFirst) {
      isFirst = false
      await act()
    }
    return reviewed(review)
  })
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: [operation], resources: ['configmaps'] }]
  const matchLabels = { reviewed: 'yes' }
  await webhooks.install(
    kind,
    'races',
    webhooks.hook('interrupt', '/interrupt', { rules, objectSelector: { matchLabels } }),
  )
}

const labels = { reviewed: 'yes' }
const create = async (name: string) =>
  expectStatus(await cluster.api.post(maps(), configMap({ name, labels }, { data: { a: '1' } })), 201)

/** The requests that the webhook has reviewed. */
const requests = () => webhooks.server.reviews('/interrupt').map(({ request }) => request)

describe.each(['Mutating', 'Validating'] as const)('concurrent changes during calls of %s webhooks', (kind) => {
  const named = (name: string) => `${name}-${kind.toLowerCase()}`

  test('a deletion is reviewed again with the new state when another client changes the object meanwhile', async () => {
    const name = named('deleted')
    await create(name)
    await interrupt(kind, 'DELETE', () => cluster.api.mergePatch(pathOf(name), { data: { a: '2' } }))
    expectStatus(await cluster.api.delete(pathOf(name)), 200)
    expect(requests()).toMatchObject([{ oldObject: { data: { a: '1' } } }, { oldObject: { data: { a: '2' } } }])
    expectStatus(await cluster.api.get(pathOf(name)), 404)
  })

  test('a patch is refused with 404 when another client deletes the object meanwhile', async () => {
    const name = named('gone')
    await create(name)
    await interrupt(kind, 'UPDATE', () => cluster.api.delete(pathOf(name)))
    const answer = await cluster.api.mergePatch(pathOf(name), { data: { b: '2' } })
    expectFailure(answer, 404, 'NotFound', `configmaps "${name}" not found`, { name, kind: 'configmaps' })
  })

  test('a creation is refused with 409 when another client creates the object meanwhile', async () => {
    const name = named('taken')
    const other = configMap(name, { data: { by: 'other' } })
    await interrupt(kind, 'CREATE', () => cluster.api.post(maps(), other))
    const answer = await cluster.api.post(maps(), configMap({ name, labels }))
    expectFailure(answer, 409, 'AlreadyExists', `configmaps "${name}" already exists`, { name, kind: 'configmaps' })
    expect(expectStatus(await cluster.api.get(pathOf(name)), 200)['data']).toEqual({ by: 'other' })
  })

  /** The webhook reviews this change too, and allows it at once. */
  const change = (name: string) => cluster.api.mergePatch(pathOf(name), { data: { other: 'yes' } })

  test('an update without a resourceVersion is repeated on the new state when another client changes the object meanwhile', async () => {
    const name = named('update')
    await create(name)
    await interrupt(kind, 'UPDATE', () => change(name))
    const answer = await cluster.api.put(pathOf(name), configMap({ name, labels }, { data: { mine: 'yes' } }))
    expect(expectStatus(answer, 200)['data']).toEqual({ mine: 'yes' })
    expect(requests().at(-1)).toMatchObject({
      object: { data: { mine: 'yes' } },
      oldObject: { data: { a: '1', other: 'yes' } },
    })
  })

  test('a patch is applied to the new state when another client changes the object meanwhile', async () => {
    const name = named('patch')
    await create(name)
    await interrupt(kind, 'UPDATE', () => change(name))
    const answer = await cluster.api.mergePatch(pathOf(name), { data: { mine: 'yes' } })
    expect(expectStatus(answer, 200)['data']).toEqual({ a: '1', mine: 'yes', other: 'yes' })
    expect(requests().at(-1)).toMatchObject({ object: { data: { a: '1', mine: 'yes', other: 'yes' } } })
  })

  test('an update with a resourceVersion is a conflict when another client changes the object meanwhile', async () => {
    const name = named('conflict')
    const { metadata } = await create(name)
    const { resourceVersion } = metadata
    await interrupt(kind, 'UPDATE', () => change(name))
    const answer = await cluster.api.put(pathOf(name), configMap({ name, labels, resourceVersion }))
    const message = `Operation cannot be fulfilled on configmaps "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, { name, kind: 'configmaps' })
  })
})

describe('reinvocation of mutating webhooks', () => {
  const mine = { objectSelector: { matchLabels: { reinvoked: 'yes' } } }

  /** Installs mutating webhooks. Each adds its letter to the data, unless it is present or upper case. */
  async function install(
    ...hooks: ReadonlyArray<[letter: string, policy: 'Never' | 'IfNeeded']>
  ): Promise<() => string> {
    const asked: string[] = []
    const installed = hooks.map(([letter, reinvocationPolicy]) => {
      webhooks.server.on(`/${letter}`, ({ review }) => {
        asked.push(letter)
        const { data } = review.request['object'] as { data: Tree }
        if (letter in data || letter === letter.toUpperCase()) return reviewed(review)
        return reviewed(review, patching({ op: 'add', path: `/data/${letter}`, value: Object.keys(data).join('') }))
      })
      return webhooks.hook(`hook-${letter.toLowerCase()}`, `/${letter}`, { ...mine, reinvocationPolicy })
    })
    await webhooks.install('Mutating', 'reinvoked', ...installed)
    return () => asked.join('')
  }

  const post = async (name: string) => {
    const body = configMap({ name, labels: { reinvoked: 'yes' } }, { data: { x: '' } })
    return expectStatus(await cluster.api.post(maps(), body), 201)['data']
  }

  test('a mutating webhook with reinvocationPolicy IfNeeded is called again after a later webhook changed the object', async () => {
    const asked = await install(['a', 'IfNeeded'], ['b', 'Never'])
    expect(await post('again')).toEqual({ x: '', a: 'x', b: 'ax' })
    expect(asked()).toBe('aba')
  })

  test('a mutating webhook is called once when no later webhook changed the object', async () => {
    const asked = await install(['A', 'Never'], ['b', 'IfNeeded'], ['C', 'IfNeeded'])
    await post('once')
    expect(asked()).toBe('AbC')
  })

  test('a mutating webhook is called twice at most', async () => {
    const asked = await install(['a', 'IfNeeded'], ['b', 'IfNeeded'], ['c', 'IfNeeded'])
    await post('twice')
    expect(asked()).toBe('abcab')
  })

  test('a mutating webhook is selected by labels that an earlier webhook has set', async () => {
    const add = { op: 'add', path: '/metadata/labels/second', value: 'yes' }
    webhooks.server.on('/first', ({ review }) => reviewed(review, patching(add)))
    webhooks.server.on('/second', ({ review }) => reviewed(review))
    const second = { objectSelector: { matchLabels: { second: 'yes' } } }
    await webhooks.install(
      'Mutating',
      'labels',
      webhooks.hook('first', '/first', mine),
      webhooks.hook('second', '/second', second),
    )
    await post('labels')
    expect(webhooks.server.asked('/second')).toHaveLength(1)
  })
})

test('validating webhooks are called in parallel', async () => {
  const waiting: Array<() => void> = []
  const meet = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 3) for (const go of waiting) go()
    })
  const hooks = ['a', 'b', 'c'].map((name) => {
    webhooks.server.on(`/meet-${name}`, async ({ review }) => {
      await meet()
      return reviewed(review, { warnings: [name] })
    })
    return webhooks.hook(`meet-${name}`, `/meet-${name}`, { objectSelector: { matchLabels: { meet: 'yes' } } })
  })
  await webhooks.install('Validating', 'meeting', ...hooks)
  expectStatus(await cluster.api.post(maps(), configMap({ name: 'meeting', labels: { meet: 'yes' } })), 201)
  expect(waiting).toHaveLength(3)
})
