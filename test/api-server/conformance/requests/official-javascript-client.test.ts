/** The official JavaScript client, @kubernetes/client-node, against the API server. */
import * as k8s from '@kubernetes/client-node'
import { beforeAll, describe, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, timestamp, uuid } from '../../../support/expectations.ts'

const cluster = useCluster()

interface Widget extends k8s.KubernetesObject {
  spec?: { size?: number }
  status?: { phase?: string }
}

let config: k8s.KubeConfig
let custom: k8s.CustomObjectsApi
let core: k8s.CoreV1Api

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
  config = toConfig()
  custom = config.makeApiClient(k8s.CustomObjectsApi)
  core = config.makeApiClient(k8s.CoreV1Api)
})

function toConfig(): k8s.KubeConfig {
  const base64 = (text = '') => Buffer.from(text).toString('base64')
  const { certPem, keyPem, token } = cluster.admin
  const credentials = token === undefined ? { certData: base64(certPem), keyData: base64(keyPem) } : { token }
  const result = new k8s.KubeConfig()
  result.loadFromOptions({
    clusters: [{ name: 'c', server: cluster.url, caData: base64(cluster.caPem), skipTLSVerify: false }],
    users: [{ name: 'u', ...credentials }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  })
  return result
}

const where = () => ({ group: cluster.group, version: 'v1', namespace: cluster.namespace, plural: 'widgets' })
const widget = (name: string, size: number): Widget => ({
  apiVersion: `${cluster.group}/v1`,
  kind: 'Widget',
  metadata: { name },
  spec: { size },
})
const configMap = (name: string, data: Record<string, string> = {}): k8s.V1ConfigMap => ({ metadata: { name }, data })

describe('custom objects with @kubernetes/client-node', () => {
  test('@kubernetes/client-node creates, reads, replaces and deletes custom objects', async () => {
    const created: Widget = await custom.createNamespacedCustomObject({ ...where(), body: widget('one', 1) })
    expect(created.metadata).toMatchObject({ name: 'one', uid: uuid, generation: 1 })
    const read: Widget = await custom.getNamespacedCustomObject({ ...where(), name: 'one' })
    expect(read).toEqual(created)
    const replaced: Widget = await custom.replaceNamespacedCustomObject({
      ...where(),
      name: 'one',
      body: { ...read, spec: { size: 2 } },
    })
    expect([replaced.spec, replaced.metadata?.generation]).toEqual([{ size: 2 }, 2])
    const deleted: k8s.V1Status = await custom.deleteNamespacedCustomObject({ ...where(), name: 'one' })
    expect(deleted).toMatchObject({ status: 'Success', details: { name: 'one', kind: 'widgets' } })
    await expect(custom.getNamespacedCustomObject({ ...where(), name: 'one' })).rejects.toMatchObject({ code: 404 })
  })

  test('@kubernetes/client-node lists custom objects with a field selector', async () => {
    for (const name of ['l1', 'l2']) await custom.createNamespacedCustomObject({ ...where(), body: widget(name, 1) })
    const list: k8s.KubernetesListObject<Widget> = await custom.listNamespacedCustomObject({
      ...where(),
      fieldSelector: 'metadata.name=l2',
    })
    expect(list.items.map(({ metadata }) => metadata?.name)).toEqual(['l2'])
  })

  test('@kubernetes/client-node patches custom objects', async () => {
    await custom.createNamespacedCustomObject({ ...where(), body: widget('patched', 1) })
    const patch = [{ op: 'replace', path: '/spec/size', value: 7 }]
    const patched: Widget = await custom.patchNamespacedCustomObject({ ...where(), name: 'patched', body: patch })
    expect(patched.spec).toEqual({ size: 7 })
    const merged: Widget = await custom.patchNamespacedCustomObjectStatus(
      { ...where(), name: 'patched', body: { status: { phase: 'Ready' } } },
      k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
    )
    expect(merged.status).toEqual({ phase: 'Ready' })
  })

  test('@kubernetes/client-node gets a 409 for a conflicting update', async () => {
    const created: Widget = await custom.createNamespacedCustomObject({ ...where(), body: widget('conflict', 1) })
    const replace = (size: number) =>
      custom.replaceNamespacedCustomObject({ ...where(), name: 'conflict', body: { ...created, spec: { size } } })
    await replace(2)
    await expect(replace(3)).rejects.toMatchObject({ code: 409 })
  })
})

describe('the core group with @kubernetes/client-node', () => {
  test('@kubernetes/client-node creates and reads ConfigMaps', async () => {
    const { namespace } = cluster
    const created = await core.createNamespacedConfigMap({ namespace, body: configMap('core', { a: 'b' }) })
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date)
    const read = await core.readNamespacedConfigMap({ namespace, name: 'core' })
    expect(read).toEqual(created)
    const list = await core.listNamespacedConfigMap({ namespace, limit: 1 })
    expect(list.items).toHaveLength(1)
    const deleted = await core.deleteNamespacedConfigMap({ namespace, name: 'core' })
    expect(deleted.status).toBe('Success')
  })

  test('@kubernetes/client-node handles Secrets and Namespaces', async () => {
    const { namespace } = cluster
    const secret = await core.createNamespacedSecret({
      namespace,
      body: { metadata: { name: 's' }, stringData: { a: 'b' } },
    })
    expect(secret.data).toEqual({ a: 'Yg==' })
    const { status } = await core.readNamespace({ name: namespace })
    expect(status?.phase).toBe('Active')
  })

  test('@kubernetes/client-node gets the Status of a refusal', async () => {
    const { namespace } = cluster
    const body = { metadata: { name: 'Wrong_Name' } }
    const error = await core
      .createNamespacedConfigMap({ namespace, body })
      .catch((caught: k8s.ApiException<string>) => caught)
    expect(error).toBeInstanceOf(k8s.ApiException)
    const { code, body: text } = error as k8s.ApiException<string>
    expect([code, JSON.parse(text)]).toMatchObject([422, { reason: 'Invalid' }])
  })
})

describe('other groups with @kubernetes/client-node', () => {
  test('@kubernetes/client-node handles Deployments', async () => {
    const apps = config.makeApiClient(k8s.AppsV1Api)
    const labels = { app: 'x' }
    const spec = {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } },
    }
    const { namespace } = cluster
    const created = await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: 'web' }, spec } })
    expect(created.spec?.replicas).toBe(1)
    const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'web' })
    expect(scale.spec?.replicas).toBe(1)
  })

  test('@kubernetes/client-node reads CRDs', async () => {
    const extensions = config.makeApiClient(k8s.ApiextensionsV1Api)
    const { status } = await extensions.readCustomResourceDefinition({ name: `widgets.${cluster.group}` })
    expect(status?.conditions?.find(({ type }) => type === 'Established')?.status).toBe('True')
  })

  test('@kubernetes/client-node creates access reviews', async () => {
    const authorization = config.makeApiClient(k8s.AuthorizationV1Api)
    const body = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }
    const { status } = await authorization.createSelfSubjectAccessReview({ body })
    expect(status?.allowed).toBe(true)
  })

  test('@kubernetes/client-node finds the path of an object by its kind', async () => {
    const objects = k8s.KubernetesObjectApi.makeApiClient(config)
    const metadata = { name: 'by-kind', namespace: cluster.namespace }
    const created = await objects.create<Widget>({ ...widget('by-kind', 1), metadata })
    expect(created.metadata?.uid).toEqual(uuid)
    const read = await objects.read<Widget>({ apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata })
    expect(read.spec).toEqual({ size: 1 })
    await objects.delete({ apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata })
  })

  test('@kubernetes/client-node reads the version of the server', async () => {
    const { major, minor } = await config.makeApiClient(k8s.VersionApi).getCode()
    expect([major, minor]).toEqual(['1', '36'])
  })
})

test('a watch of @kubernetes/client-node shows changes', async () => {
  const seen: string[] = []
  let isOver = false
  const path = cluster.custom('widgets')
  const { resourceVersion } = (await cluster.api.get(path)).body.metadata
  const controller = await new k8s.Watch(config).watch(
    path,
    { resourceVersion, fieldSelector: 'metadata.name=watched' },
    (type, object: Widget) => seen.push(`${type} ${object.metadata?.name}`),
    () => {
      isOver = true
    },
  )
  await custom.createNamespacedCustomObject({ ...where(), body: widget('watched', 1) })
  await custom.deleteNamespacedCustomObject({ ...where(), name: 'watched' })
  await eventually(async () => expect(seen).toEqual(['ADDED watched', 'DELETED watched']))
  controller.abort()
  await eventually(async () => expect(isOver).toBe(true))
})

test('an informer of @kubernetes/client-node follows changes', async () => {
  const path = cluster.custom('widgets')
  const labelSelector = 'informed=yes'
  const list = () =>
    custom.listNamespacedCustomObject({ ...where(), labelSelector }) as Promise<k8s.KubernetesListObject<Widget>>
  const informer = k8s.makeInformer<Widget>(config, path, list, labelSelector)
  const seen: string[] = []
  for (const verb of [k8s.ADD, k8s.UPDATE, k8s.DELETE]) {
    informer.on(verb as 'add', (object) => void seen.push(`${verb} ${object.metadata?.name} ${object.spec?.size}`))
  }
  const create = (name: string, size: number) => {
    const body = { ...widget(name, size), metadata: { name, labels: { informed: 'yes' } } }
    return custom.createNamespacedCustomObject({ ...where(), body })
  }
  await create('first', 1)
  await informer.start()
  await eventually(async () => expect(seen).toEqual(['add first 1']))
  await create('second', 2)
  await cluster.api.mergePatch(`${path}/first`, { spec: { size: 5 } })
  await custom.deleteNamespacedCustomObject({ ...where(), name: 'second' })
  await eventually(async () =>
    expect(seen).toEqual(['add first 1', 'add second 2', 'update first 5', 'delete second 2']),
  )
  expect(informer.list().map(({ metadata }) => metadata?.name)).toEqual(['first'])
  expect(informer.get('first', cluster.namespace)?.metadata?.creationTimestamp).toEqual(timestamp)
  await informer.stop()
})
