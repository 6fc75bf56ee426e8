/** The values of a chart: values.yaml with comments, and values.schema.json, both from one list. */
import { formatYamlForPeople, type YamlComment } from '../../../util/yaml.ts'
import type { DeploymentPlan } from '../plan.ts'

/** The parts of the written Deployment that become values. */
export interface WorkloadDefaults {
  readonly replicas: number
  readonly podSecurityContext: object
  readonly resources: object
  readonly heapMi: number
}

/** What the chart contains apart from the workload. */
export interface ChartParts {
  readonly hasCrds: boolean
  readonly hasNetworkPolicy: boolean
}

/** One value, or a group of values. */
interface ChartValue {
  readonly value?: unknown
  readonly comment?: string
  /** The JSON schema of the value. */
  readonly schema?: object
  readonly group?: Readonly<Record<string, ChartValue>>
}

export type ChartValues = Readonly<Record<string, ChartValue>>

const text = { type: 'string' }
const flag = { type: 'boolean' }
const map = { type: 'object' }
const list = { type: 'array', items: { type: 'object' } }
const labels = { type: 'object', additionalProperties: text }

export function listValues(plan: DeploymentPlan, defaults: WorkloadDefaults, parts: ChartParts): ChartValues {
  return {
    image: { group: imageValues(plan) },
    imagePullSecrets: { value: [], comment: 'Secrets for a private registry: [{name: registry}].', schema: list },
    ...workloadValues(plan, defaults),
    ...podValues(defaults),
    serviceAccount: {
      group: {
        create: { value: true, comment: 'False: use the existing ServiceAccount of that name.', schema: flag },
        name: { value: '', comment: `Empty: ${plan.name}.`, schema: text },
        annotations: { value: {}, comment: 'For example the role of a cloud provider.', schema: labels },
      },
    },
    rbac: {
      group: {
        create: {
          value: true,
          comment: 'False: the roles and their bindings are created in another way.',
          schema: flag,
        },
      },
    },
    ...(parts.hasNetworkPolicy && {
      networkPolicy: {
        group: {
          enabled: {
            value: true,
            comment: 'Allow only connections to the ports of webhooks, metrics and the dashboard, if any.',
            schema: flag,
          },
        },
      },
    }),
    ...(plan.endpoints.some(({ name }) => name === 'metrics') && { monitoring: { group: monitoringValues() } }),
    ...(parts.hasCrds && { crds: { group: crdValues() } }),
  }
}

function imageValues({ image }: DeploymentPlan): ChartValues {
  const { repository, tag, digest } = splitImage(image)
  return {
    repository: { value: repository, schema: { ...text, minLength: 1 } },
    tag: { value: tag, comment: 'Empty: the appVersion of the chart.', schema: text },
    digest: { value: digest, comment: 'For example sha256:…; the tag has no effect then.', schema: text },
    pullPolicy: {
      value: '',
      comment: 'Empty: the default of Kubernetes, Always for the tag latest and IfNotPresent for other tags.',
      schema: { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
    },
  }
}

function workloadValues({ isElected, graceSeconds }: DeploymentPlan, defaults: WorkloadDefaults): ChartValues {
  return {
    replicas: {
      value: defaults.replicas,
      comment: isElected
        ? 'One of them is the leader, the others wait.'
        : 'At most 1: the operator has no leader election. 0 stops it.',
      schema: { type: 'integer', minimum: 0 },
    },
    resources: { value: defaults.resources, schema: map },
    heapMiB: {
      value: defaults.heapMi,
      comment: "Node's heap in MiB: five eighths of resources.limits.memory. Change both.",
      schema: { type: 'integer', minimum: 64 },
    },
    terminationGracePeriodSeconds: {
      value: graceSeconds,
      comment: `How long the operator may take to stop. Its handlers need ${graceSeconds}.`,
      schema: { type: 'integer', minimum: 1 },
    },
    logFormat: {
      value: 'json',
      comment: 'json, full, plain or short.',
      schema: { enum: ['json', 'full', 'plain', 'short'] },
    },
    extraArgs: {
      value: [],
      comment: 'Further options of `kopf run`, such as [--verbose]. The scope is fixed, as the roles depend on it.',
      schema: { type: 'array', items: text },
    },
    env: { value: [], comment: 'Further environment variables: [{name: REGION, value: eu}].', schema: list },
    envFrom: { value: [], comment: 'Environment variables from Secrets and ConfigMaps.', schema: list },
  }
}

function podValues({ podSecurityContext }: WorkloadDefaults): ChartValues {
  return {
    podAnnotations: { value: {}, schema: labels },
    podLabels: { value: {}, schema: labels },
    podSecurityContext: {
      value: podSecurityContext,
      comment: 'On OpenShift, which chooses a user: set runAsUser and runAsGroup to null.',
      schema: map,
    },
    nodeSelector: { value: {}, schema: labels },
    tolerations: { value: [], schema: list },
    affinity: { value: {}, schema: map },
    priorityClassName: { value: '', schema: text },
  }
}

function monitoringValues(): ChartValues {
  const enabled = (comment: string): ChartValue => ({ value: true, comment, schema: flag })
  return {
    labels: {
      value: {},
      comment:
        'Labels by which Prometheus selects ServiceMonitors and PrometheusRules, for example release: kube-prometheus-stack.',
      schema: labels,
    },
    serviceMonitor: {
      group: {
        enabled: enabled('False: Prometheus finds the Service in another way, or its operator is not installed.'),
        tlsConfig: {
          value: { insecureSkipVerify: true },
          comment: 'With a certificate of your own: ca and serverName, and insecureSkipVerify: null.',
          schema: map,
        },
      },
    },
    prometheusRule: { group: { enabled: enabled('False: no alerts.') } },
    grafanaDashboard: { group: { enabled: enabled('False: no ConfigMap with the dashboard for Grafana.') } },
  }
}

function crdValues(): ChartValues {
  return {
    install: {
      value: true,
      comment: 'False: the CRDs are installed in another way, for example by `kopf crd`.',
      schema: flag,
    },
    keep: {
      value: true,
      comment: '`helm uninstall` keeps the CRDs. False: it deletes them, and with them ALL objects of these kinds.',
      schema: flag,
    },
  }
}

interface ImageParts {
  readonly repository: string
  readonly tag: string
  readonly digest: string
}

/** `registry.example.com:5000/databases:1.2.0@sha256:…` in its parts. A colon before a slash belongs to the port. */
export function splitImage(image: string): ImageParts {
  const [named = '', digest = ''] = image.split('@')
  const colon = named.lastIndexOf(':')
  const hasTag = colon > named.lastIndexOf('/')
  return {
    repository: hasTag ? named.slice(0, colon) : named,
    tag: hasTag ? named.slice(colon + 1) : digest === '' ? 'latest' : '',
    digest,
  }
}

/** values.yaml without its heading. */
export function formatValues(values: ChartValues): string {
  const comments: YamlComment[] = []
  return formatYamlForPeople(toObject(values, [], comments), comments)
}

function toObject(values: ChartValues, path: readonly string[], comments: YamlComment[]): Record<string, unknown> {
  const entries = Object.entries(values).map(([key, { value, comment, group }]) => {
    const own = [...path, key]
    if (comment !== undefined) comments.push({ path: own, text: comment })
    return [key, group === undefined ? value : toObject(group, own, comments)]
  })
  return Object.fromEntries(entries)
}

/** values.schema.json: Helm refuses values of the wrong type, and misspelt names. */
export function toValuesSchema(values: ChartValues, comment: string): object {
  // Parent charts pass `global` to all charts, and `enabled` to those with a condition.
  const { properties, ...rest } = toSchema(values)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $comment: comment,
    ...rest,
    properties: { ...properties, global: map, enabled: flag },
  }
}

interface ObjectSchema {
  readonly type: 'object'
  readonly additionalProperties: false
  readonly properties: Readonly<Record<string, object>>
}

function toSchema(values: ChartValues): ObjectSchema {
  const properties = Object.entries(values).map(([key, { schema, comment, group }]) => {
    const own = group === undefined ? schema! : toSchema(group)
    return [key, { ...own, ...(comment !== undefined && { description: comment }) }]
  })
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}
