/** Children are created, changed, corrected and deleted as the reconciler returns them, with one request per change. */
import { buildObject, Operator } from 'kopf'
import { Deployment, Secret, Service } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, deployment, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

test('desired children are created with one request each and with an owner reference to the object', async () => {
  const kopf = new Operator({ name: 'painter' })
  let calls = 0
  kopf.reconcile(lab.widgets, { id: 'paint', owns: ['configmaps', 'deployments.apps'] }, ({ name, spec }) => {
    calls += 1
    return { children: [configMap(`${name}-a`, { color: spec['color'] }), deployment(`${name}-d`)] }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const { metadata } = await lab.create('one', { spec: { color: 'red' } })
  const child = await reconciling.untilThere('one-a')
  await reconciling.untilThere('one-d', 'deployments')
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
  // The second call sees the children as stored by the API server.
  expect(calls).toBe(2)
  expect((await lab.get('one')).metadata).not.toHaveProperty('annotations')
})

/** An operator whose objects list their children in `spec.children`: names and colors. */
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
  for (const child of ['two-a', 'two-b', 'two-c']) await reconciling.untilThere(child)
  transport.requests.length = 0
  await lab.patch('two', { spec: { children: { b: 'blue' } } })
  await reconciling.until('two-b', colorOf('blue'))
  await settle(lab)
  expect(transport.requests.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual(['PATCH two-b'])
})

test('a child that is no longer desired is deleted, with preconditions on its uid and version', async () => {
  const transport = lab.record()
  await lab.start(painter(), { transport })
  await lab.create('three', { spec: { children: { a: 'red', b: 'red' } } })
  const { metadata } = await reconciling.untilThere('three-b')
  await reconciling.create(configMap('three-foreign'))
  transport.requests.length = 0
  await lab.patch('three', { spec: { children: { b: null } } })
  await reconciling.untilGone('three-b')
  await settle(lab)
  expect(transport.requests.map(({ method }) => method)).toEqual(['DELETE'])
  expect(transport.requests[0]?.body).toMatchObject({
    preconditions: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
    propagationPolicy: 'Background',
  })
  expect(await reconciling.exists('three-a')).toBe(true)
  expect(await reconciling.exists('three-foreign')).toBe(true)
  await reconciling.delete('three-foreign')
})

test('a change of a desired field by another writer is reverted, and added fields are kept', async () => {
  await lab.start(painter())
  await lab.create('four', { spec: { children: { a: 'red' } } })
  await reconciling.untilThere('four-a')
  await reconciling.patch('four-a', {
    data: { color: 'green', size: 'large' },
    metadata: { labels: { theirs: 'yes' } },
  })
  const { data, metadata } = await reconciling.until('four-a', colorOf('red'))
  expect(data).toEqual({ color: 'red', size: 'large' })
  expect(metadata.labels).toMatchObject({ theirs: 'yes' })
  await reconciling.patch('four-a', { data: { color: null } })
  await reconciling.until('four-a', colorOf('red'))
  await lab.patch('four', { spec: { children: { a: 'blue' } } })
  expect((await reconciling.until('four-a', colorOf('blue')))['data']).toEqual({ color: 'blue', size: 'large' })
})

test('a value that another client writes under the field manager of the operator is reverted, also after a restart', async () => {
  const first = await lab.start(painter())
  await lab.create('forged', { spec: { children: { a: 'red' } } })
  await reconciling.untilThere('forged-a')
  await settle(lab)
  const forge = async (color: string) => {
    const { apiVersion, kind, metadata } = await reconciling.get('forged-a')
    const { name, labels, annotations, ownerReferences } = metadata
    const body = { apiVersion, kind, metadata: { name, labels, annotations, ownerReferences }, data: { color } }
    const path = `${reconciling.path('forged-a')}?fieldManager=painter&force=true`
    const { status } = await lab.call('PATCH', path, body, 'application/apply-patch+yaml')
    expect(status).toBe(200)
  }
  await forge('green')
  await reconciling.until('forged-a', colorOf('red'))
  await lab.stop(first)
  await forge('blue')
  await lab.start(painter())
  await reconciling.until('forged-a', colorOf('red'))
})

test('a field that another writer adds to a child costs no request, although the reconciler is called', async () => {
  const calls: string[] = []
  const transport = lab.record()
  await lab.start(painter(calls), { transport })
  await lab.create('five', { spec: { children: { a: 'red' } } })
  await reconciling.untilThere('five-a')
  await settle(lab)
  const before = calls.length
  transport.requests.length = 0
  await reconciling.patch('five-a', { data: { size: 'large' } })
  await lab.until(() => calls.length > before)
  await settle(lab)
  expect(transport.writes()).toEqual([])
})

test('a child that another client deletes is created again', async () => {
  await lab.start(painter())
  await lab.create('six', { spec: { children: { a: 'red' } } })
  const { metadata } = await reconciling.untilThere('six-a')
  await reconciling.delete('six-a')
  await reconciling.until('six-a', (body) => body.metadata.uid !== metadata.uid)
})

test.each([
  ['the label', { labels: null }],
  ['the owner reference', { ownerReferences: null }],
  ['the annotation', { annotations: null }],
])('a child without %s is adopted again', async (what, metadata) => {
  const name = `seven-${what.slice(4).replaceAll(' ', '-')}`
  await lab.start(painter())
  await lab.create(name, { spec: { children: { a: 'red' } } })
  const before = await reconciling.untilThere(`${name}-a`)
  await reconciling.patch(`${name}-a`, { metadata })
  const after = await reconciling.until(`${name}-a`, (body) => {
    return ['labels', 'ownerReferences', 'annotations'].every((key) => key in body.metadata)
  })
  for (const key of ['labels', 'ownerReferences', 'annotations'] as const) {
    expect(after.metadata[key]).toEqual(before.metadata[key])
  }
})

test('a restart writes nothing and sends only lists and watches', async () => {
  const first = await lab.start(painter())
  await lab.create('eight', { spec: { children: { a: 'red', b: 'blue' } } })
  for (const child of ['eight-a', 'eight-b']) await reconciling.untilThere(child)
  await settle(lab)
  await lab.stop(first)
  const calls: string[] = []
  const transport = lab.record()
  await lab.start(painter(calls), { transport })
  await lab.until(() => calls.includes('eight'))
  await settle(lab)
  expect(transport.writes()).toEqual([])
  const asked = transport.requests.filter(({ path }) => path === reconciling.path())
  expect(asked.map(({ query }) => query.get('labelSelector'))).toEqual(['kopf.dev/reconciler=painter.paint'])
})

test('drift that occurred while the operator was down is corrected at the start', async () => {
  const first = await lab.start(painter())
  await lab.create('nine', { spec: { children: { a: 'red', b: 'red', c: 'red' } } })
  for (const child of ['nine-a', 'nine-b', 'nine-c']) await reconciling.untilThere(child)
  await lab.stop(first)
  await reconciling.patch('nine-a', { data: { color: 'green' } })
  await reconciling.delete('nine-b')
  await lab.patch('nine', { spec: { children: { c: null } } })
  const transport = lab.record()
  await lab.start(painter(), { transport })
  await reconciling.until('nine-a', colorOf('red'))
  await reconciling.untilThere('nine-b')
  await reconciling.untilGone('nine-c')
  await settle(lab)
  expect(
    transport
      .writes()
      .map(({ method }) => method)
      .sort(),
  ).toEqual(['DELETE', 'PATCH', 'PATCH'])
})

test('an object that is controlled by another owner is not changed, and the child is created once that object is deleted', async () => {
  await reconciling.create(configMap('ten-owner'))
  const { metadata } = await reconciling.get('ten-owner')
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ten-owner', uid: metadata.uid! }
  await reconciling.create(configMap('ten-b', {}, { ownerReferences: [{ ...owner, controller: true }] }))
  await lab.start(painter())
  await lab.create('ten', { spec: { children: { a: 'red', b: 'red', c: 'red' } } })
  await reconciling.untilThere('ten-a')
  await reconciling.untilThere('ten-c')
  await lab.untilLogged('Cannot apply ConfigMap "ten-b": another object controls it')
  expect((await reconciling.get('ten-b'))['data']).toBeUndefined()
  await reconciling.delete('ten-b')
  await reconciling.untilThere('ten-b')
})

test('a reconciler sees its created children as stored by the API server', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['services'] }, ({ children, patch }) => {
    patch.status['ip'] = children.get('services', 'served')?.spec?.clusterIP ?? 'none'
    const spec = { selector: { app: 'x' }, ports: [{ port: 80 }] }
    return { children: [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'served' }, spec }] }
  })
  await lab.start(kopf)
  await lab.create('eleven', { spec: {} })
  const { status } = await lab.untilObject('eleven', (body) => (body.status?.['ip'] ?? 'none') !== 'none')
  expect(status['ip']).toBe((await reconciling.get('served', 'services'))['spec']['clusterIP'])
})

test('a reconciler that returns another child at each call is not called endlessly', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => {
    calls += 1
    return { children: [configMap('restless', { calls: String(calls) })] }
  })
  await lab.start(kopf)
  await lab.create('twelve', { spec: {} })
  await reconciling.untilThere('restless')
  await settle(lab)
  expect(calls).toBe(2)
})

test('a child that two objects desire stays with the first, and belongs to the second once the first is deleted', {
  timeout: 90_000,
}, async () => {
  const kopf = new Operator()
  // The garbage collector of a real cluster is slow, so the second object retries every second.
  kopf.reconcile(lab.widgets, { owns: ['configmaps'], backoff: 1 }, ({ name }) => ({
    children: [configMap('shared', { for: name })],
  }))
  await lab.start(kopf)
  await lab.create('first', { spec: {} })
  await reconciling.untilThere('shared')
  await lab.create('second', { spec: {} })
  await lab.untilLogged(
    'Cannot apply ConfigMap "shared": another object controls it, and there can be only one: Widget "first"',
  )
  await settle(lab)
  expect((await reconciling.get('shared'))['data']).toEqual({ for: 'first' })
  await lab.delete('first')
  // The garbage collector discovers new kinds twice a minute, which may take longer than one wait.
  const isOfSecond = ({ data }: Body) => data['for'] === 'second'
  await reconciling.until('shared', isOfSecond).catch(() => reconciling.until('shared', isOfSecond))
})

test('defaults and normalized values of the API server are not drift, also after a restart', async () => {
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
    buildObject(Deployment, {
      metadata: { name: 'rich', finalizers: ['example.com/x'] },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    }),
    buildObject(Service, { metadata: { name: 'rich' }, spec: { selector: labels, ports: [{ port: 80 }] } }),
    buildObject(Secret, { metadata: { name: 'rich' }, data: { key: 'dmFsdWU=' }, type: 'Opaque' }),
  ]
  const create = () => {
    const kopf = new Operator()
    kopf.reconcile(lab.widgets, { owns: ['deployments.apps', 'services', 'secrets'] }, () => ({ children }))
    return kopf
  }
  const first = await lab.start(create())
  await lab.create('thirteen', { spec: {} })
  await reconciling.untilThere('rich', 'secrets')
  await settle(lab)
  await lab.stop(first)
  const transport = lab.record()
  await lab.start(create(), { transport })
  await lab.untilLogged(`Reconciler 'reconcile' succeeded.`)
  await settle(lab)
  expect(transport.writes()).toEqual([])
  await reconciling.patch('rich', { metadata: { finalizers: null } }, 'deployments')
})
