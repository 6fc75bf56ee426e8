/** Children are made, changed, put back and deleted as the reconciler says, with as few requests as there are changes. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, deployment, useNursery } from './support.ts'

const { lab, nursery } = useNursery()

test('children are made as they are wanted, with one request each, and belong to the object', async () => {
  const kopf = new Operator({ name: 'painter' })
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'paint', owns: ['configmaps', 'deployments.apps'] }, ({ name, spec }) => {
    calls += 1
    return { children: [configMap(`${name}-a`, { color: spec['color'] }), deployment(`${name}-d`)] }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const { metadata } = await lab.create('one', { spec: { color: 'red' } })
  const child = await nursery.untilThere('one-a')
  await nursery.untilThere('one-d', 'deployments')
  await settle(lab)
  expect(child['data']).toEqual({ color: 'red' })
  expect(child.metadata.labels).toEqual({ 'kopf.dev/reconciler': 'painter.paint' })
  expect(child.metadata.ownerReferences).toEqual([
    expect.objectContaining({ kind: 'Widget', name: 'one', uid: metadata.uid, controller: true }),
  ])
  for (const { query } of transport.writes()) expect(query.get('fieldManager')).toBe('painter')
  expect(transport.writes().map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
    'PATCH one-a',
    'PATCH one-d',
  ])
  // Once more, to see them as the server has made them.
  expect(calls).toBe(2)
  expect((await lab.get('one')).metadata).not.toHaveProperty('annotations')
})

/** An operator whose objects say which children they want, in `spec.children`: names and colors. */
function painter(calls: string[] = []): Operator {
  const kopf = new Operator({ name: 'painter' })
  kopf.reconcile(lab.widgets, { id: 'paint', owns: ['configmaps'] }, ({ name, spec }) => {
    calls.push(name)
    const colors: Record<string, string> = spec['children'] ?? {}
    return { children: Object.entries(colors).map(([child, color]) => configMap(`${name}-${child}`, { color })) }
  })
  return kopf
}

const colorOf = (color: string) => (body: Body) => body['data']?.['color'] === color

test('a change of one child costs one request, and none for its siblings', async () => {
  const transport = lab.record()
  await lab.start(painter(), { transport })
  await lab.create('two', { spec: { children: { a: 'red', b: 'red', c: 'red' } } })
  for (const child of ['two-a', 'two-b', 'two-c']) await nursery.untilThere(child)
  transport.requests.length = 0
  await lab.patch('two', { spec: { children: { b: 'blue' } } })
  await nursery.until('two-b', colorOf('blue'))
  await settle(lab)
  expect(transport.requests.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual(['PATCH two-b'])
})

test('a child that is no longer wanted is deleted: that one, and as it was when that was decided', async () => {
  const transport = lab.record()
  await lab.start(painter(), { transport })
  await lab.create('three', { spec: { children: { a: 'red', b: 'red' } } })
  const { metadata } = await nursery.untilThere('three-b')
  await nursery.create(configMap('three-foreign'))
  transport.requests.length = 0
  await lab.patch('three', { spec: { children: { b: null } } })
  await nursery.untilGone('three-b')
  await settle(lab)
  expect(transport.requests.map(({ method }) => method)).toEqual(['DELETE'])
  expect(transport.requests[0]?.body).toMatchObject({
    preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
    propagationPolicy: 'Background',
  })
  expect(await nursery.exists('three-a')).toBe(true)
  expect(await nursery.exists('three-foreign')).toBe(true)
  await nursery.delete('three-foreign')
})

test('what others change is put back, what others add is theirs', async () => {
  await lab.start(painter())
  await lab.create('four', { spec: { children: { a: 'red' } } })
  await nursery.untilThere('four-a')
  await nursery.patch('four-a', { data: { color: 'green', size: 'large' }, metadata: { labels: { theirs: 'yes' } } })
  const { data, metadata } = await nursery.until('four-a', colorOf('red'))
  expect(data).toEqual({ color: 'red', size: 'large' })
  expect(metadata.labels).toMatchObject({ theirs: 'yes' })
  await nursery.patch('four-a', { data: { color: null } })
  await nursery.until('four-a', colorOf('red'))
  await lab.patch('four', { spec: { children: { a: 'blue' } } })
  expect((await nursery.until('four-a', colorOf('blue')))['data']).toEqual({ color: 'blue', size: 'large' })
})

test('a value that another client writes under the field manager of the operator is put back, also after a restart', async () => {
  const first = await lab.start(painter())
  await lab.create('forged', { spec: { children: { a: 'red' } } })
  await nursery.untilThere('forged-a')
  await settle(lab)
  const forge = async (color: string) => {
    const { apiVersion, kind, metadata } = await nursery.get('forged-a')
    const { name, labels, annotations, ownerReferences } = metadata
    const body = { apiVersion, kind, metadata: { name, labels, annotations, ownerReferences }, data: { color } }
    const path = `${nursery.path('forged-a')}?fieldManager=painter&force=true`
    const { status } = await lab.call('PATCH', path, body, 'application/apply-patch+yaml')
    expect(status).toBe(200)
  }
  await forge('green')
  await nursery.until('forged-a', colorOf('red'))
  await lab.stop(first)
  await forge('blue')
  await lab.start(painter())
  await nursery.until('forged-a', colorOf('red'))
})

test('what others add to a child costs no request, although the reconciler looks at it', async () => {
  const calls: string[] = []
  const transport = lab.record()
  await lab.start(painter(calls), { transport })
  await lab.create('five', { spec: { children: { a: 'red' } } })
  await nursery.untilThere('five-a')
  await settle(lab)
  const before = calls.length
  transport.requests.length = 0
  await nursery.patch('five-a', { data: { size: 'large' } })
  await lab.until(() => calls.length > before)
  await settle(lab)
  expect(transport.writes()).toEqual([])
})

test('a child that others delete is made anew', async () => {
  await lab.start(painter())
  await lab.create('six', { spec: { children: { a: 'red' } } })
  const { metadata } = await nursery.untilThere('six-a')
  await nursery.delete('six-a')
  await nursery.until('six-a', (body) => body.metadata.uid !== metadata.uid)
})

test.each([
  ['the label', { labels: null }],
  ['the owner', { ownerReferences: null }],
  ['the annotation', { annotations: null }],
])('a child without %s is taken back', async (what, metadata) => {
  const name = `seven-${what.slice(4)}`
  await lab.start(painter())
  await lab.create(name, { spec: { children: { a: 'red' } } })
  const before = await nursery.untilThere(`${name}-a`)
  await nursery.patch(`${name}-a`, { metadata })
  const after = await nursery.until(`${name}-a`, (body) => {
    return ['labels', 'ownerReferences', 'annotations'].every((key) => key in body.metadata)
  })
  for (const key of ['labels', 'ownerReferences', 'annotations'] as const) {
    expect(after.metadata[key]).toEqual(before.metadata[key])
  }
})

test('a restart writes nothing, and asks for nothing but what is there', async () => {
  const first = await lab.start(painter())
  await lab.create('eight', { spec: { children: { a: 'red', b: 'blue' } } })
  for (const child of ['eight-a', 'eight-b']) await nursery.untilThere(child)
  await settle(lab)
  await lab.stop(first)
  const calls: string[] = []
  const transport = lab.record()
  await lab.start(painter(calls), { transport })
  await lab.until(() => calls.includes('eight'))
  await settle(lab)
  expect(transport.writes()).toEqual([])
  const asked = transport.requests.filter(({ path }) => path === nursery.path())
  expect(asked.map(({ query }) => query.get('labelSelector'))).toEqual(['kopf.dev/reconciler=painter.paint'])
})

test('what has changed while nobody was there is put right at the start', async () => {
  const first = await lab.start(painter())
  await lab.create('nine', { spec: { children: { a: 'red', b: 'red', c: 'red' } } })
  for (const child of ['nine-a', 'nine-b', 'nine-c']) await nursery.untilThere(child)
  await lab.stop(first)
  await nursery.patch('nine-a', { data: { color: 'green' } })
  await nursery.delete('nine-b')
  await lab.patch('nine', { spec: { children: { c: null } } })
  const transport = lab.record()
  await lab.start(painter(), { transport })
  await nursery.until('nine-a', colorOf('red'))
  await nursery.untilThere('nine-b')
  await nursery.untilGone('nine-c')
  await settle(lab)
  expect(
    transport
      .writes()
      .map(({ method }) => method)
      .sort(),
  ).toEqual(['DELETE', 'PATCH', 'PATCH'])
})

test('an object that another one controls is left alone, and made as soon as it is gone', async () => {
  await nursery.create(configMap('ten-owner'))
  const { metadata } = await nursery.get('ten-owner')
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ten-owner', uid: metadata.uid! }
  await nursery.create(configMap('ten-b', {}, { ownerReferences: [{ ...owner, controller: true }] }))
  await lab.start(painter())
  await lab.create('ten', { spec: { children: { a: 'red', b: 'red', c: 'red' } } })
  await nursery.untilThere('ten-a')
  await nursery.untilThere('ten-c')
  await lab.untilLogged('Cannot apply ConfigMap "ten-b": another object controls it')
  expect((await nursery.get('ten-b'))['data']).toBeUndefined()
  await nursery.delete('ten-b')
  await nursery.untilThere('ten-b')
})

test('a reconciler sees the children that it has made as the server has them', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['services'] }, ({ children, patch }) => {
    patch.status['ip'] = children.get('services', 'served')?.spec['clusterIP'] ?? 'none'
    const spec = { selector: { app: 'x' }, ports: [{ port: 80 }] }
    return { children: [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'served' }, spec }] }
  })
  await lab.start(kopf)
  await lab.create('eleven', { spec: {} })
  const { status } = await lab.untilObject('eleven', (body) => (body.status?.['ip'] ?? 'none') !== 'none')
  expect(status['ip']).toBe((await nursery.get('served', 'services'))['spec']['clusterIP'])
})

test('one that wants something else each time it is called is not called for ever', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => {
    calls += 1
    return { children: [configMap('restless', { calls: String(calls) })] }
  })
  await lab.start(kopf)
  await lab.create('twelve', { spec: {} })
  await nursery.untilThere('restless')
  await settle(lab)
  expect(calls).toBe(2)
})

test('two objects that want the same child: the second is told whose it is, and gets it when the first is gone', {
  timeout: 90_000,
}, async () => {
  const kopf = new Operator()
  // The garbage collector of a real cluster takes its time: the second object asks again every second.
  kopf.reconcile(lab.widgets, { owns: ['configmaps'], backoff: 1 }, ({ name }) => ({
    children: [configMap('shared', { for: name })],
  }))
  await lab.start(kopf)
  await lab.create('first', { spec: {} })
  await nursery.untilThere('shared')
  await lab.create('second', { spec: {} })
  await lab.untilLogged(
    'Cannot apply ConfigMap "shared": another object controls it, and there can be only one: Widget "first"',
  )
  await settle(lab)
  expect((await nursery.get('shared'))['data']).toEqual({ for: 'first' })
  await lab.delete('first')
  // The collector learns of new kinds twice a minute, which may be longer than one wait lasts.
  const isOfSecond = ({ data }: Body) => data['for'] === 'second'
  await nursery.until('shared', isOfSecond).catch(() => nursery.until('shared', isOfSecond))
})

test('what the server fills in and writes in its own way is no difference, also after a restart', async () => {
  const labels = { app: 'rich' }
  const limits = { cpu: '0.5', memory: '0.5Gi' }
  const container = {
    ...{ name: 'app', image: 'x', args: ['a'], env: [{ name: 'A', value: 'b' }], resources: { limits } },
    ports: [{ containerPort: 80 }],
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  }
  const spec = {
    containers: [container],
    volumes: [{ name: 'tmp', emptyDir: {} }],
    tolerations: [{ operator: 'Exists' }],
  }
  const children = [
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'rich', finalizers: ['example.com/x'] } },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'rich' },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'rich' }, data: { key: 'dmFsdWU=' }, type: 'Opaque' },
  ]
  const create = () => {
    const kopf = new Operator()
    kopf.reconcile(lab.widgets, { owns: ['deployments.apps', 'services', 'secrets'] }, () => ({ children }))
    return kopf
  }
  const first = await lab.start(create())
  await lab.create('thirteen', { spec: {} })
  await nursery.untilThere('rich', 'secrets')
  await settle(lab)
  await lab.stop(first)
  const transport = lab.record()
  await lab.start(create(), { transport })
  await lab.untilLogged(`Reconciler 'reconcile' succeeded.`)
  await settle(lab)
  expect(transport.writes()).toEqual([])
  await nursery.patch('rich', { metadata: { finalizers: null } }, 'deployments')
})
