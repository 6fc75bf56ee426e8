/**
 * Writes the objects of `--with-metrics` and `--with-dashboard`: Service, ServiceMonitor, PrometheusRule, the Grafana dashboard, and the roles of the
 * operator, which reviews its clients, and of scrapers.
 */
import { type CommentedObject, type DeploymentPlan, labelsOf } from '../plan.ts'
import { jobOf, listAlerts } from './alerts.ts'
import { createGrafanaDashboard } from './grafana.ts'

const rbac = 'rbac.authorization.k8s.io'
const monitoring = 'monitoring.coreos.com/v1'

/** The roles for the reviews of clients, and for scrapers. */
export function writeReviewAccess(plan: DeploymentPlan): CommentedObject[] {
  if (plan.endpoints.length === 0) return []
  return [...writeReviewRole(plan), ...(hasMetrics(plan) ? [writeScraperRole(plan)] : [])]
}

/** The objects by which Prometheus and Grafana find the metrics. */
export function writeMonitoring(plan: DeploymentPlan): CommentedObject[] {
  if (!hasMetrics(plan)) return []
  return [writeMetricsService(plan), writeServiceMonitor(plan), writeRules(plan), writeGrafanaConfigMap(plan)]
}

function hasMetrics({ endpoints }: DeploymentPlan): boolean {
  return endpoints.some(({ name }) => name === 'metrics')
}

/** Tells the Service of the metrics from that of the webhooks. */
function monitoringLabels(plan: DeploymentPlan): Record<string, string> {
  return { ...labelsOf(plan), 'kopf.dev/endpoint': 'metrics' }
}

function writeReviewRole(plan: DeploymentPlan): CommentedObject[] {
  const name = `${plan.name}-access-reviews`
  const labels = labelsOf(plan)
  const role = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules: [
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ],
  }
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: plan.name, namespace: plan.namespace }],
  }
  const text = `To ask the API server who the clients of ${plan.endpoints.map(({ title }) => title).join(' and ')} are, and what they may do.`
  return [{ object: role, remarks: [{ path: ['rules', 0], text }] }, { object: binding }]
}

function writeScraperRole(plan: DeploymentPlan): CommentedObject {
  const name = `${plan.name}-metrics-reader`
  const object = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels: labelsOf(plan) },
    rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
  }
  const text = `For scrapers: bind it to the service account of Prometheus, for example with \`kubectl create clusterrolebinding ${name} --clusterrole=${name} --serviceaccount=monitoring:prometheus-k8s\`.`
  return { object, remarks: [{ path: ['rules', 0], text }] }
}

function writeMetricsService(plan: DeploymentPlan): CommentedObject {
  const { port } = plan.endpoints.find(({ name }) => name === 'metrics')!
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: jobOf(plan), namespace: plan.namespace, labels: monitoringLabels(plan) },
    spec: {
      selector: labelsOf(plan),
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      ports: [{ name: 'metrics', port, targetPort: 'metrics' }],
    },
  }
  const text = 'A pod that is not ready is scraped, too: its metrics say why.'
  return { object, remarks: [{ path: ['spec', 'publishNotReadyAddresses'], text }] }
}

function writeServiceMonitor(plan: DeploymentPlan): CommentedObject {
  const object = {
    apiVersion: monitoring,
    kind: 'ServiceMonitor',
    metadata: { name: plan.name, namespace: plan.namespace, labels: monitoringLabels(plan) },
    spec: {
      selector: { matchLabels: monitoringLabels(plan) },
      endpoints: [
        {
          port: 'metrics',
          path: '/metrics',
          scheme: 'https',
          bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
          tlsConfig: { insecureSkipVerify: true },
        },
      ],
    },
  }
  const endpoint = ['spec', 'endpoints', 0]
  return {
    object,
    remarks: [
      {
        path: ['metadata', 'labels'],
        text: 'Prometheus selects ServiceMonitors and PrometheusRules by labels, for example by `release: kube-prometheus-stack`: add yours.',
      },
      { path: [...endpoint, 'bearerTokenFile'], text: 'The token of the service account of Prometheus.' },
      {
        path: [...endpoint, 'tlsConfig'],
        text: 'Prometheus does not check who answers: the certificate is self-signed, and new in each pod. Mount a certificate, name it with --metrics-cert and --metrics-key, and set ca and serverName here instead.',
      },
    ],
  }
}

function writeRules(plan: DeploymentPlan): CommentedObject {
  const object = {
    apiVersion: monitoring,
    kind: 'PrometheusRule',
    metadata: { name: plan.name, namespace: plan.namespace, labels: monitoringLabels(plan) },
    spec: { groups: [{ name: `operator-${plan.name}`, rules: listAlerts(plan) }] },
  }
  return { object }
}

function writeGrafanaConfigMap(plan: DeploymentPlan): CommentedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `${plan.name}-grafana-dashboard`,
      namespace: plan.namespace,
      labels: { ...monitoringLabels(plan), grafana_dashboard: '1' },
    },
    data: { [`${plan.name}.json`]: `${JSON.stringify(createGrafanaDashboard(plan), undefined, 2)}\n` },
  }
  const text = 'The sidecar of Grafana finds dashboards by this label. It may search only its own namespace.'
  return { object, remarks: [{ path: ['metadata', 'labels', 'grafana_dashboard'], text }] }
}
