/** The pods of the operator, as the restricted profile of pod security has them, and what stands in front of them. */
import { type DeploymentPlan, type Documented, labelsOf } from './plan.ts'

/** Where the operator tells of its health; as in the template's Dockerfile. */
export const healthPort = 8080

/**
 * V8's old generation gets five eighths of the memory of the container. Left to itself, V8 takes half. The rest is for Node itself,
 * the young generation, buffers, and the text of large objects, which is kept outside of the heap.
 */
const memoryMi = 512
const heapMi = 320

/** The user of distroless images; any number but 0 will do. */
const user = 65_532

export function writeWorkload(plan: DeploymentPlan): Documented[] {
  return [
    ...(plan.webhooks === undefined ? [] : [writeService(plan, plan.webhooks)]),
    writeDeployment(plan),
    ...(plan.replicas > 1 ? [writeDisruptionBudget(plan)] : []),
  ]
}

function writeDeployment(plan: DeploymentPlan): Documented {
  const { name, namespace, replicas, isElected } = plan
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      strategy: isElected
        ? { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
        : { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podOf(plan) },
    },
  }
  const strategy = isElected
    ? 'The new ones stand by until an old one stops.'
    : 'Two at once would both handle everything.'
  const container = ['spec', 'template', 'spec', 'containers', 0]
  return {
    object,
    remarks: [
      { path: ['spec', 'strategy'], text: strategy },
      {
        path: ['spec', 'template', 'spec', 'securityContext', 'runAsUser'],
        text: 'OpenShift chooses one: leave both out there.',
      },
      { path: [...container, 'env', 0], text: 'Who it is to other replicas and operators.' },
      { path: [...container, 'env', 1], text: 'The heap, in MiB: five eighths of the memory limit; change both.' },
      { path: [...container, 'startupProbe'], text: 'Startup handlers may take two minutes; then it is restarted.' },
      { path: [...container, 'livenessProbe', 'timeoutSeconds'], text: 'Probe handlers may take 5.' },
      { path: [...container, 'volumeMounts', 0], text: 'TypeScript is compiled into it.' },
    ],
  }
}

function podOf(plan: DeploymentPlan): object {
  const { name, graceSeconds, replicas } = plan
  return {
    serviceAccountName: name,
    terminationGracePeriodSeconds: graceSeconds,
    ...(replicas > 1 ? { topologySpreadConstraints: [onDifferentNodes(plan)] } : {}),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [containerOf(plan)],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }],
  }
}

function containerOf({ image, args, webhooks }: DeploymentPlan): object {
  const alive = { httpGet: { path: '/healthz', port: 'health' } }
  return {
    name: 'operator',
    image,
    args,
    env: [
      { name: 'POD_ID', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'NODE_OPTIONS', value: `--max-old-space-size=${heapMi}` },
    ],
    ports: [
      { name: 'health', containerPort: healthPort },
      ...(webhooks === undefined ? [] : [{ name: 'webhooks', containerPort: webhooks.targetPort }]),
    ],
    startupProbe: { ...alive, periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...alive, timeoutSeconds: 6 },
    readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: `${memoryMi}Mi` } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  }
}

/** Two on one node would go with it. */
function onDifferentNodes(plan: DeploymentPlan): object {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labelsOf(plan) },
  }
}

function writeService(plan: DeploymentPlan, { service, port }: NonNullable<DeploymentPlan['webhooks']>): Documented {
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: service, namespace: plan.namespace, labels },
    spec: {
      selector: labels,
      publishNotReadyAddresses: true,
      ports: [{ name: 'webhooks', port, targetPort: 'webhooks' }],
    },
  }
  const text = 'What is stored in another version has to be converted before the operator can be ready.'
  return { object, remarks: [{ path: ['spec', 'publishNotReadyAddresses'], text }] }
}

function writeDisruptionBudget(plan: DeploymentPlan): Documented {
  const { name, namespace } = plan
  const labels = labelsOf(plan)
  const object = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  }
  return { object }
}
