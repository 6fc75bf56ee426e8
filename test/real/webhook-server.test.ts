/** A webhook server with a real API server: its calls, refusals, failures and renewed certificates. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WebhookError } from 'kopf'
import { type WebhookClientConfig, type WebhookFn, WebhookServer } from 'kopf/webhooks'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { type ApiAnswer, callApi } from '../../tools/envtest/api.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { allow, makeFolder, serve } from '../webhooks/webhook-support.ts'

const name = 'webhook-server.example.com'
const namespace = 'webhook-server'
const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`

function api(method: string, path: string, body?: object, contentType?: string): Promise<ApiAnswer> {
  const { url, caPem, admin: user } = inject('realCluster')
  return callApi({ url, caPem, user }, { method, path, ...(body && { body }), ...(contentType && { contentType }) })
}

function messageOf({ body }: ApiAnswer): string {
  return (body as { message: string }).message
}

/** Registers the webhook for all operations on ConfigMaps of this namespace. */
async function register(config: WebhookClientConfig, timeoutSeconds = 10): Promise<void> {
  const webhook = {
    name,
    clientConfig: { ...config, url: `${config.url}/fn%20of/mine` },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  }
  const body = { metadata: { name }, webhooks: [webhook] }
  const { status } = await api('PATCH', `${configurations}/${name}`, body, 'application/merge-patch+json')
  if (status === 404) expect((await api('POST', configurations, body)).status).toBe(201)
  else expect(status).toBe(200)
}

function create(data: object = {}): Promise<ApiAnswer> {
  return api('POST', `${configMaps}?dryRun=All`, { metadata: { generateName: 'a-' }, data })
}

/** Sends requests until the API server has learned of the webhook. */
async function untilCalled(isCalled: () => boolean): Promise<void> {
  while (!isCalled()) await create()
}

beforeAll(() => api('POST', '/api/v1/namespaces', { metadata: { name: namespace } }))
afterEach(() => api('DELETE', `${configurations}/${name}`))
afterAll(() => api('DELETE', `/api/v1/namespaces/${namespace}`))

test('the API server calls the webhook server with the id of the handler, and applies its answer', async () => {
  const seen: unknown[] = []
  await using serving = await serve(new WebhookServer({ addr: '127.0.0.1' }), async (review, info) => {
    seen.push({ webhook: info?.webhook, agent: info?.headers?.['user-agent'], review })
    return allow(review)
  })
  await register(serving.configs[0]!)
  await untilCalled(() => seen.length > 0)
  expect(seen[0]).toMatchObject({
    webhook: 'fn of/mine',
    agent: 'kube-apiserver-admission',
    review: { kind: 'AdmissionReview', request: { operation: 'CREATE', dryRun: true } },
  })
  expect((await create()).status).toBe(201)
  expect((await create({ blob: 'x'.repeat(1_000_000) })).status).toBe(201)
})

test('the API server passes on the reason of a refusal, but not that of an internal error', async () => {
  let isCalled = false
  let fn: WebhookFn = allow
  await using serving = await serve(new WebhookServer(), (review, info) => {
    isCalled = true
    return fn(review, info)
  })
  await register(serving.configs[0]!, 1)
  await untilCalled(() => isCalled)
  const failed = `Internal error occurred: failed calling webhook "${name}": failed to call webhook:`
  fn = () => Promise.reject(new WebhookError(404, 'there is no such resource here'))
  expect(messageOf(await create())).toBe(`${failed} there is no such resource here`)
  fn = () => Promise.reject(new Error('canary'))
  expect(messageOf(await create())).toBe(`${failed} internal error`)
  fn = () => new Promise(() => {})
  expect(messageOf(await create())).toMatch(/timeout=1s": context deadline exceeded$|no response in time$/)
})

test('no request fails while the certificate authority is rotated', async () => {
  const folder = makeFolder()
  const [certfile, pkeyfile, cafile] = ['cert.pem', 'key.pem', 'ca.pem'].map((file) => join(folder, file)) as [
    string,
    string,
    string,
  ]
  const place = async (authority: CertificateAuthority) => {
    const { certPem, keyPem } = await authority.issue({ commonName: 'localhost', hosts: ['localhost'] })
    writeFileSync(certfile, certPem)
    writeFileSync(pkeyfile, keyPem)
    writeFileSync(cafile, authority.caPem)
  }
  await place(await CertificateAuthority.create('the-authority'))
  const clock = new ManualClock()
  let isCalled = false
  const slow: WebhookFn = async (review) => {
    isCalled = true
    await new Promise((resolve) => setTimeout(resolve, 100))
    return allow(review)
  }
  await using serving = await serve(new WebhookServer({ certfile, pkeyfile, cafile }), slow, clock)
  await register(serving.configs[0]!)
  await untilCalled(() => isCalled)
  // Enough requests at once that some need new connections.
  const burst = async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create()))
    expect(answers.map((answer) => (answer.status === 201 ? 'created' : messageOf(answer)))).toEqual(
      Array(12).fill('created'),
    )
  }
  await place(await CertificateAuthority.create('the-authority'))
  for (const [step, pauseMs] of [60_000, 10_000].entries()) {
    await clock.advance(pauseMs)
    await serving.untilConfigs(step + 2)
    await burst()
    await register(serving.configs[step + 1]!)
    // The API server learns of the new configuration with a delay, which the pause of the clock allows for.
    for (let count = 0; count < 5; count += 1) await burst()
  }
  expect(serving.configs).toHaveLength(3)
  rmSync(folder, { recursive: true })
})
