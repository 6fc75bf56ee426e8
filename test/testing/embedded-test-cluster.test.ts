/** Features of the embedded test cluster only: a kubeconfig for other programs, webhooks, and options that a real cluster refuses. */
import { readFileSync } from 'node:fs'
import { AdmissionError, loginWithKubeconfig, Operator } from 'kopf'
import { startCluster } from 'kopf/testing'
import { WebhookServer } from 'kopf/webhooks'
import { expect, test } from 'vitest'
import { createHttpsTransport } from '../../src/client/http/transport.ts'

test('other programs reach an embedded test cluster by its kubeconfig', async () => {
  let path: string
  {
    await using cluster = await startCluster()
    await cluster.create('configmaps', { name: 'settings', data: { color: 'blue' } })
    path = await cluster.kubeconfig()
    expect(await cluster.kubeconfig()).toBe(path)
    const transport = createHttpsTransport((await loginWithKubeconfig({ path }))!)
    const { status } = await transport.send({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/settings' })
    expect(status).toBe(200)
    await transport.close()
  }
  expect(() => readFileSync(path)).toThrow('ENOENT')
})

test('webhooks of an embedded test cluster are called over TLS while its clock stands still', async () => {
  const kopf = new Operator()
  kopf.on.startup(({ settings }) => {
    settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
    settings.admission.managed = 'testing.kopf.dev'
  })
  kopf.on.validate('configmaps', ({ body }) => {
    if (body['data']?.color === 'red') throw new AdmissionError('Not red', { status: 422 })
  })
  kopf.on.mutate('configmaps', ({ patch }) => {
    patch.metadata.labels['reviewed'] = 'yes'
  })
  await using cluster = await startCluster()
  await using running = await kopf.start(cluster)
  await running.ready
  await expect(cluster.create('configmaps', { name: 'one', data: { color: 'red' } })).rejects.toThrow('Not red')
  const { metadata } = await cluster.create('configmaps', { name: 'one', data: { color: 'blue' } })
  expect(metadata.labels).toEqual({ reviewed: 'yes' })
})

test('an embedded test cluster gives access to its API server', async () => {
  await using cluster = await startCluster()
  expect(cluster.server.openWatches).toBe(0)
  const { status } = await cluster.server.send({ method: 'GET', path: '/version' })
  expect(status).toBe(200)
})

test('an embedded test cluster can use another namespace for everything', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', ({ patch }) => {
    patch.data.seen = 'yes'
  })
  const namespace = 'elsewhere'
  const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start(cluster)
  await cluster.create('configmaps', { name: 'settings', namespace })
  await cluster.until('configmaps', 'settings', ({ data }) => data?.seen === 'yes', { namespace })
  await cluster.delete('configmaps', 'settings', { namespace })
  await cluster.untilGone('configmaps', 'settings', { namespace })
})

test('an operator in an embedded test cluster can be started with additional options', async () => {
  const kopf = new Operator()
  const seen: string[] = []
  kopf.on.create('configmaps', ({ namespace }) => void seen.push(namespace ?? ''))
  const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine' } }]
  await using cluster = await startCluster({ objects })
  await using _operator = await kopf.start({ ...cluster, namespaces: ['mine'] })
  await cluster.create('configmaps', { name: 'settings' })
  await cluster.create('configmaps', { name: 'settings', namespace: 'mine' })
  await cluster.settled()
  expect(seen).toEqual(['mine'])
})

test('an invalid manifest is reported at the start of an embedded test cluster', async () => {
  const objects = [{ apiVersion: 'example.com/v1', kind: 'Nothing', metadata: { name: 'x' } }]
  await expect(startCluster({ objects })).rejects.toMatchObject({
    code: 'KOPF_TEST_MANIFEST',
    cause: { code: 'KOPF_RESOURCE' },
  })
})
