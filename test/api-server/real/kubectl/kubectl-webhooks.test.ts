/** The output of kubectl about webhooks: the same on both servers. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../../../support/expectations.ts'
import { patching, type Review, reviewed, WebhookServer } from '../../../support/webhook-server.ts'
import { Kubectl, normalise, type Outcome } from './run-kubectl.ts'

const real = inject('realCluster')
const folder = mkdtempSync(join(tmpdir(), 'kubectl-admission-'))
const servers = ['real', 'embedded'] as const
const namespace = 'kubectl-admission'
let embedded: RunningServer
let webhook: WebhookServer

const on = (server: (typeof servers)[number]) =>
  new Kubectl({ program: real.kubectl, kubeconfig: join(folder, `${server}.kubeconfig`), namespace, folder })

/** The response of the webhook depends on the key `wish` of the ConfigMap. */
function review(asked: Review): ReturnType<typeof reviewed> {
  const { data = {} } = (asked.request['object'] ?? {}) as { data?: Record<string, string> }
  switch (data['wish']) {
    case 'denied':
      return reviewed(asked, { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'not with me' } })
    case 'warned':
      return reviewed(asked, { warnings: ['this is "deprecated"', 'and this, too'] })
    case 'changed':
      return reviewed(asked, patching({ op: 'add', path: '/data/changed', value: 'yes' }))
    case 'broken':
      return { status: 500, contentType: 'text/plain', body: 'out of order' }
    default:
      return reviewed(asked)
  }
}

const configuration = () => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: namespace },
  webhooks: [
    {
      name: 'kubectl.example.com',
      clientConfig: webhook.at('/review'),
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    },
  ],
})

beforeAll(async () => {
  webhook = await WebhookServer.start()
  webhook.on('/review', (asked) => review(asked.review))
  embedded = await startServer()
  copyFileSync(real.kubeconfigs.admin, join(folder, 'real.kubeconfig'))
  writeFileSync(join(folder, 'embedded.kubeconfig'), embedded.kubeconfig)
  writeFileSync(join(folder, 'configuration.json'), JSON.stringify(configuration()))
  for (const server of servers) {
    await on(server).run(`create namespace ${namespace}`)
    await on(server).run('create -f configuration.json')
    // The real API server learns of the configuration with a delay.
    const refused = () => on(server).run('create configmap probe --from-literal=wish=denied --dry-run=server')
    await eventually(async () => expect((await refused()).code).toBe(1))
  }
})

afterAll(async () => {
  await on('real').run('delete -f configuration.json')
  await on('real').run(`delete namespace ${namespace} --wait=false`)
  await embedded.stop()
  await webhook.stop()
  rmSync(folder, { recursive: true })
})

test.each([
  [
    'a denial by a webhook',
    1,
    ['create configmap denied --from-literal=wish=denied'],
    'denied the request: not with me\n',
  ],
  ['a webhook that fails', 1, ['create configmap broken --from-literal=wish=broken'], 'out of order'],
  [
    'warnings of a webhook',
    0,
    ['create configmap warned --from-literal=wish=warned'],
    'Warning: this is "deprecated"\n',
  ],
  [
    'a patch by a webhook',
    0,
    ['create configmap changed --from-literal=wish=changed', 'get configmap changed -o jsonpath={.data}'],
    '',
  ],
  [
    'an edit that a webhook denies',
    1,
    [
      'create configmap edited --from-literal=wish=nothing',
      'patch configmap edited --type=merge -p {"data":{"wish":"denied"}}',
    ],
    'admission webhook "kubectl.example.com" denied the request: not with me',
  ],
  [
    'the webhook configuration',
    0,
    ['get mutatingwebhookconfigurations', `describe mutatingwebhookconfiguration ${namespace}`],
    '',
  ],
])('kubectl prints the same on both servers for %s', async (_, code, commands, words) => {
  const [onReal, onEmbedded] = await Promise.all(servers.map((server) => play(server, commands)))
  expect(onEmbedded).toEqual(onReal)
  expect(onReal!.at(-1)!.code).toBe(code)
  expect(onReal!.at(-1)!.stderr).toContain(words)
})

async function play(server: (typeof servers)[number], commands: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const command of commands) outcomes.push(withoutManagers(normalise(await on(server).run(command))))
  return outcomes
}

/** Removes managed fields, which the tests of server-side apply compare. */
function withoutManagers(outcome: Outcome): Outcome {
  return { ...outcome, stdout: outcome.stdout.replace(/^ +Managed Fields:\n(?: {4,}.*\n)+/m, '') }
}
