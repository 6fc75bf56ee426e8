/**
 * `WebhookServiceServer` with a real API server, which calls it by the name of a Service and checks its certificate for that
 * name. There is no pod network here, so the Service is an ExternalName for this machine.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { WebhookClientConfig } from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ConnectionInfo } from '../../src/client/auth/connection-info.ts'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { nextTurn, systemClock } from '../../src/util/async/clock.ts'
import type { Transport } from '../../src/util/transport.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import type { Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { expectStatus } from '../support/expectations.ts'
import { certificatesIn, hourMs, minuteMs, Replica } from '../webhooks/webhook-replicas.ts'

const cluster = useCluster()
const hooksPath = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
let transport: HttpsTransport
let port: number

beforeAll(async () => {
  const { url, caPem, admin } = inject('realCluster')
  transport = createHttpsTransport(
    new ConnectionInfo({ server: url, caData: caPem, certificateData: admin.certPem, privateKeyData: admin.keyPem }),
  )
  port = await findPort()
  // The API server resolves the external name of such a Service by DNS.
  const spec = { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] }
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' }, spec }
  expectStatus(await cluster.api.post(cluster.core('services'), service), 201)
})

afterAll(() => transport.close())

async function findPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port: free } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return free
}

/** The configuration that an operator would write: the path of the webhook is appended to that of the server. */
function configurationOf({ service, caBundle }: WebhookClientConfig): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: cluster.namespace },
    webhooks: [
      {
        name: 'check.example.com',
        clientConfig: { service: { ...service, path: `${service!.path}/check` }, caBundle },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': cluster.namespace } },
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 5,
      },
    ],
  }
}

async function tell(config: WebhookClientConfig): Promise<void> {
  const path = `${hooksPath}/${cluster.namespace}`
  const { status } = await cluster.api.mergePatch(path, configurationOf(config))
  if (status === 404) expectStatus(await cluster.api.post(hooksPath, configurationOf(config)), 201)
}

/** Creates an object that the webhook reviews. Resolves with the status and the message. */
async function attempt(): Promise<string> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-' } }
  const answer = await cluster.api.post(`${cluster.core('configmaps')}?dryRun=All`, body)
  return `${answer.status} ${(answer.body as Tree)['message'] ?? ''}`
}

const denial = '403 admission webhook "check.example.com" denied the request: reviewed'

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + 20_000
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error(`Never came true: ${isSo}`)
    await nextTurn()
  }
}

function start(clock: SkippingClock, through: Transport = transport): Replica {
  return new Replica({ clock }, through, {
    namespace: cluster.namespace,
    port,
    servicePort: port,
    path: '/hooks',
    addr: undefined,
  } as object)
}

async function passTenMinutes(clock: SkippingClock, replica: Replica): Promise<void> {
  const endMs = clock.now() + 10 * minuteMs
  do await until(() => replica.isIdle)
  while (clock.skip(endMs))
  clock.set(endMs)
}

test('the API server calls the webhook server by its Service, also during a rotation of all keys', async () => {
  // In the past, so that all certificates are valid by the clock of the API server.
  const clock = new SkippingClock(Date.now() - 10.5 * hourMs)
  const replica = start(clock)
  try {
    await until(() => replica.isIdle && replica.configs.length > 0)
    await tell(replica.configs[0]!)
    await until(async () => (await attempt()) === denial)
    const old = replica.bundle
    clock.set(clock.now() + 8 * hourMs)
    const shown = new Set<string>()
    for (let told = 1; clock.now() < Date.now(); told = replica.configs.length) {
      await passTenMinutes(clock, replica)
      if (replica.configs.length > told) await tell(replica.configs.at(-1)!)
      shown.add((await replica.shown()).serialNumber)
      for (let index = 0; index < 10; index += 1) expect(await attempt()).toBe(denial)
    }
    expect(shown.size).toBe(2)
    expect(replica.bundle).not.toContain(old)
    expect(certificatesIn(replica.bundle)).toHaveLength(1)
    await tell(replica.configs.at(-1)!)
    expect(await attempt()).toBe(denial)
  } finally {
    await replica.stop()
    await cluster.api.delete(`${hooksPath}/${cluster.namespace}`)
  }
})

describe('documented permissions of the webhook server', () => {
  /** The same transport, as the service account of an operator. */
  const asOperator: Transport = {
    send: (request, signal) => {
      const user = `system:serviceaccount:${cluster.namespace}:my-operator`
      return transport.send({ ...request, headers: { ...request.headers, 'impersonate-user': user } }, signal)
    },
  }

  function startAsOperator(): Replica {
    const options = { namespace: cluster.namespace, service: 'my-operator' }
    return new Replica({ clock: systemClock }, asOperator, options)
  }

  test('the webhook server fails with the missing permission where none are granted', async () => {
    const replica = startAsOperator()
    await until(() => replica.failure !== undefined)
    expect(replica.failure).toMatchObject({ code: 'KOPF_WEBHOOK_SECRET' })
    expect(replica.failure!.message).toMatch(/cannot get resource "secrets".*allow the operator/)
  })

  test('the documented permissions suffice for the webhook server', async () => {
    const pages = readdirSync(join('docs', 'reference')).filter((name) => name.startsWith('webhook-servers'))
    const texts = pages.map((name) => readFileSync(join('docs', 'reference', name), 'utf8'))
    const [, yaml] = /^```yaml\n(.*?^kind: Role\n.*?)^```/ms.exec(texts.join('\n'))!
    for (const object of parseYaml(yaml!) as Tree[]) {
      if (object['kind'] === 'RoleBinding') {
        for (const subject of object['subjects'] as Tree[]) subject['namespace'] = cluster.namespace
      }
      const rest = `${String(object['kind']).toLowerCase()}s`
      const path =
        object['kind'] === 'Service' ? cluster.core(rest) : cluster.grouped(String(object['apiVersion']), rest)
      expectStatus(await cluster.api.post(path, object), 201)
    }
    const [first, second] = [startAsOperator(), startAsOperator()]
    try {
      await until(() => [first, second].every(({ isIdle, configs }) => isIdle && configs.length === 1))
      expect(first.bundle).toBe(second.bundle)
      // The role also allows watch and update: a changed Secret is noticed and repaired at once.
      const path = cluster.core('secrets/my-operator-certificates')
      await cluster.api.mergePatch(path, { data: { 'tls.key': '' } })
      await until(async () => ((await cluster.api.get(path)).body['data'] as Tree)['tls.key'] !== '')
      expect([...first.logs, ...second.logs].join('')).not.toContain('Cannot')
    } finally {
      await Promise.all([first.stop(), second.stop()])
    }
  })
})
