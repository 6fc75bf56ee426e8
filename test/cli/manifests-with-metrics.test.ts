/** `kopf manifests --with-metrics` and `--with-dashboard`: the objects for Prometheus and Grafana, and the permissions for the reviews of clients. */
import { Operator } from 'kopf'
import { WebhookServer, WebhookServiceServer } from 'kopf/webhooks'
import { expect, test } from 'vitest'
import { type DraftArguments, draft } from '../../src/cli/deployment/draft.ts'
import { createChart } from '../../src/cli/deployment/helm/chart.ts'
import { discoverForPlan } from '../../src/cli/deployment/known-resources.ts'
import { render } from '../../src/cli/deployment/render.ts'
import type { PartialSettings } from '../../src/settings/settings.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import type { Tree } from '../support/answers.ts'

type Printed = Tree & { readonly kind: string; readonly metadata: Tree }

async function planOf(operator: Operator, args: Partial<DraftArguments>) {
  const options = { installNamespace: 'ops', image: 'x:1', ...args }
  const { plan } = draft(operator, {
    ...options,
    folder: '/somewhere',
    scope: { namespaces: ['team-a'] },
    peering: { standalone: true },
    resources: await discoverForPlan(operator, {}),
    grants: [],
    calls: { clear: [], unclear: [], unread: [] },
  })
  return { plan, options }
}

async function print(operator: Operator, args: Partial<DraftArguments>): Promise<Printed[]> {
  const { plan, options } = await planOf(operator, args)
  return parseYaml(render(operator, plan, options)) as Printed[]
}

function operatorOf(settings: PartialSettings = {}): Operator {
  const kopf = new Operator({ name: 'mine', settings })
  kopf.on.event('pods', () => {})
  return kopf
}

const withWebhooks = () => {
  const admission = { server: new WebhookServiceServer({ service: 'mine' }), managed: 'mine.example.com' }
  const kopf = operatorOf({ admission, election: { enabled: true } })
  kopf.on.validate('pods', () => {})
  return kopf
}

const namesOf = (objects: readonly Printed[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata['name']}`).sort()

test('without the options, nothing about metrics is printed', async () => {
  const objects = await print(operatorOf(), {})
  expect(JSON.stringify(objects)).not.toMatch(/metrics|dashboard|tokenreviews|8443|8444/)
})

test('--with-metrics adds the objects for Prometheus and Grafana, and the permissions', async () => {
  const before = namesOf(await print(operatorOf(), {}))
  const after = await print(operatorOf(), { withMetrics: true })
  expect(namesOf(after).filter((name) => !before.includes(name))).toEqual([
    'ClusterRole mine-access-reviews',
    'ClusterRole mine-metrics-reader',
    'ClusterRoleBinding mine-access-reviews',
    'ConfigMap mine-grafana-dashboard',
    'PrometheusRule mine',
    'Service mine-metrics',
    'ServiceMonitor mine',
  ])
  const find = (name: string) => after.find(({ kind, metadata }) => `${kind} ${metadata['name']}` === name)
  expect(find('Deployment mine')).toMatchObject({
    spec: {
      template: {
        spec: {
          containers: [
            {
              args: expect.arrayContaining(['--metrics=https://0.0.0.0:8443/metrics']),
              ports: expect.arrayContaining([{ name: 'metrics', containerPort: 8443 }]),
            },
          ],
        },
      },
    },
  })
  expect(find('NetworkPolicy mine')).toMatchObject({ spec: { ingress: [{ ports: [{ port: 8443 }] }] } })
  const rules = (name: string) => (find(name) as { rules?: unknown } | undefined)?.rules
  expect(rules('ClusterRole mine-metrics-reader')).toEqual([{ nonResourceURLs: ['/metrics'], verbs: ['get'] }])
  expect(rules('ClusterRole mine-access-reviews')).toEqual([
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ])
  expect(find('ServiceMonitor mine')).toMatchObject({
    spec: {
      selector: { matchLabels: find('Service mine-metrics')!.metadata['labels'] },
      endpoints: [{ port: 'metrics', scheme: 'https', tlsConfig: { insecureSkipVerify: true } }],
    },
  })
  const { data, metadata } = find('ConfigMap mine-grafana-dashboard') as unknown as {
    data: Record<string, string>
    metadata: { labels: Record<string, string> }
  }
  expect(metadata.labels['grafana_dashboard']).toBe('1')
  expect(JSON.parse(data['mine.json']!)).toMatchObject({ title: 'Operator mine', panels: expect.any(Array) })
})

test('--with-dashboard adds the argument, the port and the permission for reviews', async () => {
  const before = namesOf(await print(operatorOf(), {}))
  const after = await print(operatorOf(), { withDashboard: true })
  expect(namesOf(after).filter((name) => !before.includes(name))).toEqual([
    'ClusterRole mine-access-reviews',
    'ClusterRoleBinding mine-access-reviews',
  ])
  const { args, ports } = containerIn(after)
  expect(args).toContain('--dashboard=https://0.0.0.0:8444/')
  expect(ports).toContainEqual({ name: 'dashboard', containerPort: 8444 })
})

function containerIn(objects: readonly Printed[]) {
  const { spec } = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { spec: { containers: [{ args: string[]; ports: object[] }] } } }
  }
  return spec.template.spec.containers[0]
}

test.each<[string, () => Operator, string[]]>([
  ['a single replica without webhooks', () => operatorOf(), []],
  ['an operator with leader election and webhooks', withWebhooks, ['OperatorLeaderLost', 'OperatorWebhookDenials']],
])('%s has alerts only for what it has', async (_, create, own) => {
  const objects = await print(create(), { withMetrics: true })
  const text = JSON.stringify(objects)
  for (const alert of ['OperatorLeaderLost', 'OperatorWebhookDenials'])
    expect(text.includes(alert)).toBe(own.includes(alert))
  for (const alert of ['OperatorNotScraped', 'OperatorStreamSilent', 'OperatorEventLoopLag'])
    expect(text).toContain(alert)
  // Without leader election or webhooks, their series do not exist, and a panel about them would be empty.
  expect(text.includes('leader_election_master_status')).toBe(own.length > 0)
  expect(text.includes('controller_runtime_webhook')).toBe(own.length > 0)
})

test('without a known port of the webhooks, there is no NetworkPolicy that could block them', async () => {
  const kopf = operatorOf({ admission: { server: new WebhookServer() } })
  kopf.on.validate('pods', () => {})
  const objects = await print(kopf, { withMetrics: true })
  expect(objects.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
})

test('the Service of the metrics is selected by labels that the Service of the webhooks does not have', async () => {
  const objects = await print(withWebhooks(), { withMetrics: true })
  const services = objects.filter(({ kind }) => kind === 'Service')
  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor') as unknown as {
    spec: { selector: { matchLabels: Record<string, string> } }
  }
  const selected = services.filter(({ metadata }) =>
    Object.entries(monitor.spec.selector.matchLabels).every(
      ([key, value]) => (metadata['labels'] as unknown as Record<string, string>)[key] === value,
    ),
  )
  expect(services).toHaveLength(2)
  expect(selected.map(({ metadata }) => metadata['name'])).toEqual(['mine-metrics'])
})

test('the chart has the objects with values to switch each of them off, and keeps the templates of alerts', async () => {
  const operator = withWebhooks()
  const { plan } = await planOf(operator, { withMetrics: true })
  const files = createChart(operator, plan, { version: '1.0.0' })
  expect(files.get('templates/servicemonitor.yaml')).toContain('{{- if .Values.monitoring.serviceMonitor.enabled }}')
  expect(files.get('templates/grafana-dashboard.yaml')).toContain(
    '{{- if .Values.monitoring.grafanaDashboard.enabled }}',
  )
  // The braces of an alert's text are for Prometheus, not for Helm.
  expect(files.get('templates/prometheusrule.yaml')).toContain('{{ "{{" }} $labels.resource }}')
  const [values] = parseYaml(files.get('values.yaml')!) as Tree[]
  expect(values!['monitoring']).toMatchObject({
    labels: {},
    serviceMonitor: { enabled: true, tlsConfig: { insecureSkipVerify: true } },
    prometheusRule: { enabled: true },
  })
})
