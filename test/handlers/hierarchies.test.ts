import { adopt, isAlreadyExists, isNotFound, label, Operator, resource } from 'kopf'
import type { ConfigMap } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'
const ConfigMaps = resource<ConfigMap>('v1', 'configmaps')
const configMapsPath = `/api/v1/namespaces/${lab.namespace}/configmaps`

function isHandled({ metadata }: Body): boolean {
  return lastHandled in (metadata.annotations ?? {})
}

test('an object that a handler adopts and creates is a child of its object', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'parent' }, async ({ body, client, name }) => {
    const child = adopt({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { of: name } }, body, {
      strict: true,
    })
    const created = await client.create(child)
    return { child: (created as unknown as Body).metadata.name }
  })
  await lab.start(kopf)
  const parent = await lab.create('parent', { metadata: { labels: { app: 'web' } } })
  const { status } = await lab.untilObject('parent', isHandled)
  expect(status).toEqual({ create: { child: 'parent' } })
  const { body: child } = await lab.call('GET', `${configMapsPath}/parent`)
  expect(child['data']).toEqual({ of: 'parent' })
  expect(child.metadata).toMatchObject({
    name: 'parent',
    namespace: lab.namespace,
    labels: { app: 'web' },
    ownerReferences: [
      {
        apiVersion: `${lab.group}/v1`,
        kind: 'Widget',
        name: 'parent',
        uid: parent.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  })
})

test('an adopted child without a name gets generateName, and its pod template gets the labels', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'generating' }, async ({ body, client }) => {
    const template = { metadata: {} as { labels?: object }, data: {} }
    const [first, second] = adopt(
      [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels: { own: 'kept' } } },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'named' }, spec: { template } },
      ],
      body,
      { nested: ['spec.template'] },
    )
    const labelled = label(first as object, { extra: 'label' }, { forced: true })
    const created = (await client.create(labelled as never)) as Body
    const { spec } = second as unknown as { spec: { template: typeof template } }
    return { name: created.metadata.name, labels: created.metadata.labels, template: spec.template.metadata.labels }
  })
  await lab.start(kopf)
  await lab.create('generating', { metadata: { labels: { app: 'web' } } })
  const { status } = await lab.untilObject('generating', isHandled)
  expect(status).toEqual({
    create: {
      name: expect.stringMatching(/^generating-\w+$/),
      labels: { own: 'kept', app: 'web', extra: 'label' },
      template: { app: 'web' },
    },
  })
})

test('the client of a handler defaults to the namespace of its object', async () => {
  const said: unknown[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'client' }, async ({ client, resource: own, name }) => {
    const created = await client.create(ConfigMaps, {
      metadata: { name: 'mine', labels: { of: 'client' } },
      data: { color: 'blue' },
    })
    const color: string | undefined = created.data?.['color']
    said.push(color)
    said.push((await client.get(ConfigMaps, 'mine')).data)
    said.push((await client.list(ConfigMaps, { labelSelector: { of: 'client' } })).map((one) => one.metadata?.name))
    said.push((await client.list('configmaps', { labelSelector: 'of=nobody' })).length)
    said.push((await client.patch(ConfigMaps, 'mine', { data: { color: 'red', shape: 'round' } })).data)
    said.push((await client.patch(ConfigMaps, 'mine', [{ op: 'remove', path: '/data/shape' }])).data)
    const current = await client.get(ConfigMaps, 'mine')
    said.push((await client.replace(ConfigMaps, { ...current, data: { color: 'green' } })).data)
    said.push((await client.get(own, name)).metadata.name)
    await client.create(ConfigMaps, { metadata: { name: 'mine' } }).catch((error) => said.push(isAlreadyExists(error)))
    said.push(await client.delete(ConfigMaps, 'mine'))
    await client.get(ConfigMaps, 'mine').catch((error) => said.push(isNotFound(error)))
    const namespace = await client.get('namespaces', lab.namespace)
    said.push(namespace.kind)
    const elsewhere = await client.list('configmaps', { namespace: 'default', labelSelector: 'of=client' })
    said.push(elsewhere.length)
  })
  await lab.start(kopf)
  await lab.create('client')
  await lab.untilObject('client', isHandled)
  expect(said).toEqual([
    'blue',
    { color: 'blue' },
    ['mine'],
    0,
    { color: 'red', shape: 'round' },
    { color: 'red' },
    { color: 'green' },
    'client',
    true,
    undefined,
    true,
    'Namespace',
    0,
  ])
})

test('the owner references of a watched child lead to its parent', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'watcher' }, async ({ body, client }) => {
    await client.create(adopt({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'watched-child' } }, body))
  })
  kopf.on.event('configmaps', ({ name, meta }) => {
    for (const owner of meta.ownerReferences ?? []) seen.push(`${name} of ${owner.name}`)
  })
  await lab.start(kopf)
  await lab.create('watcher')
  await lab.until(() => seen.includes('watched-child of watcher'))
})

test('the client reports a resource that does not exist', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'lost', errors: 'permanent' }, async ({ client }) => {
    await client.get('unicorns', 'one')
  })
  await lab.start(kopf)
  await lab.create('lost')
  await lab.untilLogged('Cannot find the resource unicorns: the cluster does not serve it')
})
