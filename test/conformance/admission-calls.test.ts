/** Where webhooks are found, and whom a server trusts: URLs, services, certificates. */
import { beforeAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import type { Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { eventually, expectInvalid, expectStatus, failure } from '../support/expectations.ts'
import { configMap, object } from '../support/objects.ts'
import { allow, useWebhooks } from '../support/webhooks.ts'

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
  ['words', 'words', 'unable to parse bytes as PEM block'],
  ['no certificates', pem('PRIVATE KEY'), 'no valid certificate authority data seen'],
  ['a certificate that is none', pem('CERTIFICATE'), 'failed to parse certificate: x509: malformed certificate'],
])('authorities cannot be %s', async (_, bundle, why) => {
  const create = await install({ ...webhooks.server.at('/called'), caBundle: Buffer.from(bundle).toString('base64') })
  const message = `failed calling webhook "call-${count}.example.com": ${unloaded}${why}`
  const expected = failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
  expect((await create()).body).toEqual(expected)
})

test('authorities without a line break between them are none', async () => {
  const own = Buffer.from(webhooks.server.caBundle, 'base64').toString('utf8')
  const glued = Buffer.from(`${own.trimEnd()}${own}`).toString('base64')
  const create = await install({ ...webhooks.server.at('/called'), caBundle: glued })
  const { message } = (await create()).body
  expect(message).toMatch(`${unloaded}unable to parse bytes as PEM block`)
})

test('a URL has to be one', async () => {
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

test('authorities may be several, with words between them', async () => {
  const own = Buffer.from(webhooks.server.caBundle, 'base64').toString('utf8')
  const { caPem } = await CertificateAuthority.create('others')
  const caBundle = Buffer.from(`${caPem}\nand ours:\n${own}`).toString('base64')
  const create = await install({ ...webhooks.server.at('/called'), caBundle })
  expectStatus(await create(), 201)
})

let count = 0

/** The client config of a webhook that is the only one to be asked about what `create` makes. */
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

test('a service of the type ExternalName leads to the host that it names', async () => {
  const create = await install(at('hook'))
  await eventually(async () => expectStatus(await create(), 201))
  expect(webhooks.server.asked('/called').at(-1)).toMatchObject({
    url: '/called?timeout=5s',
    headers: { host: `hook.${cluster.namespace}.svc:${webhooks.server.port}` },
  })
})

test.each<[string, () => Tree, (url: string) => string]>([
  [
    'the certificate has to have the name of the service',
    () => at('other'),
    (url) =>
      `${url}tls: failed to verify certificate: x509: certificate is valid for localhost, hook.NS.svc, not other.NS.svc`,
  ],
  ['a service that is not there', () => at('none'), (url) => `${url}service "none" not found`],
  [
    'a service of no address',
    () => at('headless', { port: 80 }),
    (url) => `${url}cannot route to service with ClusterIP "None"`,
  ],
  [
    'a port that a service does not have',
    () => at('closed'),
    (url) => `${url}no service port PORT found for service "closed"`,
  ],
  [
    'an authority that nobody knows',
    () => ({ url: webhooks.server.url('/called') }),
    (url) => `${url}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  ],
  [
    'a port where nobody listens',
    () => ({ url: 'https://127.0.0.1:1/called' }),
    (url) => `${url}dial tcp 127.0.0.1:1: connect: connection refused`,
  ],
])('%s', async (_, clientConfig, words) => {
  const config = clientConfig()
  const create = await install(config)
  const { name = '', port = 0 } = (config['service'] ?? {}) as { name?: string; port?: number }
  const address = config['url'] ?? `https://${name}.${cluster.namespace}.svc:${port}/called`
  const text = words(`Post "${address}?timeout=5s": `)
    .replaceAll('NS', cluster.namespace)
    .replaceAll('PORT', String(webhooks.server.port))
  const message = `failed calling webhook "call-${count}.example.com": failed to call webhook: ${text}`
  const expected = failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
  // A real server hears of services a moment later.
  await eventually(async () => expect((await create()).body).toEqual(expected), 5000)
})
