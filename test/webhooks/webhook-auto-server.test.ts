/** Webhook servers that guess how the cluster reaches this machine. */
import { WebhookAutoServer, WebhookAutoTunnel, type WebhookClientConfig, type WebhookContext } from 'kopf/webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ClusterFlavour } from '../../src/client/cluster-flavour.ts'
import { systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'

const nothing: ClusterFlavour = {
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

/** The first client config of a server in a cluster of this flavour. */
async function configOf(server: Server, signs: ClusterFlavour): Promise<WebhookClientConfig> {
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
  test("an auto webhook server has the URL with the cluster's name for this machine", async () => {
    const { url, caBundle } = await configOf(new Kind({ addr: '127.0.0.1', path: '/hooks' }), minikube)
    expect(url).toMatch(/^https:\/\/host\.minikube\.internal:\d+\/hooks$/)
    expect(caBundle).toMatch(/./)
  })

  test('an auto webhook server refuses unknown options', () => {
    expect(() => new Kind({ ports: 1 } as object)).toThrow('did you mean "port"')
  })
})

test('WebhookAutoServer has a local URL in an unknown cluster', async () => {
  const { url } = await configOf(new WebhookAutoServer({ addr: '127.0.0.1' }), nothing)
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
})

test('WebhookAutoServer uses the given host instead of guessing it', async () => {
  const { url } = await configOf(new WebhookAutoServer({ addr: '127.0.0.1', host: 'me.example.com' }), minikube)
  expect(url).toMatch(/^https:\/\/me\.example\.com:\d+$/)
})

test('WebhookAutoTunnel needs ngrok in an unknown cluster', async () => {
  // ngrok is not found in this PATH; the error shows that it was searched for.
  vi.stubEnv('PATH', '/nowhere')
  await expect(configOf(new WebhookAutoTunnel(), nothing)).rejects.toMatchObject({ code: 'KOPF_NGROK' })
})
