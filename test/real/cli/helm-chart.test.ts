/**
 * Charts of `kopf manifests --helm` with the real Helm: `helm lint`, `helm template` compared with the printed manifests, and install,
 * upgrade and uninstall on the embedded server.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startServer } from 'kopf/server'
import { beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../src/kube/objects.ts'
import { parseYaml } from '../../../src/util/yaml.ts'
import { ensureHelm } from '../../../tools/helm/helm.ts'
import { KopfCommand, useFolder } from '../../cli/run-support.ts'
import { Api } from '../../support/api.ts'
import { expectStatus } from '../../support/expectations.ts'

const folder = useFolder()
let program: string

beforeAll(async () => {
  program = await ensureHelm()
}, 900_000)

function operator(settings: string, more = ''): string {
  return `import { defineResource, Operator } from 'kopf'
import { WebhookServiceServer } from 'kopf/webhooks'
const kopf = new Operator({ name: 'databases', settings: ${settings} })
const json = { type: 'object', description: 'Use {{ name }}', properties: { name: { type: 'string', pattern: '^{{2}' } } }
const jsonSchema = { input: () => json, output: () => json }
const spec = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }), jsonSchema } }
const Database = defineResource({ group: 'example.com', version: 'v1', kind: 'Database', spec })
kopf.reconcile(Database, { owns: ['configmaps'] }, () => ({ children: [] }))
${more}
export default kopf
`
}

const single = operator('{}')
const elected = operator(
  "{ election: { enabled: true }, admission: { server: new WebhookServiceServer({ service: 'databases' }), managed: 'databases.example.com' } }",
  'kopf.on.validate(Database, () => {})',
)

async function helm(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd: folder.path })
  return stdout
}

async function manifests(...args: string[]): Promise<string> {
  const command = new KopfCommand(folder, ['manifests', 'operator.mjs', ...args])
  expect([await command.exit, command.stderr]).toEqual([0, expect.any(String)])
  return command.stdout
}

const helmLabels = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
]

/** The objects of a text by kind, namespace and name, without the labels and annotations that Helm needs. */
function objectsOf(text: string): Record<string, unknown> {
  const objects = (parseYaml(text) as KubeObject[]).map((object) => {
    const { annotations = {}, labels = {}, ...metadata } = object.metadata
    const ownLabels = Object.entries(labels).filter(([key]) => !helmLabels.includes(key))
    const ownAnnotations = Object.entries(annotations).filter(([key]) => key !== 'helm.sh/resource-policy')
    const key = `${object.kind} ${metadata.namespace ?? ''} ${metadata.name}`
    return [key, { ...object, metadata: { ...metadata, labels: ownLabels, annotations: ownAnnotations } }]
  })
  return Object.fromEntries(objects)
}

describe.each([
  ['one replica', single, []],
  ['named namespaces', single, ['-n', 'team-a', '-n', 'team-b', '--image', 'localhost:5000/databases:1.0']],
  ['its own namespace', single, ['-n', 'operators']],
  ['leader election and webhooks', elected, ['--image', 'databases@sha256:12', '--grant', 'get secrets']],
  ['one replica with leader election', elected, ['--replicas', '1']],
  ['metrics and the dashboard', elected, ['--with-metrics', '--with-dashboard']],
])('the chart of an operator with %s', { timeout: 60_000 }, (_, text, options) => {
  test('passes helm lint, and renders the objects that kopf manifests prints', async () => {
    folder.write({ 'operator.mjs': text })
    const args = [...options, '--with-crds', '--install-namespace', 'operators']
    const printed = await manifests(...args)
    await manifests(...args, '--helm', 'chart')
    await helm('lint', '--strict', 'chart', '--namespace', 'operators')
    const rendered = await helm('template', 'release', 'chart', '--namespace', 'operators')
    expect(objectsOf(rendered)).toEqual(objectsOf(printed))
  })
})

describe('the values of a chart', { timeout: 60_000 }, () => {
  test('are used in the Deployment, the ServiceAccount and the roles', async () => {
    folder.write({ 'operator.mjs': elected })
    await manifests('--helm', 'chart', '--with-crds')
    const values = {
      image: { tag: '', pullPolicy: 'Never' },
      imagePullSecrets: [{ name: 'registry' }],
      replicas: 1,
      logFormat: 'full',
      extraArgs: ['--verbose'],
      env: [{ name: 'REGION', value: 'eu' }],
      envFrom: [{ secretRef: { name: 'more' } }],
      podAnnotations: { a: 'b' },
      podLabels: { c: 'd' },
      podSecurityContext: { runAsUser: null },
      nodeSelector: { e: 'f' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      serviceAccount: { name: 'other', annotations: { role: 'x' } },
      networkPolicy: { enabled: false },
      crds: { install: false },
    }
    folder.write({ 'mine.yaml': JSON.stringify(values) })
    const objects = parseYaml(await helm('template', 'release', 'chart', '--values', 'mine.yaml')) as KubeObject[]
    const kinds = objects.map(({ kind }) => kind)
    for (const kind of ['NetworkPolicy', 'CustomResourceDefinition', 'PodDisruptionBudget'])
      expect(kinds).not.toContain(kind)
    const find = (kind: string) => objects.find((one) => one.kind === kind)
    expect(find('ServiceAccount')?.metadata).toMatchObject({ name: 'other', annotations: { role: 'x' } })
    expect(find('ClusterRoleBinding')).toMatchObject({ subjects: [{ name: 'other', namespace: 'default' }] })
    const { template } = find('Deployment')!['spec'] as {
      template: { metadata: object; spec: Record<string, unknown> }
    }
    expect(template).toMatchObject({
      metadata: { annotations: { a: 'b' }, labels: { c: 'd' } },
      spec: {
        serviceAccountName: 'other',
        imagePullSecrets: [{ name: 'registry' }],
        nodeSelector: { e: 'f' },
        tolerations: [{ operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
        priorityClassName: 'high',
        containers: [
          {
            image: 'databases:0.1.0',
            imagePullPolicy: 'Never',
            args: expect.arrayContaining(['--log-format=full', '--verbose']),
            env: expect.arrayContaining([{ name: 'REGION', value: 'eu' }]),
            envFrom: [{ secretRef: { name: 'more' } }],
          },
        ],
      },
    })
    expect(template.spec).not.toHaveProperty('topologySpreadConstraints')
    expect(template.spec['securityContext']).not.toHaveProperty('runAsUser')
  })

  test('are refused with a reason if they are misspelt, or if replicas would handle the same objects', async () => {
    folder.write({ 'operator.mjs': single })
    await manifests('--helm', 'chart', '-n', 'team-a', '--install-namespace', 'team-a')
    const refusal = async (...args: string[]) =>
      helm('template', 'release', 'chart', '--namespace', 'team-a', ...args).then(
        () => 'accepted',
        ({ stderr }: { stderr: string }) => stderr,
      )
    expect(await refusal('--set', 'image.tagg=1')).toContain('tagg')
    expect(await refusal('--set', 'replicas=2')).toContain('it has no leader election')
    expect(await refusal('--namespace', 'team-b')).toContain(
      'Cannot install databases in another namespace than team-a',
    )
    expect(await refusal()).toBe('accepted')
  })
})

test('a chart is installed, upgraded with a changed CRD, and uninstalled; the CRDs stay', {
  timeout: 120_000,
}, async () => {
  const server = await startServer()
  const api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
  try {
    folder.write({ 'operator.mjs': single, kubeconfig: server.kubeconfig })
    const install = (...args: string[]) =>
      helm(
        'upgrade',
        '--install',
        'databases',
        'chart',
        '--kubeconfig',
        'kubeconfig',
        '--namespace',
        'operators',
        '--create-namespace',
        ...args,
      )
    await manifests('--helm', 'chart', '--with-crds')
    expect(await install()).toContain('kubectl --namespace operators rollout status deployment/databases')
    const deployment = '/apis/apps/v1/namespaces/operators/deployments/databases'
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/databases.example.com'
    expectStatus(await api.get(deployment), 200)

    folder.write({ 'operator.mjs': single.replace('Use {{ name }}', 'Another description') })
    await manifests('--helm', 'chart', '--with-crds')
    await install('--set', 'image.tag=2.0')
    expect(JSON.stringify((await api.get(crd)).body)).toContain('Another description')
    expect(JSON.stringify((await api.get(deployment)).body)).toContain('databases:2.0')

    await helm('uninstall', 'databases', '--kubeconfig', 'kubeconfig', '--namespace', 'operators')
    expectStatus(await api.get(deployment), 404)
    expectStatus(await api.get(crd), 200)
  } finally {
    api.close()
    await server.stop()
  }
})
