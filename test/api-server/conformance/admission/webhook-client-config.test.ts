/** The clientConfig of webhooks: URLs, services, and the certificates that the API server trusts. */
import { beforeAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../../../../src/util/certificates.ts'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectInvalid, expectStatus, failure } from '../../../support/expectations.ts'
import { configMap, object } from '../../../support/objects.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const service = (name: string, spec: Tree) => object('v1', 'Service', name, { spec })

beforeAll(async () => {
  webhooks.server.on('/called', allow)
  const ports = [{ port: 80 }]
  for (const body of [
    service('hook', { type: 'ExternalName', externalName: 'localhost' }),
    service('other', { type: 'ExternalName', externalName: 'localhost' }),
    service('headless', { clusterIP: 'None', ports }),
    service('closed', { ports }),
  ]) {
    expectStatus(await cluster.api.post(cluster.core('services'), body), 201)
  }
})

const pem = (type: string) => `-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`
const unloaded = 'could not get REST client: unable to load root certificates: '

test.each([
  ['text', 'words', 'unable to parse bytes as PEM block'],
  ['a PEM block without certificates', pem('PRIVATE KEY'), 'no valid certificate authority data seen'],
  ['a malformed certificate', pem('CERTIFICATE'), 'failed to parse certificate: x509: malformed certificate'],
])('a webhook call fails when its caBundle is %s', async (_, bundle, why) => {
  const create = await install({ ...webhooks.server.at('/called'), caBundle: Buffer.from(bundle).toString('base64') })
  const message = `failed calling webhook "call-${count}.example.com": ${unloaded}${why}`
  const expected = failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
  expect((await create()).body).toEqual(expected)
})

test('a webhook call fails when two certificates of its caBundle have no line break between them', async () => {
  const own = Buffer.from(webhooks.server.caBundle, 'base64').toString('utf8')
  const glued = Buffer.from(`${own.trimEnd()}${own}`).toString('base64')
  const create = await install({ ...webhooks.server.at('/called'), caBundle: glued })
  const { message } = (await create()).body
  expect(message).toMatch(`${unloaded}unable to parse bytes as PEM block`)
})

test('a webhook configuration with a malformed URL is invalid', async () => {
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: `url-${cluster.namespace}` },
    webhooks: [webhooks.hook('url', '/', { clientConfig: { url: 'https://[::1' } })],
  }
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  const why = `url must be a valid URL: parse "https://[::1": missing ']' in host; desired format: https://host[/path]`
  expectInvalid(
    await cluster.api.post(path, configuration),
    { kind: 'ValidatingWebhookConfiguration', group: 'admissionregistration.k8s.io', name: `url-${cluster.namespace}` },
    `webhooks[0].clientConfig.url: Required value: ${why}`,
  )
})

test('a caBundle may have several certificates with text between them', async () => {
  const own = Buffer.from(webhooks.server.caBundle, 'base64').toString('utf8')
  const { caPem } = await CertificateAuthority.create('others')
  const caBundle = Buffer.from(`${caPem}\nand ours:\n${own}`).toString('base64')
  const create = await install({ ...webhooks.server.at('/called'), caBundle })
  expectStatus(await create(), 201)
})

let count = 0

/** Installs a webhook with this clientConfig. Returns a function that creates an object which only this webhook reviews. */
async function install(clientConfig: Tree): Promise<() => ReturnType<typeof cluster.api.post>> {
  const id = `call-${++count}`
  const objectSelector = { matchLabels: { called: id } }
  await webhooks.install('Validating', id, webhooks.hook(id, '/', { clientConfig, objectSelector, timeoutSeconds: 5 }))
  const body = configMap({ name: id, labels: { called: id } })
  return () => cluster.api.post(cluster.core('configmaps'), body, { query: { dryRun: 'All' } })
}

const at = (name: string, more: Tree = {}): Tree => ({
  service: { namespace: cluster.namespace, name, path: '/called', port: webhooks.server.port, ...more },
  caBundle: webhooks.server.caBundle,
})

test('a webhook service of the type ExternalName is called at its external name', async () => {
  const create = await install(at('hook'))
  await eventually(async () => expectStatus(await create(), 201))
  expect(webhooks.server.asked('/called').at(-1)).toMatchObject({
    url: '/called?timeout=5s',
    headers: { host: `hook.${cluster.namespace}.svc:${webhooks.server.port}` },
  })
})

test.each<[string, () => Tree, (url: string) => string]>([
  [
    'a certificate without the name of the service',
    () => at('other'),
    (url) =>
      `${url}tls: failed to verify certificate: x509: certificate is valid for localhost, hook.NS.svc, not other.NS.svc`,
  ],
  ['a missing service', () => at('none'), (url) => `${url}service "none" not found`],
  [
    'a headless service',
    () => at('headless', { port: 80 }),
    (url) => `${url}cannot route to service with ClusterIP "None"`,
  ],
  [
    'a port that the service does not have',
    () => at('closed'),
    (url) => `${url}no service port PORT found for service "closed"`,
  ],
  [
    'an unknown certificate authority',
    () => ({ url: webhooks.server.url('/called') }),
    (url) => `${url}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  ],
  [
    'a port without a listener',
    () => ({ url: 'https://127.0.0.1:1/called' }),
    (url) => `${url}dial tcp 127.0.0.1:1: connect: connection refused`,
  ],
])('a webhook call fails because of %s', async (_, clientConfig, words) => {
  const config = clientConfig()
  const create = await install(config)
  const { name = '', port = 0 } = (config['service'] ?? {}) as { name?: string; port?: number }
  const address = config['url'] ?? `https://${name}.${cluster.namespace}.svc:${port}/called`
  const text = words(`Post "${address}?timeout=5s": `)
    .replaceAll('NS', cluster.namespace)
    .replaceAll('PORT', String(webhooks.server.port))
  const message = `failed calling webhook "call-${count}.example.com": failed to call webhook: ${text}`
  const expected = failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
  // The real API server learns of services with a delay.
  await eventually(async () => expect((await create()).body).toEqual(expected), 5000)
})
