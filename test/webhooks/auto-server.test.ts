/** Servers that guess how the cluster reaches this machine. */
import { WebhookAutoServer, WebhookAutoTunnel, type WebhookClientConfig, type WebhookContext } from 'kopf/webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ClusterSigns } from '../../src/client/cluster-signs.ts'
import { systemClock } from '../../src/util/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log.ts'

const nothing: ClusterSigns = {
  subjectCommonName: undefined,
  subjectOrganization: undefined,
  issuerCommonName: undefined,
  hosts: [],
  gitVersion: undefined,
}
const minikube = { ...nothing, subjectCommonName: 'minikube' }

type Server = WebhookAutoServer | WebhookAutoTunnel

const leaving: Array<() => Promise<unknown>> = []

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const leave of leaving.splice(0)) await leave()
})

/** The first config of a server in a cluster that shows these signs. */
async function configOf(server: Server, signs: ClusterSigns): Promise<WebhookClientConfig> {
  const controller = new AbortController()
  const context: WebhookContext = {
    signal: controller.signal,
    logger: createLogger(createLogSink({ write: () => {} }), 'kopf.webhooks'),
    clock: systemClock,
    client: undefined as never,
    namespace: undefined,
    readSigns: async () => signs,
  }
  const configs = server.serve(async () => ({}), context)
  leaving.push(async () => {
    controller.abort()
    await configs.return()
  })
  return (await configs.next()).value as WebhookClientConfig
}

describe.each([
  ['WebhookAutoServer', WebhookAutoServer],
  ['WebhookAutoTunnel', WebhookAutoTunnel],
])('%s', (_, Kind) => {
  test('is reached by the name that the cluster has for this machine', async () => {
    const { url, caBundle } = await configOf(new Kind({ addr: '127.0.0.1', path: '/hooks' }), minikube)
    expect(url).toMatch(/^https:\/\/host\.minikube\.internal:\d+\/hooks$/)
    expect(caBundle).toMatch(/./)
  })

  test('refuses options that it does not have', () => {
    expect(() => new Kind({ ports: 1 } as object)).toThrow('did you mean "port"')
  })
})

test('in a cluster that tells nothing, WebhookAutoServer is reached as any local server', async () => {
  const { url } = await configOf(new WebhookAutoServer({ addr: '127.0.0.1' }), nothing)
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
})

test('whoever gives a host does not want it to be guessed', async () => {
  const { url } = await configOf(new WebhookAutoServer({ addr: '127.0.0.1', host: 'me.example.com' }), minikube)
  expect(url).toMatch(/^https:\/\/me\.example\.com:\d+$/)
})

test('in a cluster that tells nothing, WebhookAutoTunnel needs ngrok', async () => {
  // On an empty path it is not found: that it was looked for is enough to know.
  vi.stubEnv('PATH', '/nowhere')
  await expect(configOf(new WebhookAutoTunnel(), nothing)).rejects.toMatchObject({ code: 'KOPF_NGROK' })
})
