/** Read-only objects of handlers can be sent as they are, or copied by deepCopy in order to change them. */
import { adopt, deepCopy, Operator, resource } from 'kopf'
import type { ConfigMap as ConfigMapObject } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

interface Widget {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string; resourceVersion?: string; labels?: Record<string, string> }
  spec: { users: string[]; size?: number; more?: string[] }
}
const widgets = resource<Widget>(lab.widgets)

test('parts of a body can be passed to all verbs of the client, to a patch and as a result', async () => {
  const kopf = new Operator()
  kopf.on.create(widgets, { labels: { first: 'yes' } }, async ({ body, spec, client, patch, namespace }) => {
    const { apiVersion, kind } = body
    await client.create(widgets, { metadata: { name: 'created', namespace }, spec })
    await client.create({ apiVersion, kind, metadata: { name: 'replaced' }, spec: { users: [] as string[] } })
    const { metadata } = await client.get(widgets, 'replaced')
    await client.replace({ apiVersion, kind, metadata, spec })
    await client.apply(widgets, { metadata: { name: 'applied' }, spec })
    await client.create(widgets, { metadata: { name: 'patched', namespace }, spec: { users: [] } })
    await client.patch(widgets, 'patched', { spec })
    patch.spec.more = spec.users
    return { users: spec.users }
  })
  await lab.start(kopf)
  await lab.create('first', { metadata: { labels: { first: 'yes' } }, spec: { users: ['alice'] } })
  const first = await untilHandled(lab, 'first')
  for (const name of ['created', 'replaced', 'applied', 'patched']) {
    expect((await lab.get(name)).spec).toEqual({ users: ['alice'] })
  }
  expect(first.spec).toEqual({ users: ['alice'], more: ['alice'] })
  expect(first.status).toMatchObject({ create: { users: ['alice'] } })
})

test('a daemon can change a deepCopy of its live body, large or not, and replace the object by it', async () => {
  const kopf = new Operator()
  const errors: unknown[] = []
  kopf.daemon(widgets, async ({ body, spec, client, stopped }) => {
    const copy = deepCopy(body)
    const before = deepCopy(spec)
    copy.spec.users.push('bob')
    copy.spec.size = before.users.length
    await client.replace(widgets, copy).catch((error) => errors.push(error))
    await stopped.wait()
  })
  // Larger objects are kept as text, and parsed when they are read.
  const many = Array.from({ length: 2000 }, (_, index) => `user-${index}`)
  await lab.create('small', { spec: { users: ['alice'] } })
  await lab.create('large', { spec: { users: many } })
  await lab.start(kopf)
  const small = await lab.untilObject('small', ({ spec }) => spec['size'] !== undefined)
  const large = await lab.untilObject('large', ({ spec }) => spec['size'] !== undefined)
  expect(small.spec).toEqual({ users: ['alice', 'bob'], size: 1 })
  expect(large.spec).toEqual({ users: [...many, 'bob'], size: 2000 })
  expect(errors).toEqual([])
})

test('objects of kubernetes-types can be created, applied, adopted and reconciled', async () => {
  const kopf = new Operator()
  const configOf = (name: string): ConfigMapObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: lab.namespace },
    data: { a: 'b' },
  })
  kopf.on.create(widgets, async ({ body, client }) => {
    await client.create(adopt(configOf('created'), body))
    await client.apply(adopt(configOf('applied'), body))
  })
  kopf.reconcile(widgets, { owns: [resource<ConfigMapObject>('v1', 'configmaps')] }, () => ({
    children: [configOf('created'), configOf('applied'), configOf('reconciled')],
  }))
  await lab.start(kopf)
  await lab.create('one', { spec: { users: [] } })
  for (const name of ['created', 'applied', 'reconciled']) {
    const path = `/api/v1/namespaces/${lab.namespace}/configmaps/${name}`
    await lab.until(async () => (await lab.call('GET', path)).status === 200)
    expect((await lab.call('GET', path)).body).toMatchObject({ data: { a: 'b' } })
  }
})
